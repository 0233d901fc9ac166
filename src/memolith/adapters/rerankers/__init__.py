"""What scores texts for a query."""
