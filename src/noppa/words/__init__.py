"""tokens -> ids: checked batches of texts, the vocabulary, its vectors and the probability of each word."""
