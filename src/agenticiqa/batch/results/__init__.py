"""What comes out: lines, files, Parquet."""
