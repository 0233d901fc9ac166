"""A plain function as a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from threading import Thread

from memolith.adapters.chat.schemas import describe_schema_in_prompt
from memolith.adapters.clients.wire import timeout_failure
from memolith.errors import ServiceFailed
from memolith.ports.chat import Completion, Prompt

Message = dict[str, str]


class CallableChat:
    """Makes a model of a function from messages to a text. Thread-safe if the function is.

    A message is a dictionary with `role` and `content`. A schema is asked for in words, at the end
    of the system's message. Each call has a thread of its own, which is left behind where it takes
    too long. What the function raises is a `ServiceFailed`: its own words may hold what was asked.
    """

    def __init__(self, function: Callable[[list[Message]], str], timeout_s: float = 60.0) -> None:
        """Use this function, and wait so long for it.

        The model's name is the function's `name` attribute, or its module and name.
        """
        self._function = function
        self._timeout_s = timeout_s
        module = getattr(function, "__module__", type(function).__module__)
        own = getattr(function, "__qualname__", type(function).__qualname__)
        self.name = str(getattr(function, "name", f"{module}.{own}"))

    def complete(self, prompt: Prompt) -> Completion:
        """Return the function's reply; see `ChatModel`."""
        messages = [
            {"role": turn.role, "content": turn.content}
            for turn in describe_schema_in_prompt(prompt).messages
        ]
        given = self._call(messages)
        if isinstance(given, ServiceFailed):
            raise given
        if isinstance(given, Exception):
            raise ServiceFailed(self.name, f"raised {type(given).__name__}", retryable=True)
        if not isinstance(given, str):
            raise ServiceFailed(self.name, f"gave a {type(given).__name__}, not a text")
        return Completion(given)

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the function's reply in one piece, then again as a `Reply`."""
        reply = self.complete(prompt)
        if reply.text:
            yield reply.text
        yield reply

    def _call(self, messages: list[Message]) -> object:
        answer: SimpleQueue[object] = SimpleQueue()
        Thread(target=self._work, args=(messages, answer), daemon=True).start()
        try:
            return answer.get(timeout=self._timeout_s)
        except Empty:
            failure = timeout_failure(self.name, self._timeout_s)
        raise failure

    def _work(self, messages: list[Message], answer: SimpleQueue[object]) -> None:
        try:
            answer.put(self._function(messages))
        except Exception as error:  # noqa: BLE001 - another's code: it is told to whoever waits
            answer.put(error)
