"""HTTP server: REST API, MCP endpoint, chat proxy and device API."""
