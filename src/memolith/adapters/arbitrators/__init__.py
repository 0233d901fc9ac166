"""Arbitrators: who tells what becomes of a new memory that is near to a known one."""
