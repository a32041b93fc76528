"""text -> tokens: what a character is, the tokenizer's rules, and which inputs are texts."""
