"""Interfaces of the engine to the outside, as protocols; their docstrings are the contract."""
