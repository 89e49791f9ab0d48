"""From what a question means and what was read to an answer: one module per form of answer."""
