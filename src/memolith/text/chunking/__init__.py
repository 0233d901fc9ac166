"""Chunking: a long text cut where its meaning is, whole or as it streams."""
