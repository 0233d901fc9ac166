"""Check the language of docs, docstrings, comments, messages and function names.

Usage: `check_prose.py [--count] [PATH…]`. Accepted exceptions: `tools/prose_allow.txt`.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CHECKED = (
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs"),
    *("src", "packages", "benchmarks", "tools", "examples", "tests"),
)
SKIPPED = frozenset({"build", "dist", "__pycache__"})
MAX_WORDS = 40

# Alternatives of regular expressions.
IRREGULAR = (
    "begun|bought|brought|broken|built|caught|chosen|done|drawn|driven|fallen|felt|forgotten|found|"
    "given|gone|grown|heard|held|hidden|kept|known|laid|left|lost|made|meant|met|overridden|"
    "overwritten|paid|rebuilt|rewritten|said|seen|sent|shown|sold|sought|spent|spoken|stood|stuck|"
    "taken|taught|thought|thrown|told|torn|understood|undone|unknown|untold|went|withheld|won|"
    "worn|written"
)
NOT_PARTICIPLES = r"elapsed|(?:re)?embed|hundred|indeed|naked|red|sacred|shed|shred|\w*(?<!gr)eed"
ADVERBS = (
    "about|above|across|after|against|ahead|along|among|apart|around|as|at|away|back|before|behind|"
    "below|beneath|beside|between|beyond|by|down|for|from|in|into|of|off|on|once|onto|out|over|"
    "past|since|than|through|to|toward|under|until|up|upon|via|with|within|without"
)
QUESTION_WORDS = "so|what|when|whence|where|whether|which|who|whom|whose|why"
PREFIXES = frozenset({"after", "as", "back", "before", "for", "from", "on", "to", "with"})
"""First words of conventional names: `from_dict`, `on_close`, `before_request`, `back_up`."""

_PARTICIPLE = re.compile(rf"{IRREGULAR}|(?!(?:{NOT_PARTICIPLES})$)\w+ed")
_FRAGMENT = re.compile(f"{ADVERBS}|{QUESTION_WORDS}")
_OPENS = r"(?:(?<!.)|(?<=: )(?-i:(?=W)))"  # a sentence, or the description of an argument
_BE = "(?:is|are|was|were|has been|have been)(?: \\w+ly| not| never| already)?"
_SUBJECT = "(?:(?:it|they|you|we|he|she|one|nobody|nothing|no one|somebody|someone) )?"
_GAP = r"(?: (?!(?:if|when|while|that|how)\b)[\w'-]+){0,5}?"
_PATTERNS = {
    "archaic": "whence|whereof|wherein|whereupon|thereof|therein|withal|nowhere|hither|thither",
    "told": "told",
    "of-which": "of (?:which|whom)",
    "held-against": r"(?:held|holds?|holding) (?:\w+ )?against",
    "stands": "(?:stands|stood)(?! (?:for|out))",
    "tell-of": "(?:tell|tells|telling|say|says|saying|said) of",
    "comes-to": "(?:come|comes|coming|came) to",
    "takes-in": r"(?:takes?|taking|took) in|taken in(?! (?:turns?|order|the|an?|one)\b)"
    "|(?:gives?|gave|giving|given) back",
    "so-many": r"so (?:long|many|much|few)(?! (?:\w+ )?(?:that|as)\b)",
    "what-clause": rf"{_OPENS}what (?!if\b)\w+"
    r"|what (?:nothing|nobody|somebody|anybody|everybody|no \w+) \w+"
    rf"|what (?:[\w'-]+ ){{0,3}}{_BE} (?:\w+ed|read|put|set|cut|{IRREGULAR})"
    rf"|what {_SUBJECT}(?!this\b|its\b)\w+(?:s|ed){_GAP} (?:is|was)",
    "who-clause": rf"whoever|who asks?|{_OPENS}(?:who|whose) \w+"
    "|(?:of|for|by|to|from|with|than|if|where) who",
}
PHRASES = {rule: re.compile(rf"\b(?:{each})\b", re.IGNORECASE) for rule, each in _PATTERNS.items()}
FREE_IN_QUESTIONS = frozenset({"what-clause", "who-clause"})
HELP_KEYWORDS = frozenset({"help", "short_help", "epilog", "description", "summary"})
_OUTPUT = re.compile(
    "confirm|critical|debug|s?echo|error|exception|info|log|print|prompt|warn(ing)?"
)

_OWN_BLOCK = re.compile(r"\s*(?:#{1,6} |\||>>>|\.\.\.)|\s*[A-Z]\w+:\s*$")
_NEW_BLOCK = re.compile(r"\s*(?:[-*+]|\d+[.)]) |\s{4,}\*{0,2}\w+(?: \([^)]*\))?: ")
_REPLACED = (
    (re.compile(r"``.+?``|`[^`]+`|<!--.*?-->", re.DOTALL), "`…`"),
    (re.compile(r"\"[^\"]{1,200}\"|“[^”]{1,200}”", re.DOTALL), "“…”"),
    (re.compile(r"(?<=\])(?:\([^()]*\)|\[[^\]]*\])|<[^<>\n]+>|https?://\S+|[\\\x08]"), ""),
)
_END = re.compile(r"[.!?][\"”’)*_]*\s+(?=[\"“(*_\[]*[A-Z0-9`])")
_WORD = re.compile(r"[^\W_][\w'’.,-]*")


class Finding(NamedTuple):
    """One violation of a rule, with the text around it."""

    path: str
    line: int
    rule: str
    excerpt: str

    def is_allowed_by(self, paths: str, rule: str, text: str) -> bool:
        """Return whether an entry of the allow-list accepts this finding."""
        return fnmatch(self.path, paths) and rule in {"*", self.rule} and text in self.excerpt


def blocks(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, list items, headings and table cells, each with its first line number."""
    block: list[str] = []
    first, fenced = 1, False
    for number, line in [*lines, (0, "")]:
        is_fence = line.strip().startswith(("```", "~~~"))
        is_own = _OWN_BLOCK.match(line) is not None
        if block and (is_fence or is_own or not line.strip() or _NEW_BLOCK.match(line)):
            yield first, "\n".join(block)
            block = []
        fenced ^= is_fence
        if is_fence or fenced or not line.strip() or line.strip().startswith((">>>", "...")):
            continue
        if is_own:
            cells = re.split(r"(?<!\\)\|", line) if line.strip().startswith("|") else [line]
            yield from ((number, cell) for cell in cells if cell.strip())
        else:
            first = first if block else number
            block.append(line)


