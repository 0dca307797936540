"""The compiler: a spec in, the smallest plan of work that answers it out. Knows neither torch nor frames."""
