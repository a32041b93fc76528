"""Text to tokens: what a character is, the tokenizers of each language, and the numbers of their rules."""
