"""Which pictures show the same: fingerprints that find candidates among many, and a closer comparison of two."""
