"""Profiles: named sets of policies. One file a profile."""
