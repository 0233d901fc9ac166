"""Rendering policies: format memories as text for a prompt."""
