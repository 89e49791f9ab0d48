"""One pass over a folder: what is wrong with each picture, which are the same, and which of them to keep."""
