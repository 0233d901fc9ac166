"""Text analysis: pure functions whose result depends on the text alone."""
