"""Shared parts of the SQL stores: row codecs, encryption, and the in-memory search index."""