def sentences(first: int, block: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a block with line numbers; code, quotations and URLs are replaced."""
    for pattern, label in _REPLACED:
        for found in reversed([*pattern.finditer(block)]):
            new = label + "\n" * found[0].count("\n")
            block = block[: found.start()] + new + block[found.end() :]
    ends = [0, *(match.end() for match in _END.finditer(block)), len(block)]
    for start, end in pairwise(ends):
        sentence = block[start:end].lstrip(" \n*_#(-")
        yield first + block.count("\n", 0, end - len(sentence)), sentence


def check_text(
    lines: Iterable[tuple[int, str]], *, limit: int = MAX_WORDS
) -> Iterator[tuple[int, str, str]]:
    """Yield the banned phrases in text, and the sentences of more than `limit` words."""
    for first, block in blocks(lines):
        is_heading = block.lstrip().startswith("#")
        for line, sentence in sentences(first, block):
            text = re.sub(r"\s", " ", sentence)
            for offset, rule, excerpt in phrases(text, is_question=is_heading or "?" in text[-4:]):
                yield line + sentence.count("\n", 0, offset), rule, excerpt
            words = len(_WORD.findall(text))
            if words > limit:
                yield line, "long-sentence", f"{words} words: {' '.join(text.split())[:60]}…"


def phrases(text: str, *, is_question: bool = False) -> Iterator[tuple[int, str, str]]:
    """Yield (offset, rule, excerpt) for each banned phrase in one sentence."""
    for rule, pattern in PHRASES.items():
        for match in () if is_question and rule in FREE_IN_QUESTIONS else pattern.finditer(text):
            excerpt = text[max(0, match.start() - 30) : match.end() + 30]
            yield match.start(), rule, " ".join(excerpt.split())


def check_name(name: str) -> Iterator[tuple[str, str]]:
    """Yield (rule, name) if the name of a function is a fragment or contains a banned phrase."""
    words = [word for word in name.lower().split("_") if word]
    is_test = words[:1] == ["test"]
    for rule in {rule for _, rule, _ in phrases(" ".join(words[1:] if is_test else words))}:
        yield rule, name
    if is_test or name.startswith("__") or not words:
        return
    first, *rest = words
    tail = (_PARTICIPLE.fullmatch(each) or re.fullmatch(ADVERBS, each) for each in rest)
    if _PARTICIPLE.fullmatch(first) and all(tail):
        yield "name-participle", name
    if _FRAGMENT.fullmatch(first) and not (rest and first in PREFIXES):
        yield "name-fragment", name


def literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the string literals below a node; a formatted value becomes `X`."""
    if isinstance(node, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else "X" for each in node.values)
        yield node.lineno, "".join(map(str, parts))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from literals(child)


def messages(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the literals that a statement raises, logs, prints or shows as help."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        yield from literals(node.exc)
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        shown = node.args if _OUTPUT.fullmatch(called) else []
        for each in (*shown, *(item.value for item in node.keywords if item.arg in HELP_KEYWORDS)):
            yield from literals(each)


def comments(source: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the comments of a module; comments on adjacent lines are one text."""
    group: list[tuple[int, str]] = []
    last = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start != (last[0] + 1, last[1]):
                yield group
                group = []
            group.append((token.start[0], token.string[1:].removeprefix(" ")))
            last = token.start
    yield group


def check_module(source: str, *, is_test: bool) -> Iterator[tuple[int, str, str]]:
    """Yield the findings of a Python module; of a test module only test names and docstrings."""
    shown: set[tuple[int, str]] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if not is_test or node.name.startswith("test_"):
                yield from ((node.lineno, *each) for each in check_name(node.name))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from check_text(enumerate(str(node.value.value).splitlines(), node.lineno))
        elif not is_test:
            shown.update(messages(node))
    for line, message in shown:
        text = enumerate(message.splitlines())
        yield from ((line, *each[1:]) for each in check_text(text, limit=sys.maxsize))
    for comment in () if is_test else comments(source):
        yield from check_text(comment, limit=sys.maxsize)


def check_file(path: Path) -> Iterator[Finding]:
    """Yield the findings of one file, in the order of lines."""
    text, name = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
    if path.suffix == ".md":
        found = check_text(enumerate(text.splitlines(), 1))
    else:
        found = check_module(text, is_test=name.startswith("tests/"))
    yield from (Finding(name, *each) for each in sorted(found))


def files(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the Python and Markdown files at the paths, which may be folders."""
    for base in (ROOT / each for each in paths):
        for path in sorted(base.rglob("*")) if base.is_dir() else [base]:
            if path.suffix in {".md", ".py"} and not SKIPPED & {*path.relative_to(ROOT).parts}:
                yield path


def load_allowed(path: Path) -> list[tuple[str, str, str]]:
    """Read the allow-list: `GLOB RULE [TEXT]  # reason` on each line."""
    allowed = []
    for line in path.read_text("utf-8").splitlines():
        entry, _, reason = line.partition("#")
        if entry.strip():
            paths, rule, text = [*entry.split(maxsplit=2), "", ""][:3]
            if not (rule and reason.strip()):
                sys.exit(f"{path.name}: expected GLOB RULE [TEXT]  # reason, not: {line}")
            allowed.append((paths, rule, text.strip()))
    return allowed


def main() -> int:
    """Print the findings, or their counts; return 1 if there are findings to fix."""
    parser = argparse.ArgumentParser(description="Check the language of docs and code.")
    parser.add_argument("--count", action="store_true", help="print counts by rule and folder")
    parser.add_argument("paths", nargs="*", help="files and folders; default: the whole project")
    options = parser.parse_args()
    paths = [str(Path(each).resolve()) for each in options.paths]
    allowed = load_allowed(ROOT / "tools" / "prose_allow.txt")
    findings = [each for path in files(paths or CHECKED) for each in check_file(path)]
    unused = [each for each in allowed if not any(one.is_allowed_by(*each) for one in findings)]
    findings = [one for one in findings if not any(one.is_allowed_by(*each) for each in allowed)]
    if options.count:
        print_counts(findings)
        return 0
    lines = [f"{one.path}:{one.line}: {one.rule}: {one.excerpt}" for one in findings]
    lines += [f"tools/prose_allow.txt: unused: {' '.join(one)}" for one in unused if not paths]
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


def print_counts(findings: Sequence[Finding]) -> None:
    """Print a table of the findings: a row for each rule, a column for each top-level folder."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in findings:
        folder = "pages" if "/" not in each.path else each.path.partition("/")[0]
        counts.update(product((each.rule, "total"), (folder, "total")))
    rules, folders = (sorted({*names} - {"total"}) for names in zip(*counts, strict=True))
    print(" " * 16, *(folder.rjust(10) for folder in (*folders, "total")))
    for rule in (*rules, "total"):
        row = (counts[rule, folder] for folder in (*folders, "total"))
        print(rule.ljust(16), *(str(count).rjust(10) for count in row))


if __name__ == "__main__":
    sys.exit(main())
