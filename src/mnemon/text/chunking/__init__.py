"""Chunking: a long text cut where its meaning is, whole or as it streams."""

from __future__ import annotations

from mnemon.text.chunking.chunks import chunks, stream_chunks
from mnemon.text.chunking.model import Chunk, Sizes

__all__ = ["Chunk", "Sizes", "chunks", "stream_chunks"]
