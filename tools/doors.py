"""Write `src/memolith/api/_generated.py`: the methods of one owner, with the owner as an argument.

Run by `make doors`; a test compares what stands there with what this writes.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (ROOT / "src/memolith/api/owner.py", ROOT / "src/memolith/api/aliases.py")
TARGET = ROOT / "src/memolith/api/_generated.py"

HEAD = '''"""The methods of `OwnerMemory` on the engine, each with the owner named by `owner`.

Written by tools/doors.py: change `OwnerMemory`, then run `make doors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

{imports}

if TYPE_CHECKING:
{typing}
    from memolith.api.owner import OwnerMemory


class _Owners(Protocol):
    def owner(self, owner_id: str) -> OwnerMemory: ...


class OwnerDoors:
    """What every owner has, for those who would rather name the owner each time."""

{methods}
'''


def methods() -> list[ast.FunctionDef]:
    """Return the public methods of the classes in the sources, each once, in order."""
    found: dict[str, ast.FunctionDef] = {}
    for source in SOURCES:
        for node in ast.parse(source.read_text()).body:
            is_class = isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            for each in node.body if isinstance(node, ast.ClassDef) and is_class else ():
                if isinstance(each, ast.FunctionDef) and _is_door(each):
                    found.setdefault(each.name, each)
    return list(found.values())


def _is_door(method: ast.FunctionDef) -> bool:
    return not method.name.startswith("_") and not method.decorator_list


def door(method: ast.FunctionDef) -> str:
    """Return the source of the engine's method for one of an owner's."""
    name, arguments = method.name, method.args
    passed = [each.arg for each in arguments.args[1:]]
    passed += [f"{each.arg}={each.arg}" for each in arguments.kwonlyargs]
    own = ast.arg("owner", ast.Name("str"))
    arguments.kwonlyargs.insert(0, own)
    arguments.kw_defaults.insert(0, None)
    arguments.args[0].annotation = ast.Name("_Owners")
    result = ast.unparse(method.returns) if method.returns else "None"
    word = "" if result == "None" else "return "
    return (
        f"    def {name}({ast.unparse(arguments)}) -> {result}:\n"
        f'        """See `OwnerMemory.{name}`."""\n'
        f"        {word}self.owner(owner).{name}({', '.join(passed)})\n"
    )


def imports(used: set[str]) -> tuple[list[str], list[str]]:
    """Return the imports of those names: of constants, and of what only types need."""
    plain: set[str] = set()
    typing: set[str] = set()
    for source in SOURCES:
        module = source.relative_to(ROOT / "src").with_suffix("").as_posix().replace("/", ".")
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module not in ("__future__", "typing"):
                for each in node.names:
                    if (each.asname or each.name) in used:
                        line = f"from {node.module} import {each.name}"
                        (plain if each.name.isupper() else typing).add(line)
            if isinstance(node, ast.Assign) and _constant(node) in used:
                plain.add(f"from {module} import {_constant(node)}")
    return sorted(plain), [f"    {line}" for line in sorted(typing)]


def _constant(node: ast.Assign) -> str:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) and target.id.isupper() else ""


def written() -> str:
    """Return what the file is to hold."""
    doors = "\n".join(door(method) for method in methods())
    used = {node.id for node in ast.walk(ast.parse(f"class _:\n{doors}")) if _is_name(node)}
    plain, typing = imports(used)
    text = HEAD.format(imports="\n".join(plain), typing="\n".join(typing), methods=doors)
    for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
        text = subprocess.run(  # noqa: S603 - ruff, by the interpreter that runs this
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET), "-"],
            input=text,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
    return text


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


if __name__ == "__main__":
    TARGET.write_text(written())
