"""The weights of the standard ranking, as fitted by `make bench-recall ARGS="--fit"`.

Do not edit. 2026-11-22, on locomo-dev.json and beam-dev.json.
"""

from __future__ import annotations

FITTED = {
    "similarity": 1.0,
    "text": 0.63,
    "session_similarity": 0.89,
    "session_text": 0.76,
    "answers_question": 0.27,
    "next_similarity": 0.24,
    "by_named_speaker": 0.34,
    "date_fits": 1.89,
    "time_asked": 0.62,
    "answer_kind": 0.45,
    "question": -0.59,
    "first_person": 0.29,
    "length": -0.23,
    "words_around": 0.5,
    "several_sessions": -0.52,
    "preference": 0.24,
}
