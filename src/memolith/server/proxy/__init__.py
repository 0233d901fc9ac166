"""A chat service that remembers: what is asked of it, whom it asks, and what it keeps of that."""
