"""The command line: `mnemon`."""
