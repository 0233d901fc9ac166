"""Domain types as immutable values. Standard library only."""
