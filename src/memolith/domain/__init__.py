"""The words of memory as frozen values. Standard library only."""
