"""Everything that can play an agent: providers of language models, one per file, and our own offline."""
