"""Secrets that are known by their shape: data.

Prefixes and alphabets are those that the issuers document, most of them gathered too by the
scanners for repositories (gitleaks, detect-secrets). Lengths are lower bounds, often below the
issuer's: a token that was cut is still most of a token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN_START = r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=%3[Dd])|(?<=%20))"
"""Where a token may begin: not within a word, but after an escaped newline, as in JSON."""


@dataclass(frozen=True, slots=True)
class SecretShape:
    """One kind of secret.

    Attributes:
        trigger: What every one of them holds, lower-case: without it, nothing is searched.
        pattern: The secret, as a regular expression; its group "secret" where it has one, else
            all that matches.
        accept: Whether what matches is one after all; None: always.
    """

    trigger: str
    pattern: str
    accept: Callable[[str], bool] | None = None

    @property
    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first looked for: most never are."""
        return _compile_shape(self.pattern)


@cache
def _compile_shape(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def is_random(text: str) -> bool:
    """Tell whether a token looks drawn, not written: digits among its letters, no words.

    A capital or a run of 16 characters without a hyphen sets it apart from a name with a number.
    """
    return (
        any(c.isdigit() for c in text)
        and any(c.isalpha() for c in text)
        and (any(c.isupper() for c in text) or any(len(run) >= 16 for run in text.split("-")))  # noqa: PLR2004 - told above
    )


def has_digit(text: str) -> bool:
    """Tell whether a token has a digit; one in a manual ("xoxb-your-token") has none."""
    return any(c.isdigit() for c in text)


def _build_shape(
    trigger: str, pattern: str, accept: Callable[[str], bool] | None = None
) -> SecretShape:
    return SecretShape(trigger, _TOKEN_START + pattern, accept)


SECRET_SHAPES = (
    # Clouds
    _build_shape("akia", r"AKIA[A-Z0-9]{16,}+"),
    _build_shape("asia", r"ASIA[A-Z0-9]{16,}+", is_random),
    _build_shape("aiza", r"AIza[\w-]{35,}+"),
    _build_shape("ya29.", r"ya29\.[\w.-]{20,}+"),
    _build_shape("gocspx-", r"GOCSPX-[\w-]{20,}+"),
    _build_shape("accountkey=", r"AccountKey=(?P<secret>[\w+/]{40,}+={0,2})"),
    _build_shape("sig=", r"sig=(?P<secret>[\w%+/-]{30,}+={0,2})"),
    _build_shape("ltai", r"LTAI[A-Za-z0-9]{16,}+", is_random),
    _build_shape("do", r"do[opr]_v1_[0-9a-f]{40,}+"),
    _build_shape("hrku-", r"HRKU-[\w-]{30,}+"),
    _build_shape("dapi", r"dapi[0-9a-f]{32}+(?:-\d)?"),
    _build_shape("hvs.", r"hv[sbr]\.[\w-]{20,}+"),
    _build_shape("atlasv1", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{50,}+"),
    _build_shape("pul-", r"pul-[0-9a-f]{40}+"),
    _build_shape("tskey-", r"tskey-[a-z]{2,12}-[\w-]{15,}+"),
    _build_shape("pscale_", r"pscale_(?:pw|tkn|oauth)_[\w.-]{30,}+"),
    _build_shape("sbp_", r"sbp_[0-9a-f]{40}+"),
    # Code hosts, packages, builds
    _build_shape("gh", r"gh[pousr]_[A-Za-z0-9]{20,}+"),
    _build_shape("github_pat_", r"github_pat_\w{22,}+"),
    _build_shape("gl", r"gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-[\w.-]{18,}+"),
    _build_shape("gr1348941", r"GR1348941[\w-]{20,}+"),
    _build_shape("npm_", r"npm_[A-Za-z0-9]{30,}+"),
    _build_shape("pypi-", r"pypi-Ag[\w-]{40,}+"),
    _build_shape("rubygems_", r"rubygems_[0-9a-f]{40,}+"),
    _build_shape("dckr_", r"dckr_[po]at_[\w-]{20,}+"),
    _build_shape("ccipat_", r"CCIPAT_[A-Za-z0-9]{20,}+_[0-9a-f]{30,}+"),
    _build_shape("atatt3", r"ATATT3[\w=-]{40,}+"),
    _build_shape("atctt3", r"ATCTT3[\w=-]{40,}+"),
    _build_shape("sntry", r"sntry[su]_[\w=+/]{40,}+"),
    _build_shape("nrak-", r"NRAK-[A-Z0-9]{27}+"),
    _build_shape("gl", r"gl(?:sa|c)_[\w+/=]{30,}+"),
    _build_shape("pmak-", r"PMAK-[0-9a-f]{24}+-[0-9a-f]{30,}+"),
    _build_shape("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.]{30,}+"),
    _build_shape("ops_eyj", r"ops_eyJ[\w+/]{60,}+={0,2}"),
    # Chat and mail
    _build_shape("xox", r"xox[abeoprs](?:\.xox[a-z])?-[\w-]{10,}+", has_digit),
    _build_shape("xapp-", r"xapp-\d-[\w-]{20,}+"),
    SecretShape(
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/]{20,}+)",
    ),
    SecretShape(
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{10,24}/[\w-]{30,}+)",
    ),
    SecretShape(
        ".",
        r"(?<![\w-])[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}+",
        is_random,
    ),
    _build_shape(":aa", r"\d{8,10}:AA[\w-]{30,}+"),
    _build_shape("sg.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}+"),
    _build_shape("sk", r"SK[0-9a-f]{32}(?!\w)"),
    _build_shape("ac", r"AC[0-9a-f]{32}(?!\w)"),
    _build_shape("-us", r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    _build_shape("key-", r"key-[0-9a-f]{32}(?!\w)"),
    _build_shape("xkeysib-", r"xkeysib-[0-9a-f]{40,}+-\w{10,}+"),
    # Payments and shops
    _build_shape("_live_", r"[srw]k_live_[A-Za-z0-9]{10,}+"),
    _build_shape("_test_", r"[srw]k_test_[A-Za-z0-9]{10,}+"),
    _build_shape("whsec_", r"whsec_[\w+/]{20,}+={0,2}"),
    _build_shape("sq0", r"sq0[a-z]{3}-[\w-]{22,}+"),
    _build_shape("shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}+"),
    # Models
    _build_shape("sk-ant-", r"sk-ant-[\w-]{16,}+"),
    _build_shape("sk-", r"sk-[\w-]{20,}+", is_random),
    _build_shape("hf_", r"hf_[A-Za-z0-9]{30,}+"),
    _build_shape("gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
    _build_shape("xai-", r"xai-[A-Za-z0-9]{40,}+"),
    _build_shape("pplx-", r"pplx-[A-Za-z0-9]{40,}+"),
    _build_shape("r8_", r"r8_[A-Za-z0-9]{35,}+"),
    # Offices
    _build_shape("lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}+"),
    _build_shape("ntn_", r"ntn_[A-Za-z0-9]{40,}+"),
    _build_shape("secret_", r"secret_[A-Za-z0-9]{40,}+"),
    _build_shape("figd_", r"figd_[\w-]{30,}+"),
    _build_shape("pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{60,}+"),
    # Standards
    _build_shape("eyj", r"eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+){0,3}+"),
    _build_shape("age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+"),
)
"""In the order of nothing: where two match, the spans are joined."""

AWS_SECRET = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/]{40}(?![\w+/=-])")
"""The other half of an AWS key: 40 characters without a mark of their own, so that they count
only in a text that has the first half too."""
