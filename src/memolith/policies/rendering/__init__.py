"""Memories as text for a prompt: one form a profile."""
