"""Semantic search: an index of texts and their vectors."""
