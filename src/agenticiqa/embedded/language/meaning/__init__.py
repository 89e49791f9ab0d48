"""What a question means before any word of an answer: property, part, form, polarity, and what each option claims."""
