"""The language model selected by the configuration."""

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


def get_api_key(chat: Chat, env: dict[str, str] | None = None) -> str:
    model: Any = build_chat_model(chat, KEYS if env is None else env)
    holder: Any = getattr(model, "_client", None) or model
    key: str = holder._api_key
    return key


def get_problem(chat: Chat, env: dict[str, str] | None = None) -> str:
    with pytest.raises(InvalidConfiguration) as caught:
        build_chat_model(chat, env or {})
    return str(caught.value)


def test_provider_none_builds_no_model() -> None:
    assert build_chat_model(Chat(), {}) is None
    assert open_chat(load().settings) is None


def test_each_provider_builds_its_client() -> None:
    openai = build_chat_model(Chat("openai", "gpt"), KEYS)
    assert isinstance(openai, OpenAIChat)
    assert openai.name == "openai:gpt"
    assert isinstance(build_chat_model(Chat("ollama", "llama"), {}), OllamaChat)
    assert isinstance(build_chat_model(Chat("anthropic", "claude"), KEYS), AnthropicChat)


def test_missing_model_name_is_rejected() -> None:
    assert get_problem(Chat("ollama")).startswith("chat.model: is required")


def test_key_is_read_from_configured_variable() -> None:
    assert get_api_key(Chat("openai", "m")) == "sk-open"
    assert get_api_key(Chat("openai", "m", api_key_env="MINE")) == "sk-mine"
    assert get_api_key(Chat("anthropic", "m")) == "sk-anthropic"
    assert get_api_key(Chat("anthropic", "m", api_key_env="MINE")) == "sk-mine"
    assert get_api_key(Chat("ollama", "m")) == ""
    assert get_api_key(Chat("ollama", "m", api_key_env="MINE")) == "sk-mine"


def test_missing_key_variable_is_named() -> None:
    assert "chat.api_key_env: the environment variable OPENAI_API_KEY" in get_problem(
        Chat("openai", "m")
    )
    assert "ANTHROPIC_API_KEY" in get_problem(Chat("anthropic", "m"), {"OPENAI_API_KEY": "sk"})
    assert "MINE" in get_problem(Chat("ollama", "m", api_key_env="MINE"))
    assert "MINE" in get_problem(
        Chat("openai", "m", base_url="http://127.0.0.1:1/v1", api_key_env="MINE")
    )


def test_local_server_needs_no_key() -> None:
    local = Chat("openai", "m", base_url="http://127.0.0.1:8000/v1")
    assert get_api_key(local, {}) == "none"
    assert get_api_key(Chat("openai", "m", base_url=local.base_url, api_key_env="")) == "none"


def test_key_in_place_of_variable_name_is_not_repeated() -> None:
    problem = get_problem(Chat("openai", "m", api_key_env="sk-abcdef"))
    assert problem.startswith("chat.api_key_env: must be the name of an environment variable")
    assert "abcdef" not in problem
    env = {
        "MEMOLITH_CHAT__API_KEY_ENV": "sk-abcdef",
        "MEMOLITH_CHAT__BASE_URL": "http://me:pw@x/v1",
    }
    shown = {row.name: row.value for row in iter_effective_settings(load(env=env))}
    assert shown["chat.api_key_env"] == "***"
    assert shown["chat.base_url"] == "http://***@x/v1"


def test_key_file_is_resolved_beside_configuration(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-file\n")
    file = tmp_path / "memolith.toml"
    file.write_text('[memory.chat]\nprovider = "openai"\nmodel = "m"\napi_key_file = "key"\n')
    settings = load(file).settings
    assert settings.chat.api_key_file == str(tmp_path / "key")
    assert get_api_key(settings.chat, {}) == "sk-file"


def test_file_without_key_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    problem = get_problem(Chat("openai", "m", api_key_file=str(missing)))
    assert problem == f"chat.api_key_file: {missing} can't be read: No such file or directory"
    for content in (b"", b"\xff\xfe", b"two words"):
        missing.write_bytes(content)
        assert "chat.api_key_file" in get_problem(Chat("openai", "m", api_key_file=str(missing)))


@check_each("url", ["localhost:1234", "ftp://x", "http://", "http://x:y", "x" * 9])
def test_invalid_base_url_is_rejected(url: str) -> None:
    assert get_problem(Chat("ollama", "m", base_url=url)).startswith("chat.base_url: must be")


@pytest.mark.parametrize("provider", ["openai", "ollama", "anthropic"])
def test_missing_client_package_is_named_with_its_extra(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, provider, None)
    problem = get_problem(Chat(provider, "m"), KEYS)
    assert problem.endswith(f"pip install 'memolith[{provider}]'")
    assert problem.startswith("chat.provider: ")


def open_engine(**options: Any) -> Memolith:
    return Memolith.open(":memory:", embedder=HashingEmbedder(64), tokens=WordCounter(), **options)


def get_reply(engine: Memolith, text: str) -> str:
    chat = engine.chat_model("alice")
    assert chat is not None
    return chat.complete(Prompt((ChatMessage("user", text),))).text


def test_function_or_port_is_accepted_as_model() -> None:
    class OwnModel:
        name = "own"

        def complete(self, prompt: Prompt) -> Completion:
            return Completion(prompt.messages[0].content.lower())

    with open_engine(chat=lambda messages: messages[0]["content"].upper()) as engine:
        assert get_reply(engine, "Hi") == "HI"
    with open_engine(chat=OwnModel()) as engine:
        assert get_reply(engine, "Hi") == "hi"


def test_other_type_of_model_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="chat: must be a port or a function, not int"):
        open_engine(chat=5)


def test_engine_without_model_has_no_chat() -> None:
    with open_engine() as engine:
        assert engine.chat_model("alice") is None


def test_configured_model_without_key_is_rejected_on_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    file = tmp_path / "memolith.toml"
    file.write_text('[memory.chat]\nprovider = "openai"\nmodel = "m"\n')
    with pytest.raises(InvalidConfiguration, match=r"chat\.api_key_env"):
        open_engine(config=file)
