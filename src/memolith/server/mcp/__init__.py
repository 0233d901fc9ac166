"""Model Context Protocol server, based on the official SDK."""
