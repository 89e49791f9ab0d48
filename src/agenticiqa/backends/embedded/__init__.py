"""The embedded backend: questions, pictures and answers understood on this machine, without a language model."""
