"""Known embedding models, and batches of texts for them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.embedding_models import KNOWN_MODELS, iter_batches, select_model
from support.rows import check_each

texts = st.lists(st.text(max_size=20), max_size=30)


@given(texts, st.integers(1, 8), st.integers(1, 40))
def test_batches_contain_all_texts_in_order_within_limits(
    given: list[str], most: int, chars: int
) -> None:
    found = list(iter_batches(given, most, chars))
    assert [text for batch in found for text in batch] == given
    for batch in found:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(map(len, batch)) <= chars


@given(texts, st.integers(1, 8), st.integers(1, 40))
def test_batches_are_as_large_as_limits_allow(given: list[str], most: int, chars: int) -> None:
    found = list(iter_batches(given, most, chars))
    for batch, after in pairwise(found):
        assert len(batch) == most or sum(map(len, batch)) + len(after[0]) > chars


@check_each(
    ("asked", "dimension", "name", "length"),
    [
        ("nomic-embed-text", 0, "nomic-embed-text", 768),
        ("nomic-embed-text", 768, "nomic-embed-text", 768),
        ("nomic-embed-text", 256, "nomic-embed-text@256", 256),
        ("nomic-embed-text:latest", 384, "nomic-embed-text@384", 384),
        ("nomic-embed-text:v1.5", 0, "nomic-embed-text:v1.5", 768),
        ("text-embedding-3-large", 1024, "text-embedding-3-large@1024", 1024),
        ("bge-m3", 1024, "bge-m3", 1024),
        ("of-my-own", 0, "of-my-own", None),
        ("of-my-own", 512, "of-my-own", 512),
    ],
)
def test_model_name_includes_reduced_dimension(
    asked: str, dimension: int, name: str, length: int | None
) -> None:
    model = select_model(asked, dimension)
    assert (model.name, model.dimension) == (name, length)


@check_each(
    ("asked", "dimension", "said"),
    [
        ("bge-m3", 384, "does not support truncated vectors"),
        ("all-minilm", 256, "does not support truncated vectors"),
        ("nomic-ai/nomic-embed-text-v1", 256, "does not support truncated vectors"),
        ("nomic-embed-text", 32, "64 to 768"),
        ("nomic-embed-text", 1024, "64 to 768"),
    ],
)
def test_unsupported_dimension_is_rejected(asked: str, dimension: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        select_model(asked, dimension)


@given(st.sampled_from(sorted(KNOWN_MODELS)), st.integers(0, 4096))
def test_different_dimensions_of_model_have_different_names(asked: str, dimension: int) -> None:
    whole = select_model(asked, 0)
    try:
        cut = select_model(asked, dimension)
    except ValueError:
        return
    assert (cut.name == whole.name) == (cut.dimension == whole.dimension)
    assert cut.dimension == (dimension or whole.dimension)


def test_queries_and_documents_get_prefixes_of_their_model() -> None:
    nomic = select_model("nomic-embed-text", 0)
    assert (nomic.prefix("query"), nomic.prefix("document")) == (
        "search_query: ",
        "search_document: ",
    )
    assert (
        select_model("mxbai-embed-large", 0).prefix("query").startswith("Represent this sentence")
    )
    for asked, role in [("mxbai-embed-large", "document"), ("bge-m3", "query"), ("mine", "query")]:
        assert not select_model(asked, 0).prefix(role)
