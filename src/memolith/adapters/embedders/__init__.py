"""Embedders: the local model, and what the caller brings."""
