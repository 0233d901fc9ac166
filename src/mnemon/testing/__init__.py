"""For tests of Mnemon and of what is built on it: fakes, contracts, builders, generators."""
