"""Import and export of conversations and memories.

Each reader takes an open binary file and yields whole conversations, or parts of long ones. Message
ids are stable across reads, so a second import stores nothing new.
"""
