"""One server with several processes: `memolith serve --processes 2`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from support.server_process import PROGRAM, environment

pytestmark = [pytest.mark.soak, pytest.mark.sqlite]

_RUNNING = re.compile(r"running on http://[\d.]+:(\d+) by processes ([\d, ]+)")
_WAIT_S = 30.0


@dataclass
class Server:
    """A server and its log lines."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(self.process.stderr)

    def find_address(self) -> re.Match[str] | None:
        return next((found for each in self.lines if (found := _RUNNING.search(each))), None)

    @property
    def pids(self) -> list[int]:
        found = self.find_address()
        assert found is not None
        return [int(each) for each in found[2].split(",")]


@contextmanager
def server(folder: Path, *arguments: str, **more: str) -> Iterator[Server]:
    command = [str(PROGRAM), "serve", "--port", "0", "--processes", "2", *arguments]
    env = environment(folder, **more)
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        made = Server(process)
        reading = threading.Thread(target=made.read)
        reading.start()
        try:
            yield made
        finally:
            if process.poll() is None:
                process.kill()
            reading.join()


@contextmanager
def open_client(made: Server) -> Iterator[httpx.Client]:
    wait_until(lambda: made.find_address() is not None)
    found = made.find_address()
    assert found is not None
    # A connection belongs to one process, so each call opens a new one.
    limits = httpx.Limits(max_keepalive_connections=0)
    url = f"http://127.0.0.1:{found[1]}"
    with httpx.Client(base_url=url, timeout=_WAIT_S, limits=limits) as client:
        yield client


def wait_until(is_so: object) -> None:
    assert callable(is_so)
    given_up_at = time.monotonic() + _WAIT_S
    while not is_so():
        assert time.monotonic() < given_up_at
        time.sleep(0.05)


def arguments(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_server_finishes_open_requests_before_it_stops(
    tmp_path: Path,
) -> None:
    statuses: list[int] = []
    with server(tmp_path) as made, open_client(made) as client:

        def write() -> None:
            for number in range(1_000):
                try:
                    sent = client.post("/v1/memories", json={"content": f"fact number {number}"})
                except httpx.TransportError:
                    return  # the server has ended: nothing was acknowledged
                statuses.append(sent.status_code)

        writing = threading.Thread(target=write)
        writing.start()
        wait_until(lambda: len(statuses) > 20)
        made.process.send_signal(signal.SIGTERM)
        assert made.process.wait(_WAIT_S) == 0
        writing.join()
    assert set(statuses) == {201}
    with server(tmp_path) as made, open_client(made) as client:
        assert client.get("/v1/memories/stats").json()["total_count"] >= len(statuses)


def test_process_list_and_json_logs_contain_no_secrets(tmp_path: Path) -> None:
    key = "0f" * 32
    env = {"MEMOLITH_KEY": key, "MEMOLITH_ENABLE_ENCRYPTION": "true", "OPENAI_API_KEY": "sk-secret"}
    with server(tmp_path, **env) as made, open_client(made) as client:
        shown = b"".join(arguments(pid) for pid in (made.process.pid, *made.pids))
        assert b"serve" in shown
        assert key.encode() not in shown
        assert b"sk-secret" not in shown
        sent = client.get("/v1/memories", headers={"X-Request-Id": "asked-by-a-test"})
        assert sent.status_code == 200
        wait_until(lambda: any("asked-by-a-test" in each for each in made.lines))
        notice = "memolith: this store is encrypted"  # printed once for a new store
        lines = [json.loads(each) for each in made.lines if not each.startswith(notice)]
    (entry,) = [each for each in lines if each.get("request_id") == "asked-by-a-test"]
    assert (entry["route"], entry["status"]) == ("/v1/memories", 200)
    assert key not in "".join(made.lines)


def test_killed_process_is_replaced(tmp_path: Path) -> None:
    with server(tmp_path) as made, open_client(made) as client:
        os.kill(made.pids[0], signal.SIGKILL)
        wait_until(lambda: sum("Started server process" in each for each in made.lines) == 3)
        assert {client.get("/healthz").status_code for _ in range(10)} == {200}


def test_processes_end_when_the_parent_is_killed(tmp_path: Path) -> None:
    with server(tmp_path) as made:
        wait_until(lambda: made.find_address() is not None)
        made.process.kill()
        wait_until(lambda: not any(map(is_alive, made.pids)))


def test_metrics_cover_all_processes(tmp_path: Path) -> None:
    with server(tmp_path) as made, open_client(made) as client:
        for _ in range(20):
            client.get("/healthz")
        text = client.get("/metrics").text
    assert re.search(
        r'memolith_request_seconds_count\{method="GET",route="/healthz",status="200"\} 20\.0', text
    )


def test_in_memory_store_is_refused(tmp_path: Path) -> None:
    with server(tmp_path, MEMOLITH_STORE=":memory:") as made:
        assert made.process.wait(_WAIT_S) == 3
    assert "an in-memory store supports one process only" in "".join(made.lines)


def test_worker_that_cannot_start_ends_the_server(tmp_path: Path) -> None:
    device = {
        "MEMOLITH_DEVICE__TRANSCRIPTION_URL": "http://127.0.0.1:9",
        "MEMOLITH_DEVICE__TRANSCRIPTION_KEY_ENV": "MISSING_KEY",
    }
    with server(tmp_path, **device) as made:
        assert made.process.wait(_WAIT_S) == 1
    assert "MISSING_KEY" in "".join(made.lines)
