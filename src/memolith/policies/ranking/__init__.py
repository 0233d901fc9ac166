"""Ranking policies: prepare a query, and score its candidates."""
