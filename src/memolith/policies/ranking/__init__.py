"""How results are ordered: what a query asks for, and what a candidate is worth to it."""
