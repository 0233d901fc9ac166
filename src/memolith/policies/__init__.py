"""Policies: the rules that profiles are composed of. They perform no I/O."""
