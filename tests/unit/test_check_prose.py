"""The rules of tools/check_prose.py, each with text that breaks it and text that does not."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_file_location("check_prose", ROOT / "tools" / "check_prose.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rules_of_text(tool: ModuleType, text: str) -> set[str]:
    return {rule for _, rule, _ in tool.check_text(enumerate(text.splitlines(), 1))}


def rules_of_module(tool: ModuleType, source: str, *, is_test: bool = False) -> set[str]:
    return {rule for _, rule, _ in tool.check_module(source, is_test=is_test)}


FAILS_AND_PASSES = [
    ("archaic", "Its record is nowhere.", "Its record is missing."),
    ("told", "The caller is told of an error.", "The caller receives an error."),
    ("of-which", "Owners of whom something waits.", "Owners that have pending work."),
    ("held-against", "A fact is held against its source.", "A fact is verified by its source."),
    ("stands", "The licence stands in one file.", "The abbreviation stands for a name."),
    ("tell-of", "Entries tell of the change.", "Entries describe the change."),
    ("comes-to", "The stream comes to its end.", "The stream ends."),
    ("takes-in", "Memolith takes in a document.", "The steps are taken in order."),
    ("takes-in", "It gives back the results.", "It returns the results."),
    ("so-many", "Wait at most so long.", "It is so long that it is cut."),
    ("what-clause", "What is stored is encrypted.", "Stored rows are encrypted."),
    ("what-clause", "Delete what nothing supports.", "Delete unsupported facts."),
    ("what-clause", "Return what a method is answered.", "Explain what the method does."),
    ("what-clause", "It sends what it reads is safe.", "Explain what this is."),
    ("what-clause", "Args:\n    scope: What to search.", "Args:\n    scope: Owners to search."),
    ("what-clause", "What a key opens.", "What is a key?"),
    ("who-clause", "Answer who asks.", "Answer the caller."),
    ("who-clause", "Who finds none free waits.", "Who may read a memory?"),
    ("who-clause", "It belongs to who wrote it.", "It belongs to the author, who wrote it."),
    ("long-sentence", "word " * 40 + "end.", "word " * 39 + "end. Another sentence."),
]


@pytest.mark.parametrize(("rule", "failing", "passing"), FAILS_AND_PASSES)
def test_phrase(tool: ModuleType, rule: str, failing: str, passing: str) -> None:
    assert rule in rules_of_text(tool, failing)
    assert rules_of_text(tool, passing) == set()


def test_every_phrase_rule_has_an_example(tool: ModuleType) -> None:
    assert {*tool.PHRASES, "long-sentence"} == {rule for rule, _, _ in FAILS_AND_PASSES}


@pytest.mark.parametrize(
    ("rule", "failing", "passing"),
    [
        ("name-participle", "kept", "keep"),
        ("name-participle", "_found", "_find"),
        ("name-participle", "taken_back", "restore"),
        ("name-participle", "screened", "is_screened"),
        ("name-participle", "stored", "stored_rows"),
        ("name-participle", "added", "embed"),
        ("name-participle", "agreed", "seed"),
        ("name-fragment", "in_words", "from_words"),
        ("name-fragment", "of", "__of__"),
        ("name-fragment", "why_not", "on_close"),
        ("name-fragment", "back", "back_up"),
        ("told", "test_nobody_is_told", "test_error_is_reported"),
        ("who-clause", "test_who_says_little_does_not_wait", "test_kept_rows_are_returned"),
    ],
)
def test_name(tool: ModuleType, rule: str, failing: str, passing: str) -> None:
    assert rule in rules_of_module(tool, f"def {failing}(): ...")
    assert rules_of_module(tool, f"def {passing}(): ...") == set()


@pytest.mark.parametrize(
    "source",
    [
        '"""It is told."""',
        "x = 1  # It is told.",
        "# It is\n# told.",
        'raise ValueError("it is told")',
        'raise ValueError(f"{x} is told")',
        'click.option("--x", help="It is told.")',
        'click.echo("it is told")',
        '_log.warning("it is told")',
    ],
)
def test_checked_parts_of_a_module(tool: ModuleType, source: str) -> None:
    assert rules_of_module(tool, source) == {"told"}


@pytest.mark.parametrize(
    "source",
    [
        'WORDS = ("told", "nowhere")',
        'PROMPT = f"{x} is told."',
        '"""Matches `told` and "told"."""',
        '"""Example.\n\n>>> told()\n"""',
    ],
)
def test_data_and_quoted_text_are_not_checked(tool: ModuleType, source: str) -> None:
    assert rules_of_module(tool, source) == set()


def test_comments_and_messages_of_test_modules_are_not_checked(tool: ModuleType) -> None:
    source = '# It is told.\ndef told(): ...\nraise ValueError("it is told")'
    assert rules_of_module(tool, source, is_test=True) == set()
    assert rules_of_module(tool, "def test_it_is_told(): ...", is_test=True) == {"told"}


@pytest.mark.parametrize(
    "page",
    [
        "```text\nIt is told.\n```",
        "| name | use |\n|---|---|\n| `told` | A flag. |",
        "[Guide](https://example.org/told) and <https://example.org/told>.",
        "## What is stored",
        "\n".join(f"- item {number} of a list" for number in range(20)),
    ],
)
def test_parts_of_a_page_that_pass(tool: ModuleType, page: str) -> None:
    assert rules_of_text(tool, page) == set()


def test_finding_names_the_line_of_the_phrase(tool: ModuleType) -> None:
    lines = enumerate(["First line of a", "sentence. It `is", "code` and is", "told."], 1)
    assert [(line, rule) for line, rule, _ in tool.check_text(lines)] == [(4, "told")]


def test_allow_list_entry_covers_a_path_a_rule_and_a_text(tool: ModuleType) -> None:
    finding = tool.Finding("src/words/en.py", 3, "told", "the words told and said")
    assert finding.is_allowed_by("src/words/*", "told", "told and said")
    assert finding.is_allowed_by("src/*", "*", "")
    assert not finding.is_allowed_by("src/*", "archaic", "")
    assert not finding.is_allowed_by("docs/*", "told", "")
    assert not finding.is_allowed_by("src/*", "told", "another text")


def test_allow_list_entry_needs_a_reason(tool: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "allow.txt"
    path.write_text("# heading\nsrc/* told the text  # word list\n")
    assert tool.load_allowed(path) == [("src/*", "told", "the text")]
    path.write_text("src/* told\n")
    with pytest.raises(SystemExit, match="expected GLOB RULE"):
        tool.load_allowed(path)


def test_counts_are_printed_by_rule_and_folder(
    tool: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    tool.print_counts(
        [tool.Finding("src/a.py", 1, "told", ""), tool.Finding("A.md", 1, "told", "")]
    )
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows == [["pages", "src", "total"], ["told", "1", "1", "2"], ["total", "1", "1", "2"]]
