"""Use cases. Each service does one task and reaches the outside only through ports."""
