"""Encryption of stores and management of their keys."""
