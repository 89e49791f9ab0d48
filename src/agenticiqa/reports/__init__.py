"""Results as pages and pictures. Reads results; asks no model."""
