"""The tools over the Model Context Protocol, by the official SDK."""
