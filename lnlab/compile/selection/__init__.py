"""Claims written out with what their sections say, requests resolved, and seeds and conditions of grids."""
