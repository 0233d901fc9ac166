"""An in-memory store for tests, and the reference for every other store."""
