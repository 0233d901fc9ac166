"""Measure the quality, speed and startup of the local embedder and of its 8-bit format.

    make bench-embedder ARGS="formats locomo10.json"
    make bench-embedder ARGS="pace"
    make bench-embedder ARGS="start"

`formats` converts the published weights to several number formats and compares them on the messages
and questions of one LoCoMo conversation. It needs the package onnx and downloads the weights as a
build does. The dataset is not part of this project (CC BY-NC 4.0): pass a file in the format of
locomo10.json. docs/decisions/0003-local-embedder.md quotes the tables.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from measuring import Step, Table, Taken, in_turns, output, process, progress, ratio
from numpy.typing import NDArray

import memolith_minilm
from memolith.adapters.models.local import LocalEmbedder, load_tokenizer
from memolith.demo import load_conversation

sys.path.insert(0, str(Path(__file__).parent.parent / "packages" / "memolith-minilm"))

Floats = NDArray[np.float32]
Ids = list[int]

SHORT_WORDS = range(4, 13)
"""Number of words of a short sentence."""

# --- Formats


@dataclass(frozen=True, slots=True)
class Sample:
    """Messages and questions of one conversation as token ids, with the evidence."""

    messages: list[Ids]
    questions: list[Ids]
    evidence: list[set[int]]


def read_sample(path: Path, number: int) -> Sample:
    """Read one conversation of LoCoMo."""
    sample = json.loads(path.read_text(encoding="utf-8"))[number]
    turns = [
        turn for part in sample["conversation"].values() if isinstance(part, list) for turn in part
    ]
    place = {turn["dia_id"]: row for row, turn in enumerate(turns)}
    named = [
        (each["question"], re.findall(r"D\d+:\d+", str(each["evidence"])))
        for each in sample["qa"]
        if "answer" in each
    ]
    found = [(question, {place[id_] for id_ in ids if id_ in place}) for question, ids in named]
    asked = [(question, evidence) for question, evidence in found if evidence]
    return Sample(
        messages=[_ids(f"{turn['speaker']}: {turn['text']}") for turn in turns],
        questions=[_ids(question) for question, _ in asked],
        evidence=[evidence for _, evidence in asked],
    )


def _ids(text: str) -> Ids:
    ids: Ids = load_tokenizer(memolith_minilm.tokenizer_path()).encode(text).ids
    return [*ids[: memolith_minilm.MAX_TOKENS - 1], ids[-1]]


def _models() -> Mapping[str, Any]:
    """Return a writer for each format."""
    from conversion.bert import bert
    from conversion.quantised import ByteProducts, lookup
    from conversion.source import fetch

    weights = fetch().weights()
    products: dict[str, Any] = {
        "float32 throughout": (_float_product, _float_lookup),
        "float32, table of words in 8 bits": (_float_product, lookup),
        "8 bits, input by batch": (partial(_batch_product, _columns(127)), lookup),
        "8 bits, input by batch, 7-bit weights": (partial(_batch_product, _columns(64)), lookup),
        "8 bits, input by blocks of 32": (_block_product, lookup),
        "8 bits, input by token": (ByteProducts(apart=(), columns=_columns(127)), lookup),
        "… and 8 channels apart": (ByteProducts(columns=_columns(127)), lookup),
        "… and 7-bit weights": (ByteProducts(columns=_columns(64)), lookup),
        "… and weights bounded in pairs (chosen)": (ByteProducts(), lookup),
    }
    return {name: partial(bert, weights, *formats) for name, formats in products.items()}


def _float_product(graph: Any, rows: str, kind: str, matrix: Floats, name: str) -> str:
    del kind
    return str(graph.add("MatMul", rows, graph.constant(name, matrix)))


def _float_lookup(graph: Any, ids: str, table: Floats, name: str) -> str:
    return str(graph.add("Gather", graph.constant(name, table), ids))


def _columns(largest: int) -> Any:
    def columns(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
        scale = (np.abs(matrix).max(axis=0) / largest).astype(np.float32)
        return np.rint(matrix / scale).astype(np.int8), scale

    return columns


def _batch_product(
    columns: Any, graph: Any, rows: str, kind: str, matrix: Floats, name: str
) -> str:
    """Add the product of `quantize_dynamic`, with one scale for the whole input."""
    del kind
    integers, scale = columns(matrix)
    names = graph.constant(f"{name} integers", integers), graph.constant(f"{name} scale", scale)
    return str(graph.add("DynamicQuantizeMatMul", rows, *names, domain="com.microsoft"))


def _block_product(graph: Any, rows: str, kind: str, matrix: Floats, name: str) -> str:
    """Add ONNX Runtime's product for language models, with a scale for each 32 values."""
    del kind
    size, width = matrix.shape
    blocks = matrix.T.reshape(width, size // 32, 32)
    scale = (np.abs(blocks).max(axis=-1) / 127).astype(np.float32)
    bytes_ = (np.rint(blocks / scale[..., np.newaxis]) + 128).astype(np.uint8)
    names = graph.constant(f"{name} bytes", bytes_), graph.constant(f"{name} scale", scale)
    shape = {"K": size, "N": width, "bits": 8, "block_size": 32, "accuracy_level": 4}
    return str(graph.add("MatMulNBits", rows, *names, domain="com.microsoft", **shape))


class Model:
    """A model in one format, run with the local embedder's session options."""

    def __init__(self, path: Path) -> None:
        """Open a file for one thread."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(path, options)

    def run(self, texts: Sequence[Ids]) -> Floats:
        """Return the vectors of texts, run as one batch."""
        ids = np.zeros((len(texts), max(map(len, texts))), np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        mask = (ids != 0).astype(np.int64)
        return np.asarray(self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0])

    def each(self, texts: Sequence[Ids]) -> Floats:
        """Return the vectors of texts, each run alone."""
        return np.concatenate([self.run([text]) for text in texts])

    def batches(self, texts: Sequence[Ids], size: int = 16) -> Floats:
        """Return the vectors of texts in batches, padded to the longest of each."""
        return np.concatenate([self.run(list(batch)) for batch in _batched(texts, size)])


def _batched(texts: Sequence[Ids], size: int) -> Iterator[tuple[Ids, ...]]:
    remaining = iter(texts)
    while batch := tuple(islice(remaining, size)):
        yield batch


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of a sample in one format."""

    messages: Floats
    questions: Floats

    def best(self, count: int) -> NDArray[np.int64]:
        """Return the messages nearest to each question, best first; shape (questions, count)."""
        return np.argsort(-self.questions @ self.messages.T, axis=1, kind="stable")[:, :count]

    def recall(self, evidence: Sequence[set[int]], count: int = 10) -> float:
        """Return recall@count, averaged over questions."""
        found = zip(self.best(count), evidence, strict=True)
        return float(
            np.mean([len(those & set(best.tolist())) / len(those) for best, those in found])
        )


def formats(path: Path, number: int) -> Table:
    """Compare formats by similarity to float32, recall, dependence on the batch, and time."""
    from conversion.storage import save

    sample = read_sample(path, number)
    models, sizes = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for place, (name, write) in enumerate(_models().items()):
            progress(name)
            file = Path(folder, f"{place}.onnx")
            save(write(), file)
            sizes[name] = sum(each.stat().st_size for each in Path(folder).glob(f"{place}.*"))
            models[name] = Model(file)
        made = {
            name: Vectors(model.each(sample.messages), model.each(sample.questions))
            for name, model in models.items()
        }
    steps = {name: _step(model, sample.questions) for name, model in models.items()}
    times = in_turns(9, steps)
    exact, *_ = made.values()
    rows = [
        _row(name, sizes[name], made[name], exact, sample)
        | {
            "differs in a batch by": _batch_difference(models[name], made[name], sample),
            "ms a question": 1e3 * times[name].cpu.quantile(0) / len(sample.questions),
        }
        for name in models
    ]
    note = (
        f"{len(sample.messages)} messages and {len(sample.questions)} questions of LoCoMo, mean "
        f"{np.mean([len(ids) for ids in sample.questions]):.0f} tokens a question. Same ten: "
        "share of the ten nearest messages that float32 also finds. Batches of 16, padded; "
        "the largest difference of any number in a vector. Time: CPU time of one thread, the "
        "best of nine rounds."
    )
    return Table("formats", rows, note)


def _step(model: Model, texts: Sequence[Ids]) -> Step:
    return lambda _: model.each(texts)


def _row(name: str, size: int, made: Vectors, exact: Vectors, sample: Sample) -> dict[str, Any]:
    cosines = np.sum(made.messages * exact.messages, axis=1)
    pairs = zip(made.best(10), exact.best(10), strict=True)
    same = np.mean([len(np.intersect1d(one, other)) for one, other in pairs]) / 10
    return {
        "format": name,
        "MB": f"{size / 1e6:.1f}",
        "cosine to float32, mean": f"{cosines.mean():.4f}",
        "least": f"{cosines.min():.4f}",
        "same ten, %": f"{100 * same:.1f}",
        "R@10, %": f"{100 * made.recall(sample.evidence):.1f}",
    }


def _batch_difference(model: Model, made: Vectors, sample: Sample) -> str:
    size = 16 * (len(sample.messages) // 16)
    batched = model.batches(sample.messages[:size])
    return f"{np.abs(batched - made.messages[:size]).max():.0e}"


# --- Pace


@cache
def _sentences() -> tuple[str, ...]:
    """Return the short sentences of the conversation that ships with Memolith."""
    texts = [
        message.content
        for session in load_conversation().sessions
        for message in session.messages
        if message.role == "user"
    ]
    sentences = re.split(r"(?<=[.!?])\s+", " ".join(texts))
    return tuple(each for each in sentences if len(each.split()) in SHORT_WORDS)


def pace() -> Table:
    """Measure single and bulk embedding of short sentences."""
    one, two = LocalEmbedder(threads=1), LocalEmbedder(threads=2)
    sentences = list(_sentences())
    steps = {
        "one at a time": lambda _: [one.embed([each], role="query") for each in sentences],
        "bulk, 1 thread": lambda _: one.embed(sentences, role="document"),
        "bulk, 2 threads": lambda _: two.embed(sentences, role="document"),
    }
    times = in_turns(9, steps, unmeasured=1)
    rows = [_pace_row(name, times[name], len(sentences)) for name in steps]
    note = (
        f"{len(sentences)} sentences of {SHORT_WORDS.start} to {SHORT_WORDS.stop - 1} words, nine "
        "rounds. CPU time includes all threads."
    )
    return Table("pace", rows, note)


def _pace_row(name: str, taken: Taken, count: int) -> dict[str, Any]:
    return {
        "way": name,
        "sentences per s, median": count / taken.wall.median,
        "best": count / taken.wall.quantile(0),
        "CPU, ms each": 1e3 * taken.cpu.median / count,
    }


# --- Start

_FIRST_VECTOR = (
    "from memolith.adapters.models.local import LocalEmbedder\n"
    "LocalEmbedder().embed(['What is my name?'], role='query')\n"
)

_PARTS = """
from time import perf_counter
times = [perf_counter()]
def passed(): times.append(perf_counter())
import numpy; passed()
from memolith.adapters.models.local import LocalEmbedder; passed()
import onnxruntime; passed()
import tokenizers; passed()
from memolith.adapters.models.local import WordPieceCounter
WordPieceCounter().count(['What is my name?']); passed()
from memolith.adapters.models.local import load_model_folder
from memolith.adapters.models.local import OnnxModel
model = OnnxModel(load_model_folder(None)); passed()
model.embed([101, 2054, 2003, 2026, 2171, 1029, 102]); passed()
print(*(after - before for before, after in zip(times, times[1:])))
"""

_PART_NAMES = (
    "import numpy",
    "import the local embedder",
    "import onnxruntime",
    "import tokenizers",
    "load the tokenizer",
    "open the model",
    "first vector",
)


def start() -> Table:
    """Measure a new process up to its first vector, in total and by stage."""
    steps = {
        "numpy": process(sys.executable, "-c", "import numpy"),
        "vector": process(sys.executable, "-c", _FIRST_VECTOR),
    }
    taken = in_turns(15, steps)
    numpy_, vector = taken["numpy"].cpu, taken["vector"].cpu
    parts = np.array([_parts() for _ in range(15)])
    rows = [
        {"step": name, "ms": 1e3 * float(seconds)}
        for name, seconds in zip(_PART_NAMES, np.median(parts, axis=0), strict=True)
    ]
    note = (
        f"Up to its first vector, a process takes {ratio(vector.over(numpy_))} times the CPU "
        f"time of `python -c 'import numpy'`, {1e3 * numpy_.median:.0f} ms, and "
        f"{ratio(taken['vector'].wall.over(taken['numpy'].wall))} times the wall-clock time: "
        "medians (quartiles) of 15 rounds."
    )
    return Table("start", rows, note)


def _parts() -> list[float]:
    return [float(each) for each in output(sys.executable, "-c", _PARTS).split()]


# --- Command line


def main() -> int:
    """Run the requested measurement and print its table."""
    reading = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parts = reading.add_subparsers(dest="part", required=True)
    compared = parts.add_parser("formats", help="compare number formats by quality and time")
    compared.add_argument("file", type=Path, help="a LoCoMo file such as locomo10.json")
    compared.add_argument("--sample", type=int, default=0, help="index of the conversation, from 0")
    parts.add_parser("pace", help="measure sentences per second")
    parts.add_parser("start", help="measure a new process up to its first vector")
    asked = reading.parse_args()
    if asked.part == "formats" and not asked.file.is_file():
        reading.error(f"{asked.file} does not exist; LoCoMo is published by snap-research/locomo")
    table = formats(asked.file, asked.sample) if asked.part == "formats" else _OTHERS[asked.part]()
    print(table.markdown())
    return 0


_OTHERS = {"pace": pace, "start": start}

if __name__ == "__main__":
    sys.exit(main())
