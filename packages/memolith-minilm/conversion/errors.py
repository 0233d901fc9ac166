"""The error that ends a build."""


class ConversionFailed(Exception):
    """The model can't be made; the message says why and what to do about it."""
