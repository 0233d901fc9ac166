"""Secrets in a text: where they stand.

Own patterns: the decision against a library, with what was measured, is
`docs/decisions/0010-screening.md`.
"""

from memolith.text.secrets.finding import REDACTED, secret_spans

__all__ = ["REDACTED", "secret_spans"]
