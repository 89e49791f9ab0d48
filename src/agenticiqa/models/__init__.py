"""Everything that can play an agent: providers of language models, one a file, and our own offline."""
