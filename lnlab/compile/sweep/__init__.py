"""From a base, its profile and its grids to the points of a sweep."""
