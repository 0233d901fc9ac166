"""Measure startup time, disk space, memory and installation size."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from corpus import EMBEDDED, Corpus, Filled, embedded, filled, log, remember
from measuring import Step, Table, in_turns, output, process, progress, ratio

START_ROUNDS = 7
START_SIZE = 1_000
TARGET_RECALL_MS = 600
DISK_SIZE = 10_000
BAR_DISK = 1_536
BAR_MEMORY_MB = 400
BAR_INSTALL_MB = 250
RECALLS = 50
LARGEST = 8
_WHEELS = ("memolith-*.whl", "memolith_minilm-*.whl")
_MEGABYTE = 1_000_000

_RECALL = """
import sys
from memolith import Memolith
Memolith.open(sys.argv[1]).recall("What did I say about the day?", owner="messages")
"""
_STUBBED = """
import sys
import numpy as np
from memolith import Memolith
from memolith.testing.fakes import WordCounter
class Stub:
    name, dimension = "hashing", 384
    def embed(self, texts, *, role):
        return np.ones((len(texts), 384), np.float32)
"""
_RECALL_STUBBED = f"""{_STUBBED}
opened = Memolith.open(sys.argv[1], embedder=Stub(), tokens=WordCounter())
opened.recall("What did I say about the day?", owner="messages")
"""
_REMEMBER_STUBBED = f"""{_STUBBED}
import tempfile
with tempfile.TemporaryDirectory() as folder:
    with Memolith.open(f"{{folder}}/new.db", embedder=Stub(), tokens=WordCounter()) as opened:
        opened.remember("I live in Berlin now.", owner="new")
"""
_RECALLS = """
import json, sys
from memolith import Memolith
from memolith.testing.fakes import HashingEmbedder, WordCounter
path, embedder, queries = sys.argv[1:]
stubs = {} if embedder == "model" else {"embedder": HashingEmbedder(), "tokens": WordCounter()}
opened = Memolith.open(path, **stubs)
for query in json.loads(queries):
    opened.recall(query, owner="messages")
