"""Memory of a proxied chat: recall before a reply, learning after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from memolith.api.owner import OwnerMemory
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput, NotFound
from memolith.policies.arguments import MAX_MESSAGE_CHARS
from memolith.policies.histories import KEPT_MESSAGES, describe_message
from memolith.policies.resend_detection import (
    HistoryTurn,
    ResentConversation,
    build_reply_id,
    clean_or_empty,
    find_last_user_text,
    find_new_turns,
    get_path,
    is_complete_reply,
    read_conversation,
)
from memolith.prompts.chat import build_memory_text
from memolith.text.screening import redact, redact_lines

if TYPE_CHECKING:
    from memolith.server.proxy.openai import ModelReply

RESEND_WINDOW = 200
"""Number of a session's last messages compared with resent messages."""

_CHARS_PER_TOKEN = 2
"""Lower bound, so that no long history counts as short. A guess."""


class MemoryMode(StrEnum):
    """How a request uses the memory."""

    ON = "on"
    READ_ONLY = "read-only"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ChatSession:
    """A session with a requested reply.

    Attributes:
        memory: The owner's memory.
        session: Name of the session.
        messages: The history, as the client sent it.
        mode: How to use the memory.
    """

    memory: OwnerMemory
    session: str
    messages: Sequence[Mapping[str, Any]]
    mode: MemoryMode = MemoryMode.ON


@dataclass(frozen=True, slots=True)
class RecalledContext:
    """Memories recalled for a reply.

    Attributes:
        text: Text for the model; empty for nothing.
        ids: Ids of the memories and messages in it, best first.
    """

    text: str = ""
    ids: tuple[str, ...] = ()


def recall_context(chat: ChatSession, token_budget: int, *, is_long: bool) -> RecalledContext:
    """Return memories relevant to the last user message, without those that the history contains.

    Args:
        chat: The session.
        token_budget: Maximum length of the text, in tokens.
        is_long: Whether the history may be compressed; then only its end counts as contained.
    """
    query = find_last_user_text(chat.messages)
    if not query or not token_budget:
        return RecalledContext()
    found = chat.memory.context_with_results(
        query, token_budget=token_budget, exclude=_find_known_message_ids(chat, is_long=is_long)
    )
    if not found.text:
        return RecalledContext()
    return RecalledContext(build_memory_text(found.text), tuple(one.id for one in found.results))


def _find_known_message_ids(chat: ChatSession, *, is_long: bool) -> list[str]:
    said = read_conversation(chat.memory.owner_id, chat.messages).turns
    paths = {each.path for each in (said[-KEPT_MESSAGES:] if is_long else said)}
    before = chat.memory.recent(min(RESEND_WINDOW, len(chat.messages)), session=chat.session)
    return [each.id for each in before if get_path(each.external_id or "") in paths]


def may_exceed_window(messages: Sequence[Mapping[str, Any]], window: int) -> bool:
    """Return whether a history may exceed half of a model's context window, in tokens."""
    return sum(len(describe_message(each)) for each in messages) > window // 2 * _CHARS_PER_TOKEN


def compress_history(chat: ChatSession, window: int) -> tuple[Mapping[str, Any], ...]:
    """Return a history, compressed if it exceeds a model's context window, in tokens."""
    made = chat.memory.compress(chat.messages, session=chat.session, context_window=window)
    return tuple(made.history)


def learn_exchange(
    chat: ChatSession, reply: ModelReply, *, has_earlier_messages: bool = False
) -> None:
    """Log the new messages of a session and the reply; learn from complete exchanges.

    Repeating the call adds nothing. Another reply to the last message replaces the earlier one,
    unless the earlier one is complete and the new one is not.

    Args:
        chat: The session.
        reply: The reply.
        has_earlier_messages: Whether earlier messages are known not to be new, although none of
            them is logged.

    Raises:
        InvalidInput: A message is too long; the others were logged.
        StoreUnavailable: Nothing was logged; the same holds for all other errors.
    """
    said = read_conversation(chat.memory.owner_id, chat.messages)
    before = chat.memory.recent(RESEND_WINDOW, session=chat.session)
    known = {get_path(each.external_id) for each in before if each.external_id}
    wanted = find_new_turns(said.turns, known, is_begun=has_earlier_messages or bool(before))
    news = [_build_message(each) for each in wanted if len(each.text) <= MAX_MESSAGE_CHARS]
    last = None if wanted or not before else before[-1]
    replied = _build_reply(said, reply, is_known=said.reply_path in known)
    if last is not None and get_path(last.external_id or "") == said.reply_path:
        if replied is None or not _should_replace(replied, last):
            return
        news = _retract_reply(chat, said, last, replied)
    chat.memory.log([*news, *([replied] if replied else [])], session=chat.session)
    if len(news) < len(wanted):
        raise InvalidInput(
            "messages",
            f"must have at most {MAX_MESSAGE_CHARS:,} characters each; longer ones are not stored",
        )


def _build_message(said: HistoryTurn) -> Message:
    return Message(said.speaker, said.text, said.role, external_id=said.path)


def _build_reply(said: ResentConversation, reply: ModelReply, *, is_known: bool) -> Message | None:
    text = clean_or_empty(reply.text)
    if not text:
        return None
    id_ = build_reply_id(said.reply_path, text, is_whole=reply.is_complete, is_first=not is_known)
    return Message(None, text, Role.ASSISTANT, external_id=id_, learn=reply.is_complete)


def _should_replace(new: Message, old: Message) -> bool:
    """Return whether a reply replaces another."""
    is_whole, was_whole = (
        is_complete_reply(new.external_id or ""),
        is_complete_reply(old.external_id or ""),
    )
    if is_whole != was_whole:
        return is_whole
    return old.content not in {redact(new.content)[0], redact_lines(new.content)[0]}


def _retract_reply(
    chat: ChatSession, said: ResentConversation, old: Message, new: Message
) -> list[Message]:
    """Forget a replaced reply; return the messages to log before the new reply.

    Forgetting the reply also removes facts learned from the whole exchange. The user's message is
    then logged again, with the new reply.
    """
    gone = chat.memory.forget(old.id)
    if not gone.memories:
        return []
    asked = [each for each in said.turns if each.role is not Role.ASSISTANT][-1:]
    again: list[Message] = []
    for each in asked:
        for logged in chat.memory.recent(RESEND_WINDOW, session=chat.session):
            if get_path(logged.external_id or "") == each.path:
                _forget_if_present(chat.memory, logged.id)
                id_ = build_reply_id(each.path, new.content, is_whole=True, is_first=False)
                again.append(Message(each.speaker, each.text, each.role, external_id=id_))
    return again


def _forget_if_present(memory: OwnerMemory, id_: str) -> None:
    try:
        memory.forget(id_)
    except NotFound:
        return  # it was removed with the reply
