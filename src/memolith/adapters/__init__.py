"""Adapters: implementations of the ports for databases, models and the operating system."""
