from __future__ import annotations

import subprocess
import sys
from platform import libc_ver

import pytest

COUNTED = """
import ctypes, sys, threading
from memolith.server import heaps
if sys.argv[1] == "few" and not heaps.keep_few():
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


def made(how: str) -> int:
    """Return how many heaps a process with six threads makes."""
    program = [sys.executable, "-c", COUNTED, how]
    said = subprocess.run(program, capture_output=True, text=True, check=True)
    return said.stdout.count("<heap nr=")


@pytest.mark.skipif(libc_ver()[0] != "glibc", reason="other C libraries have one heap")
def test_a_server_has_few_heaps_however_many_threads() -> None:
    assert made("few") == 2 < made("as it is")