"""
_RESIDENT = """
import json, pathlib
lines = pathlib.Path("/proc/self/status").read_text().splitlines()
values = dict(line.split(":", 1) for line in lines)
print(json.dumps({name: int(values[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")}))
"""


# --- Start


def start(corpus: Corpus) -> Table:
    """Time new processes, alternating with one that only imports numpy."""
    progress("start")
    hashed, by_model = filled(START_SIZE, corpus).path, embedded(START_SIZE, corpus).path
    command = str(Path(sys.executable).with_name("memolith"))
    question = ("recall", "What did I say about the day?", "--owner", "messages")
    programs: dict[str, tuple[Step, float | str]] = {
        'python -c "import numpy"': (_python("import numpy"), "–"),
        "import memolith": (_python("import memolith"), "–"),
        "memolith --help": (process(command, "--help"), "–"),
        "first recall, without the model": (_python(_RECALL_STUBBED, str(hashed)), "–"),
        "first recall, with the model": (_python(_RECALL, str(by_model)), "–"),
        "first remember, without the model": (_python(_REMEMBER_STUBBED), "–"),
        "memolith recall": (
            process(command, "--store", str(by_model), *question),
            TARGET_RECALL_MS,
        ),
    }
    steps = {name: step for name, (step, _) in programs.items()}
    taken = in_turns(START_ROUNDS + 1, steps, unmeasured=1)
    numpy = taken['python -c "import numpy"']
    rows = [
        {
            "process": name,
            "ms": taken[name].wall.median * 1e3,
            "CPU, ms": taken[name].cpu.median * 1e3,
            "÷ import numpy": ratio(taken[name].cpu.over(numpy.cpu)),
            "target, ms": target,
        }
        for name, (_, target) in programs.items()
    ]
    return Table("start", rows, _START_NOTE)


def _python(program: str, *arguments: str) -> Step:
    return process(sys.executable, "-c", program, *arguments)


_START_NOTE = (
    f"Whole process, warm file cache, store of {START_SIZE:,} messages. Medians of "
    f"{START_ROUNDS}; the ratio is of CPU times, with quartiles in brackets. The first `remember` "
    "creates the store."
)


# --- Size


def disk(corpus: Corpus) -> Table:
    """Measure the file size of one owner's memories, and of one owner's messages."""
    texts = corpus.texts(DISK_SIZE)
    written = sum(len(text.encode()) for text in texts)
    rows = []
    for kind in ("memories", "messages"):
        progress(f"disk: {kind}")
        with tempfile.TemporaryDirectory() as folder:
            store = Filled(Path(folder) / "size.db", texts)
            with store.open() as opened:
                if kind == "memories":
                    remember(opened, kind, texts)
                else:
                    log(opened.owner(kind), texts)
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
        rows.append(
            {
                "10,000 of": kind,
                "file, MB": size / _MEGABYTE,
                "text, MB": written / _MEGABYTE,
                "bytes each beyond text": round((size - written) / DISK_SIZE),
                "target": BAR_DISK,
            }
        )
    return Table("disk", rows, "File size after closing; 384 dimensions, one passage each.")


def memory(sizes: Sequence[int], corpus: Corpus) -> Table:
    """Measure the memory of new processes after fifty recalls (Linux only)."""
    rows = [{"process": "import numpy", **_resident("import numpy")}]
    stores = [(size, filled(size, corpus), "stub") for size in sizes]
    for size, store, embedder in [*stores, (EMBEDDED, embedded(EMBEDDED, corpus), "model")]:
        name = f"{size:,} messages" + (", with the model" if embedder == "model" else "")
        progress(f"memory: {name}")
        queries = json.dumps(corpus.queries(store.texts, RECALLS))
        resident = _resident(_RECALLS, str(store.path), embedder, queries)
        rows.append({"process": name, **resident})
    return Table("memory", rows, _MEMORY_NOTE)


def _resident(program: str, *arguments: str) -> dict[str, float]:
    found = json.loads(output(sys.executable, "-c", program + _RESIDENT, *arguments))
    return {
        "resident, MB": found["VmRSS"] / _MEGABYTE,
        "peak, MB": found["VmHWM"] / _MEGABYTE,
    }


_MEMORY_NOTE = (
    f"New processes after {RECALLS} recalls of one owner. Target for 1,000 owners with 1,000 "
    f"memories each: {BAR_MEMORY_MB} MB."
)


# --- Installation


def install(folder_of_wheels: Path) -> Table:
    """Install Memolith's two wheels into a new environment and measure its size.

    Raises:
        FileNotFoundError: The folder lacks the wheels.
    """
    wheels = sorted(str(wheel) for wheel in folder_of_wheels.glob("memolith*.whl"))
    if len(wheels) != len(_WHEELS):
        raise FileNotFoundError(f"{folder_of_wheels} must contain {' and '.join(_WHEELS)}")
    with tempfile.TemporaryDirectory() as folder:
        progress("install: creating an environment")
        output(sys.executable, "-m", "venv", folder)
        before = _sizes(Path(folder))
        progress("install: installing")
        output(f"{folder}/bin/python", "-m", "pip", "install", "--no-compile", "--quiet", *wheels)
        after = _sizes(Path(folder))
    added = {name: size - before.get(name, 0) for name, size in after.items()}
    total = sum(added.values())
    largest = sorted(added.items(), key=lambda pair: -pair[1])[:LARGEST]
    rows = [{"installed": "total", "MB": total / _MEGABYTE, "target": BAR_INSTALL_MB}]
    rows += [{"installed": name, "MB": size / _MEGABYTE, "target": "–"} for name, size in largest]
    return Table("install", rows, "Without pip and without compiled Python files.")


def _sizes(folder: Path) -> dict[str, int]:
    """Return the sizes of an environment's packages, by folder."""
    sizes: dict[str, int] = defaultdict(int)
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            inside = file.relative_to(folder).parts
            is_package = "site-packages" in inside
            name = inside[inside.index("site-packages") + 1] if is_package else "commands"
            sizes[name] += file.stat().st_size
    return dict(sizes)
