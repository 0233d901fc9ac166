"""The command line: `memolith`."""
