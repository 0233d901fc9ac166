"""Use cases: each takes what it needs by ports and policies, and does one thing."""
