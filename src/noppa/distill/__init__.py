"""Distillation of a sentence transformer into word vectors."""
