"""Transparent chat proxy that injects recalled memories and learns from exchanges."""
