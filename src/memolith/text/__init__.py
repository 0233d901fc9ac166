"""What can be told of a text by itself: pure functions, the same answer for the same text."""
