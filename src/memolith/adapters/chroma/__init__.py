"""Chroma as what searches the vectors of a SQLite store."""
