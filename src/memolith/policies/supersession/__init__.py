"""Telling, with no model, whether a new sentence restates an old one, or says that it has changed.

Where in doubt, neither: both stay. Grammar is the only evidence; how near two texts are in
meaning is none, for "from Monday to Tuesday" and "from Tuesday to Monday" are very near.
"""
