"""text -> tokens: what a character is, the tokenizer's rules, and how an unknown word falls into pieces."""
