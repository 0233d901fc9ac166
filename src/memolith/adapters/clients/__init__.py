"""Clients of services, as chat models and embedders share them."""
