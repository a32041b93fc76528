"""Pages made of bench/results: one file a chapter."""
