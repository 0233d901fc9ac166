"""The doors: each turns a request into a call of the engine, and its answer into a reply."""
