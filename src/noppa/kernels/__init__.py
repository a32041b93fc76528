"""The hot loops: the native module, or its float64 NumPy twin."""
