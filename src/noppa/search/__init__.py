"""Texts found by meaning."""
