"""The three agents, one a file, each with its prompts on top."""
