"""Secrets in a text: where they stand.

Own patterns: the decision against a library, with what was measured, is
`docs/decisions/0010-screening.md`.
"""

from memolith.text.secrets.finding import REDACTED, find_secrets

__all__ = ["REDACTED", "find_secrets"]
