"""Readers of public quality datasets, each from the folder as its authors publish it."""
