"""Documented curl commands work, with another host and key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from integration.http.test_device import Assistant, wait_until_learned
from memolith import Memolith
from memolith.config import load
from memolith.demo.model_server import ModelServer
from support.server_process import environment, served

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")

_DECAY = """
curl -X POST -H "Authorization: Bearer $API_KEY" \\
http://localhost:3000/v1/memories/decay
"""
_HEALTH = "curl -s http://localhost:8321/health | python -m json.tool"
_TELL = """
curl -s -X POST http://localhost:8321/chat/text \\
    -H "Content-Type: application/json" \\
    -d '{"text": "My name is Alex and I work at NASA"}'
"""
_ASK = """
curl -s -X POST http://localhost:8321/chat/text \\
    -H "Content-Type: application/json" \\
    -d '{"text": "Do you remember my name?"}'
"""


def _run(command: str, at: httpx.Client, **more: str) -> str:
    """Run a command against another host; return its output."""
    for host in ("http://localhost:3000", "http://localhost:8321"):
        command = command.replace(host, str(at.base_url).rstrip("/"))
    ran = subprocess.run(
        [shutil.which("bash") or "bash", "-o", "pipefail", "-c", command],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    with ModelServer(Assistant()) as model:
        yield environment(
            tmp_path,
            MEMOLITH_PROFILE="tiers",
            MEMOLITH_CHAT__PROVIDER="openai",
            MEMOLITH_CHAT__MODEL="scripted",
            MEMOLITH_CHAT__BASE_URL=model.openai_url,
            OPENAI_API_KEY="sk-of-the-tests",
        )


def test_fact_sent_by_curl_survives_a_restart(env: Mapping[str, str]) -> None:
    with served(env, "--owner", "alex") as first:
        assert json.loads(_run(_HEALTH, first)) == {"status": "ok", "ollama": True}
        assert set(json.loads(_run(_TELL, first))) == {"text", "action"}
        wait_until_learned(first)
    with served(env, "--owner", "alex") as second:
        answer = json.loads(_run(_ASK, second))
    assert answer == {"text": "Your name is Alex.", "action": "SPEAK"}


def test_curl_can_apply_decay(env: Mapping[str, str], tmp_path: Path) -> None:
    with Memolith.open(
        tmp_path / "memory.db", config=load(None, {"MEMOLITH_ENABLE_ENCRYPTION": "false"}, {})
    ) as memory:
        key = memory.create_api_key("operator", role="admin").secret
    with served(env) as service:
        assert json.loads(_run(_DECAY, service, API_KEY=key)) == {"memories": [], "count": 0}
