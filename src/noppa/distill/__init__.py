"""Word vectors distilled from a sentence transformer."""
