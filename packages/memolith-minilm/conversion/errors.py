"""The exception of a failed build."""


class ConversionFailed(Exception):
    """The model cannot be built. The message contains the reason and what to do."""
