"""The command line interface: `memolith`."""
