"""Inside a vector: what each token, pair of tokens and refinement gave to it."""
