"""Many samples at once: streamed, resumable, each result written whole and once."""
