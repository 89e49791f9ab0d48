"""The command line: one file for each group of commands, no logic of its own."""
