"""Decisions as pure functions and frozen values: no clock, no I/O, no randomness."""
