"""Background work: what goes on while nobody calls."""
