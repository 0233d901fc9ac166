"""OpenAI's transcription, and that of every service that speaks its protocol."""

from __future__ import annotations

from memolith.adapters.clients.openai import OpenAIClient


class OpenAITranscriber:
    """See the port. Nothing is sent before the first call."""

    def __init__(self, model: str, *, api_key: str, base_url: str, timeout_s: float) -> None:
        """Use a model.

        Args:
            model: Its name, as the service has it.
            api_key: The key, "" for a service that wants none.
            base_url: Where the service is, with its `/v1`.
            timeout_s: How long to wait.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        self._model = model
        self._client = OpenAIClient(
            f"transcription:{model}",
            "device.transcription_url",
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
        )

    def transcribe(self, audio: bytes, name: str) -> str:
        """See the port."""
        found = self._client.call(
            lambda client: client.audio.transcriptions.create(
                model=self._model, file=(name, audio), response_format="json"
            )
        )
        return found.text.strip()

    def close(self) -> None:
        """See the port."""
        self._client.close()
