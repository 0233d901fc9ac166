"""Prompts for language models, and parsers of their replies. Pure functions, without I/O."""
