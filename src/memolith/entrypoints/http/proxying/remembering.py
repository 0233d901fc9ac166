"""A conversation's memory: what is told of it before a reply, and what is kept of it after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput, NotFound
from memolith.policies.arguments import MAX_MESSAGE_CHARS
from memolith.policies.histories import KEEP, told_of
from memolith.policies.resending import (
    conversation,
    fresh,
    is_whole_id,
    last_said,
    path_of,
    reply_id,
    visible,
)
from memolith.prompts.answering import memory_text
from memolith.text.screening import redact, redact_lines

if TYPE_CHECKING:
    from memolith.entrypoints.http.proxying.hearing import Heard
    from memolith.owner import OwnerMemory
    from memolith.policies.resending import Conversation, Said

LOOKED_AT = 200
"""How many of a conversation's last messages are looked through for those that come again."""

_CHARS_PER_TOKEN = 2
"""Few enough that no history is taken for a short one: a guess."""


class Switch(StrEnum):
    """What a request wants of the memory."""

    ON = "on"
    READ_ONLY = "read-only"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation of which a reply is asked for.

    Attributes:
        memory: Who remembers.
        session: Its name.
        messages: The history, as the client sent it.
        switch: What may be done with the memory.
    """

    memory: OwnerMemory
    session: str
    messages: Sequence[Mapping[str, Any]]
    switch: Switch = Switch.ON


@dataclass(frozen=True, slots=True)
class Recalled:
    """What is remembered for a reply.

    Attributes:
        text: What the model is told; empty: nothing.
        ids: Of the memories and messages in it, best first.
    """

    text: str = ""
    ids: tuple[str, ...] = ()


def recalled(talk: Talk, token_budget: int, *, is_long: bool) -> Recalled:
    """Return what is remembered for what the user said last, but for what the history says anyway.

    Args:
        talk: The conversation.
        token_budget: How much may be told, in tokens.
        is_long: Whether the history may be made shorter, so that only its end says it anyway.
    """
    query = last_said(talk.messages)
    if not query or not token_budget:
        return Recalled()
    found = talk.memory.context_with_results(
        query, token_budget=token_budget, without=_said_anyway(talk, is_long=is_long)
    )
    if not found.text:
        return Recalled()
    return Recalled(memory_text(found.text), tuple(one.id for one in found.results))


def _said_anyway(talk: Talk, *, is_long: bool) -> list[str]:
    said = conversation(talk.memory.owner_id, talk.messages).said
    paths = {each.path for each in (said[-KEEP:] if is_long else said)}
    before = talk.memory.recent(min(LOOKED_AT, len(talk.messages)), session=talk.session)
    return [each.id for each in before if path_of(each.external_id or "") in paths]


def may_be_long(messages: Sequence[Mapping[str, Any]], window: int) -> bool:
    """Tell whether a history may take more than half of a model's window, in tokens."""
    return sum(len(told_of(each)) for each in messages) > window // 2 * _CHARS_PER_TOKEN


def shortened(talk: Talk, window: int) -> tuple[Mapping[str, Any], ...]:
    """Return a history, made shorter where it outgrows the window of a model, in tokens."""
    made = talk.memory.compress(talk.messages, session=talk.session, context_window=window)
    return tuple(made.history)


def learn(talk: Talk, reply: Heard, *, is_begun: bool = False) -> None:
    """Log what is new of a conversation, and the reply to it; what is whole is learned from.

    Doing it again adds nothing. Another reply to what was said last takes the place of the one
    before, unless that is whole and this is not.

    Args:
        talk: The conversation.
        reply: The reply.
        is_begun: Whether what came before is known not to be new, though nothing of it is logged.

    Raises:
        InvalidInput: A message is too long; the others were logged.
        StoreUnavailable: Nothing was logged, nor anything where another error is raised.
    """
    said = conversation(talk.memory.owner_id, talk.messages)
    before = talk.memory.recent(LOOKED_AT, session=talk.session)
    known = {path_of(each.external_id) for each in before if each.external_id}
    wanted = fresh(said.said, known, is_begun=is_begun or bool(before))
    news = [_message(each) for each in wanted if len(each.text) <= MAX_MESSAGE_CHARS]
    last = None if wanted or not before else before[-1]
    replied = _reply(said, reply, is_known=said.reply in known)
    if last is not None and path_of(last.external_id or "") == said.reply:
        if replied is None or not _replaces(replied, last):
            return
        news = _taken_back(talk, said, last, replied)
    talk.memory.log([*news, *([replied] if replied else [])], session=talk.session)
    if len(news) < len(wanted):
        raise InvalidInput("messages", f"of over {MAX_MESSAGE_CHARS:,} characters are not kept")


def _message(said: Said) -> Message:
    return Message(said.speaker, said.text, said.role, external_id=said.path)


def _reply(said: Conversation, reply: Heard, *, is_known: bool) -> Message | None:
    text = visible(reply.text)
    if not text:
        return None
    id_ = reply_id(said.reply, text, is_whole=reply.is_whole, is_first=not is_known)
    return Message(None, text, Role.ASSISTANT, external_id=id_, learn=reply.is_whole)


def _replaces(new: Message, old: Message) -> bool:
    """Tell whether a reply takes the place of another."""
    is_whole, was_whole = is_whole_id(new.external_id or ""), is_whole_id(old.external_id or "")
    if is_whole != was_whole:
        return is_whole
    return old.content not in {redact(new.content)[0], redact_lines(new.content)[0]}


def _taken_back(talk: Talk, said: Conversation, old: Message, new: Message) -> list[Message]:
    """Forget a reply that another takes the place of; return what is to be logged before that.

    Where something was learned from the exchange as a whole, that went with the reply: what the
    user said is then told again, beside the new reply.
    """
    gone = talk.memory.forget(old.id)
    if not gone.memories:
        return []
    asked = [each for each in said.said if each.role is not Role.ASSISTANT][-1:]
    again: list[Message] = []
    for each in asked:
        for logged in talk.memory.recent(LOOKED_AT, session=talk.session):
            if path_of(logged.external_id or "") == each.path:
                _forget(talk.memory, logged.id)
                id_ = reply_id(each.path, new.content, is_whole=True, is_first=False)
                again.append(Message(each.speaker, each.text, each.role, external_id=id_))
    return again


def _forget(memory: OwnerMemory, id_: str) -> None:
    try:
        memory.forget(id_)
    except NotFound:
        return  # it went with the reply
