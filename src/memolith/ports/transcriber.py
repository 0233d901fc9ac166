"""Speech to text."""

from __future__ import annotations

from typing import Protocol


class Transcriber(Protocol):
    """Writes down what is said in a recording. Thread-safe."""

    def transcribe(self, audio: bytes, name: str) -> str:
        """Return what is said; empty: nothing.

        Args:
            audio: The recording, a file of any kind that the service knows.
            name: The file's name, by whose ending its kind is known.

        Raises:
            ServiceFailed: The service failed.
        """
        ...

    def close(self) -> None:
        """Let go of what is held open."""
        ...
