from __future__ import annotations

import subprocess
import sys
from platform import libc_ver

import pytest

HEAP_PROGRAM = """
import ctypes, sys, threading
from memolith.server import serve
if sys.argv[1] == "few" and not serve.limit_malloc_arenas():
    raise SystemExit("not glibc")
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.malloc.argtypes = [ctypes.c_size_t]
together = threading.Barrier(6)
def take():
    library.malloc(1_000)
    together.wait()
threads = [threading.Thread(target=take) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.stdout.flush()
library.fdopen.restype = ctypes.c_void_p
library.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
library.fflush.argtypes = [ctypes.c_void_p]
file = library.fdopen(1, b"w")
library.malloc_info(0, file)
library.fflush(file)
"""


def count_heaps(how: str) -> int:
    """Return how many heaps a process with six threads makes."""
    program = [sys.executable, "-c", HEAP_PROGRAM, how]
    said = subprocess.run(program, capture_output=True, text=True, check=True)
    return said.stdout.count("<heap nr=")


@pytest.mark.skipif(libc_ver()[0] != "glibc", reason="other C libraries have one heap")
def test_server_with_many_threads_has_few_heaps() -> None:
    assert count_heaps("few") == 2 < count_heaps("as it is")
