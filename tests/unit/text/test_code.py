"""Code in a text, by example."""

from memolith.text.segmentation import code_blocks, mask_code
from support.rows import check_each


@check_each(
    ("text", "blocks"),
    [
        ("no code", []),
        ("a\n```\nb\n```\nc", ["```\nb\n```"]),
        ("```py\na\n```\n~~~\nb\n~~~", ["```py\na\n```", "~~~\nb\n~~~"]),
        ("````\n```\na\n```\n````", ["````\n```\na\n```\n````"]),
        ("```\n~~~\n```", ["```\n~~~\n```"]),
        ("```\na\n``` no end\nb", ["```\na\n``` no end\nb"]),
        ("``` inline ``` words\na", []),
        ("    ```\nindented", []),
        ("a\n```\nnever closed", ["```\nnever closed"]),
    ],
)
def test_fenced_blocks_are_found(text: str, blocks: list[str]) -> None:
    assert [block.extract(text) for block in code_blocks(text)] == blocks


@check_each(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("use `x` here", "use     here"),
        ("a\n```\nb c\n```\nd `e`", "a\n   \n   \n   \nd    "),
        ("one ` alone", "one ` alone"),
    ],
)
def test_code_is_replaced_by_blanks(text: str, expected: str) -> None:
    assert mask_code(text) == expected
