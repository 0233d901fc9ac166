"""Making an owner's memory shorter without losing any of it."""
