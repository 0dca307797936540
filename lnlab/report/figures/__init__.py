"""The types of figures: each draws its data and names what its marks show; a section chooses one and fills it."""
