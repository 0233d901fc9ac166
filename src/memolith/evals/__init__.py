"""Evaluation of retrieval: data sets, baselines, measures and reports."""
