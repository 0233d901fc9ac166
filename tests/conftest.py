"""Setup of every test: one thread, no network, a temporary home, Hypothesis profiles."""

from __future__ import annotations

import os

# Must precede the first import of numpy. BLAS threads slow down a shared machine and vary the
# order of sums, and thereby the last bits of scores.
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

# No test reads or writes the user's own configuration, stores or keys.
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

# Golden values of the formulas, if available: beside the repository, or at MEMOLITH_GOLDEN. The
# variable is removed from the environment, since Memolith would read it as a setting.
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
    """Refuse connections to other machines; neither Memolith nor its tests need any."""
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


# Unlike a patched method, a test cannot bypass an audit hook or forget to use it.
sys.addaudithook(_refuse_network)


@pytest.fixture
def golden() -> Callable[[str], dict[str, Any]]:
    """Return a function that reads a file of golden values; it skips the test if there is none."""

    def read(name: str) -> dict[str, Any]:
        file = _GOLDEN / name
        if not file.exists():
            pytest.skip(f"no golden values here: {name}")
        values: dict[str, Any] = json.loads(file.read_text())
        return values

    return read


def pytest_report_header() -> str:
    """Return the location of the tested package: the wheel under build/, or the sources."""
    return f"memolith: {Path(memolith.__file__).parent}"


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """Return the URL of a PostgreSQL server, with a superuser."""
    from support.postgres import on_server

    return on_server()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that select further databases."""
    parser.addoption(
        "--everywhere", action="store_true", help="run tests that open a store on PostgreSQL too"
    )
    parser.addoption(
        "--chroma", action="store_true", help="run profiles and commands with vectors in Chroma"
    )
    parser.addoption(
        "--served", action="store_true", help="run tests that open a store through the service too"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize tests that run on more than one database."""
    from support.databases import SQLITE, databases

    options = {name: metafunc.config.getoption(name) for name in ("everywhere", "chroma", "served")}
    found = databases(metafunc.definition, **options)
    if found != [SQLITE]:
        metafunc.parametrize("database", found, indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that would run twice on the same database."""
    from support.databases import is_wanted

    left = [item for item in items if not is_wanted(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if is_wanted(item)]


def pytest_collection_finish() -> None:
    """Exclude permanent objects, such as tests and modules, from garbage collection.

    To traverse about a million objects took up to a tenth of the processor time.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Open stores in the database of the current parameter; the default is SQLite.

    A fixture of a wider scope that opens a store must request this one, to be created for each
    database.
    """
    name: str = getattr(request, "param", "sqlite")
    if name == "sqlite":
        yield name
        return
    from support.databases import CHROMA, PLACES, SERVED, in_chroma

    if name == SERVED:
        from support.remote_store import over_http

        backend = over_http()
    else:
        backend = in_chroma() if name == CHROMA else PLACES.standing_in()
    with backend:
        yield name


@pytest.fixture(autouse=True, scope="module")
def _no_syncs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Switch off SQLite's syncing, except in the durability tests.

    A sync takes some milliseconds, and most tests only commit. The PostgreSQL server has `fsync`
    off as well.
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
def _release_places(database: str) -> Iterator[None]:
    """Close the stores of each test, and release its databases for the next."""
    if database != "postgres":
        yield
        return
    from support.databases import PLACES

    with PLACES.lent():
        yield
