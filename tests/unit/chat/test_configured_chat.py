"""The language model that the configuration names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from memolith import Memolith
from memolith.adapters.models.anthropic import AnthropicChat
from memolith.adapters.models.factory import build_chat_model
from memolith.adapters.models.ollama import OllamaChat
from memolith.adapters.models.openai import OpenAIChat
from memolith.bootstrap import open_chat
from memolith.config import load
from memolith.config.reference import iter_effective_settings
from memolith.config.settings import Chat
from memolith.errors import InvalidConfiguration, InvalidInput
from memolith.ports.models import ChatMessage, Completion, Prompt
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.rows import check_each

KEYS = {"OPENAI_API_KEY": "sk-open", "ANTHROPIC_API_KEY": "sk-anthropic", "MINE": "sk-mine"}


def key_of(chat: Chat, env: dict[str, str] | None = None) -> str:
    model: Any = build_chat_model(chat, KEYS if env is None else env)
    holder: Any = getattr(model, "_client", None) or model
    key: str = holder._api_key
    return key


def problem(chat: Chat, env: dict[str, str] | None = None) -> str:
    with pytest.raises(InvalidConfiguration) as caught:
        build_chat_model(chat, env or {})
    return str(caught.value)


def test_none_is_no_model() -> None:
    assert build_chat_model(Chat(), {}) is None
    assert open_chat(load().settings) is None


def test_each_provider_has_its_client() -> None:
    openai = build_chat_model(Chat("openai", "gpt"), KEYS)
    assert isinstance(openai, OpenAIChat)
    assert openai.name == "openai:gpt"
    assert isinstance(build_chat_model(Chat("ollama", "llama"), {}), OllamaChat)
    assert isinstance(build_chat_model(Chat("anthropic", "claude"), KEYS), AnthropicChat)


def test_a_model_must_be_named() -> None:
    assert problem(Chat("ollama")).startswith("chat.model: is required")


def test_the_key_is_in_the_variable_that_is_named() -> None:
    assert key_of(Chat("openai", "m")) == "sk-open"
    assert key_of(Chat("openai", "m", api_key_env="MINE")) == "sk-mine"
    assert key_of(Chat("anthropic", "m")) == "sk-anthropic"
    assert key_of(Chat("anthropic", "m", api_key_env="MINE")) == "sk-mine"
    assert key_of(Chat("ollama", "m")) == ""
    assert key_of(Chat("ollama", "m", api_key_env="MINE")) == "sk-mine"


def test_a_key_that_is_missing_is_named() -> None:
    assert "chat.api_key_env: the environment variable OPENAI_API_KEY" in problem(
        Chat("openai", "m")
    )
    assert "ANTHROPIC_API_KEY" in problem(Chat("anthropic", "m"), {"OPENAI_API_KEY": "sk"})
    assert "MINE" in problem(Chat("ollama", "m", api_key_env="MINE"))
    assert "MINE" in problem(
        Chat("openai", "m", base_url="http://127.0.0.1:1/v1", api_key_env="MINE")
    )


def test_a_server_of_ones_own_wants_no_key() -> None:
    local = Chat("openai", "m", base_url="http://127.0.0.1:8000/v1")
    assert key_of(local, {}) == "none"
    assert key_of(Chat("openai", "m", base_url=local.base_url, api_key_env="")) == "none"


def test_a_key_in_the_place_of_its_variable_is_not_repeated() -> None:
    said = problem(Chat("openai", "m", api_key_env="sk-abcdef"))
    assert said.startswith("chat.api_key_env: must be the name of an environment variable")
    assert "abcdef" not in said
    env = {
        "MEMOLITH_CHAT__API_KEY_ENV": "sk-abcdef",
        "MEMOLITH_CHAT__BASE_URL": "http://me:pw@x/v1",
    }
    shown = {row.name: row.value for row in iter_effective_settings(load(env=env))}
    assert shown["chat.api_key_env"] == "***"
    assert shown["chat.base_url"] == "http://***@x/v1"


def test_a_key_may_stand_in_a_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-file\n")
    file = tmp_path / "memolith.toml"
    file.write_text('[memory.chat]\nprovider = "openai"\nmodel = "m"\napi_key_file = "key"\n')
    settings = load(file).settings
    assert settings.chat.api_key_file == str(tmp_path / "key")
    assert key_of(settings.chat, {}) == "sk-file"


def test_a_file_without_a_key_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    said = problem(Chat("openai", "m", api_key_file=str(missing)))
    assert said == f"chat.api_key_file: {missing} can't be read: No such file or directory"
    for content in (b"", b"\xff\xfe", b"two words"):
        missing.write_bytes(content)
        assert "chat.api_key_file" in problem(Chat("openai", "m", api_key_file=str(missing)))


@check_each("url", ["localhost:1234", "ftp://x", "http://", "http://x:y", "x" * 9])
def test_an_address_must_be_one(url: str) -> None:
    assert problem(Chat("ollama", "m", base_url=url)).startswith("chat.base_url: must be")


@pytest.mark.parametrize("provider", ["openai", "ollama", "anthropic"])
def test_a_client_that_is_not_installed_is_named_with_its_extra(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, provider, None)
    said = problem(Chat(provider, "m"), KEYS)
    assert said.endswith(f"pip install 'memolith[{provider}]'")
    assert said.startswith("chat.provider: ")


def opened(**options: Any) -> Memolith:
    return Memolith.open(":memory:", embedder=HashingEmbedder(64), tokens=WordCounter(), **options)


def said(engine: Memolith, text: str) -> str:
    chat = engine.chat_model("alice")
    assert chat is not None
    return chat.complete(Prompt((ChatMessage("user", text),))).text


def test_a_function_or_a_port_may_be_given() -> None:
    class Own:
        name = "own"

        def complete(self, prompt: Prompt) -> Completion:
            return Completion(prompt.messages[0].content.lower())

    with opened(chat=lambda messages: messages[0]["content"].upper()) as engine:
        assert said(engine, "Hi") == "HI"
    with opened(chat=Own()) as engine:
        assert said(engine, "Hi") == "hi"


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(InvalidInput, match="chat: must be a port or a function, not int"):
        opened(chat=5)


def test_without_a_model_there_is_none() -> None:
    with opened() as engine:
        assert engine.chat_model("alice") is None


def test_a_configured_model_without_its_key_is_refused_at_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    file = tmp_path / "memolith.toml"
    file.write_text('[memory.chat]\nprovider = "openai"\nmodel = "m"\n')
    with pytest.raises(InvalidConfiguration, match=r"chat\.api_key_env"):
        opened(config=file)
