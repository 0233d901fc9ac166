"""A store in memory: for tests, and what every other store is compared with."""
