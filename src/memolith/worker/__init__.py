"""Background work between calls."""
