"""What is done, told to who collects traces."""
