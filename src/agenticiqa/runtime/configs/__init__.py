"""The shipped defaults, also found as ``configs/`` at the top of the repository."""
