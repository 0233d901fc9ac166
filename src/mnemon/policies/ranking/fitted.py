"""The weights of the standard ranking, as fitted by `make bench-recall ARGS="--fit"`.

Do not edit. 2026-11-22, on locomo-dev.json and beam-dev.json.
"""

FITTED = {
    "similarity": 1.0,
    "text": 0.63,
    "session_similarity": 0.89,
    "session_text": 0.76,
    "answers_question": 0.26,
    "next_similarity": 0.24,
    "by_person": 0.05,
    "by_named_speaker": 0.33,
    "date_fits": 1.87,
    "time_asked": 0.61,
    "answer_kind": 0.44,
    "question": -0.78,
    "first_person": 0.28,
    "length": -0.21,
    "words_around": 0.5,
    "several_sessions": -0.53,
    "several_questions": 0.48,
    "preference": 0.24,
}
