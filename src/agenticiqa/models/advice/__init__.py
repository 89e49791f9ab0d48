"""From findings to what to do about them: the rules are data, each with its source."""
