"""Chunking: cut long texts at their structure, as a whole or as a stream."""
