"""Detect, without a model, that a new sentence restates or supersedes an old one.

If in doubt, both stay. Grammar is the only evidence. Similarity is not: "from Monday to Tuesday"
and "from Tuesday to Monday" are very similar.
"""
