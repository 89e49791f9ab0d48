"""Readers of public datasets, checked folders, manifests."""
