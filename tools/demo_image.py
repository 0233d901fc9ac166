"""Draw docs/images/demo.svg from the output of `memolith demo` (`make demo-image`)."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

TARGET = Path(__file__).parents[1] / "docs" / "images" / "demo.svg"
COLUMNS = 96
QUESTION = "2. When was my dentist appointment"
"""The question to show, with its results and the beginning of its prompt."""
LINES = 24


def read_terminal_output(command: list[str]) -> str:
    """Run a command in a terminal of its own and return what it writes, with control sequences."""
    controller, terminal = pty.openpty()
    environment = os.environ | {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    parts = []
    while True:
        try:
            part = os.read(controller, 65_536)
        except OSError:  # Linux reports the closed terminal of a finished process as an error
            break
        if not part:
            break
        parts.append(part)
    if process.wait():
        raise SystemExit(f"{command[-1]} failed with exit code {process.returncode}")
    return b"".join(parts).decode().replace("\r\n", "\n")


def select_lines(output: str) -> list[Text]:
    """Return the lines about `QUESTION`, from its rule to the next."""
    lines = [Text.from_ansi(line) for line in output.split("\n")]
    first = next(i for i, line in enumerate(lines) if QUESTION in line.plain)
    last = next(i for i, line in enumerate(lines) if i > first and line.plain.startswith("────"))
    return [*lines[first:last][:LINES], Text("    …")]


def main() -> None:
    """Run the demo and write the picture."""
    output = read_terminal_output([sys.executable, "-m", "memolith", "demo"])
    with Path(os.devnull).open("w") as nothing:
        console = Console(record=True, width=COLUMNS + 2, file=nothing, force_terminal=True)
        for line in select_lines(output):
            console.print(line)
        TARGET.write_text(console.export_svg(title="memolith demo", unique_id="demo"))
    print(f"{TARGET.relative_to(Path.cwd())}: {TARGET.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
