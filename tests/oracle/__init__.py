"""Plain Python and float64 NumPy code with the native module's names, which the fast paths are checked against."""
