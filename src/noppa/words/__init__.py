"""tokens -> ids: `WordVectors`, its vocabulary, matrix and word probabilities."""
