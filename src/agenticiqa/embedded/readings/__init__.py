"""What can be read from a picture without a language model: one reader per property of the vocabulary."""
