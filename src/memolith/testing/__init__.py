"""For tests of Memolith and of what is built on it: fakes, contracts, builders, generators."""
