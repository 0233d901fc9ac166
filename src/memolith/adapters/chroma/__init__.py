"""Vector search in Chroma for a SQLite store."""
