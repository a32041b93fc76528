"""The whole: words + method + what was fitted, from texts to vectors."""
