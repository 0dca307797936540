"""The compiler: from a spec to the smallest plan of work that answers it. It uses neither torch nor frames."""
