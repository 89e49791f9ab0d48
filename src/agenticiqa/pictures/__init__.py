"""Pictures: opened safely, cut into regions, drawn over, damaged on purpose."""
