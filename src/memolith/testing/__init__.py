"""Test support for Memolith and its extensions: fakes, contracts, builders and strategies."""
