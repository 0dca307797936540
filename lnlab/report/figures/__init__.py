"""Types of figures. Each draws its data and names what its marks show. A section chooses one and fills it."""
