"""What holds for every test: one thread, no network, a home of its own, Hypothesis's profiles."""

from __future__ import annotations

import os

# Before numpy is first imported: threads of the BLAS library on a shared machine cost more than
# they bring, and make the order of sums, and so the last bits of a score, vary.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import atexit
import gc
import ipaddress
import json
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import memolith

# No test reads or writes what is the user's own: configuration, stores, and above all keys.
_HOME = tempfile.mkdtemp(prefix="memolith-tests-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
for _variable in (
    "HOME",
    "USERPROFILE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "LOCALAPPDATA",
):
    os.environ[_variable] = _HOME
for _variable in [name for name in os.environ if name.startswith("MEMOLITH_KEY")]:
    del os.environ[_variable]

# Golden values of the formulas, where they are at hand: beside the repository, or where this says.
# Taken out of the environment, where it would be taken for a setting.
_BESIDE_THE_REPOSITORY = Path(__file__).parents[2] / "shared" / "vectors"
_GOLDEN = Path(os.environ.pop("MEMOLITH_GOLDEN", _BESIDE_THE_REPOSITORY))

# A deadline or a "too slow" verdict measures the machine, not the code.
settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("soak", settings.get_profile("default"), max_examples=5_000)
settings.load_profile("default")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_network(event: str, args: tuple[object, ...]) -> None:
    """Let no test leave this machine: a user's memory needs no network, and neither do tests."""
    if event != "socket.connect":
        return
    connection, address = args
    assert isinstance(connection, socket.socket)
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    assert isinstance(address, tuple)
    if not _is_loopback(str(address[0])):
        message = f"a test tried to connect to {address[0]}"
        raise PermissionError(message)


# An audit hook, unlike a patched method, can't be got round or forgotten by a test.
sys.addaudithook(_refuse_network)


@pytest.fixture
def golden() -> Callable[[str], dict[str, Any]]:
    """Return what reads a file of golden values, or skips the test where there is none."""

    def read(name: str) -> dict[str, Any]:
        file = _GOLDEN / name
        if not file.exists():
            pytest.skip(f"no golden values here: {name}")
        values: dict[str, Any] = json.loads(file.read_text())
        return values

    return read


def pytest_report_header() -> str:
    """Say which Memolith is tested: the wheel under build/, or the sources."""
    return f"memolith: {Path(memolith.__file__).parent}"


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """Return the URL of a server of PostgreSQL, as a superuser of it."""
    from support.postgres import on_server

    return on_server()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Know the option that has all be run on PostgreSQL too."""
    parser.addoption(
        "--everywhere", action="store_true", help="run what opens a store on PostgreSQL too"
    )
    parser.addoption(
        "--chroma", action="store_true", help="run profiles and commands with vectors in Chroma"
    )
    parser.addoption(
        "--served", action="store_true", help="run what opens a store through a service too"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have some tests run on more than one database."""
    from support.databases import SQLITE, databases

    options = {name: metafunc.config.getoption(name) for name in ("everywhere", "chroma", "served")}
    found = databases(metafunc.definition, **options)
    if found != [SQLITE]:
        metafunc.parametrize("database", found, indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what would be run twice on the same database."""
    from support.databases import is_wanted

    left = [item for item in items if not is_wanted(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if is_wanted(item)]


def pytest_collection_finish() -> None:
    """Leave what stays to the end, tests and modules, out of all searches for garbage.

    They are some million objects: to go through them took up to a tenth of the processor time.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let stores stand in the database that a test is to be run on: SQLite if none is named.

    What lasts for more than one test and opens a store must name this, to be made anew in each.
    """
    name: str = getattr(request, "param", "sqlite")
    if name == "sqlite":
        yield name
        return
    from support.databases import CHROMA, PLACES, SERVED, in_chroma

    if name == SERVED:
        from support.remote_store import over_http

        standing = over_http()
    else:
        standing = in_chroma() if name == CHROMA else PLACES.standing_in()
    with standing:
        yield name


@pytest.fixture(autouse=True, scope="module")
def _no_syncs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let SQLite leave syncing to the system, but in the tests of durability.

    A sync takes some milliseconds, and most tests only commit. PostgreSQL's server has `fsync` off
    likewise.
    """
    if "durability" in request.path.parts:
        yield
        return
    from memolith.adapters.crypto import key_storage
    from memolith.adapters.sqlite import connections

    with pytest.MonkeyPatch.context() as patch:
        for module in (connections, key_storage):
            pragmas = [re.sub("(synchronous) = .*", r"\1 = OFF", each) for each in module._PRAGMAS]
            assert tuple(pragmas) != module._PRAGMAS
            patch.setattr(module, "_PRAGMAS", tuple(pragmas))
        yield


@pytest.fixture(autouse=True)
def _places_given_back(database: str) -> Iterator[None]:
    """Have each test find empty what no other still uses."""
    if database != "postgres":
        yield
        return
    from support.databases import PLACES

    with PLACES.lent():
        yield
