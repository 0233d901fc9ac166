"""A store's URL is shown without its password, in any notation."""

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from memolith.config.loading import is_conninfo, mask_password
from support.rows import check_each

PASSWORDS = st.text(min_size=1, max_size=20).map(lambda text: f"\N{KEY}{text}\N{LOCK}")


@check_each(
    ("url", "shown"),
    [
        ("postgresql://me:pw@host/db", "postgresql://***@host/db"),
        ("postgresql://me@host:5432/db", "postgresql://me@host:5432/db"),
        ("postgres://me:p%40s%2Fs@[::1]:5433/db", "postgres://***@[::1]:5433/db"),
        ("postgresql://me:p/a:s@w?rd@host/db", "postgresql://***@host/db"),
        ("postgresql://me:12/34@host/db", "postgresql://***@host/db"),
        ("postgresql://host/db?user=me&password=pw&port=1", None),
        ("postgresql://host/db?pass%77ord=pw", "postgresql://host/db?pass%77ord=***"),
        ("postgresql://host/db?PASSWORD=p?w=x;#y z", "postgresql://host/db?PASSWORD=***"),
        ("postgresql://host/db?sslpassword=pw", "postgresql://host/db?sslpassword=***"),
        ("postgresql:///?service=memolith", "postgresql:///?service=memolith"),
        ("host=db password=pw dbname=x", "host=db password=*** dbname=x"),
        ("host=db password = 'p\\'w x' dbname=x", "host=db password = *** dbname=x"),
        ("password='never closed dbname=x", "password=***"),
        ("password=a\\ b dbname=x", "password=*** dbname=x"),
        ("password=***pw", "password=***"),
        ("/home/me/memory.db", "/home/me/memory.db"),
        (r"C:\memory.db", r"C:\memory.db"),
    ],
)
def test_password_is_masked_in_url(url: str, shown: str | None) -> None:
    found = mask_password(url)
    assert found == (shown or url.replace("=pw", "=***"))
    assert mask_password(found) == found


@given(PASSWORDS, st.sampled_from(["postgresql://me:{}@host/db", "postgresql:///db?password={}"]))
def test_encoded_password_is_completely_masked(password: str, url: str) -> None:
    assert mask_password(url.format(quote(password, safe=""))) == url.format("***").replace(
        "me:", ""
    )


@given(PASSWORDS)
def test_unencoded_password_is_masked(password: str) -> None:
    shown = mask_password(f"postgresql://me:{password}@host/db")
    assert "\N{KEY}" not in shown
    assert "\N{LOCK}" not in shown


@given(PASSWORDS)
def test_quoted_password_in_conninfo_is_masked(password: str) -> None:
    quoted = password.replace("\\", "\\\\").replace("'", "\\'")
    assert mask_password(f"host=db password='{quoted}' user=me") == ("host=db password=*** user=me")


def test_conninfo_is_distinguished_from_path() -> None:
    assert is_conninfo("host=db dbname=x")
    assert is_conninfo("  service = memolith")
    assert not is_conninfo("postgresql://host/db?host=x")
    assert not is_conninfo("data/host=x.db")
