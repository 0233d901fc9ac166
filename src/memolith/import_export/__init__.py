"""Conversations and memories from other programs, and to them: files to values and back.

Each reader takes an open binary file and yields whole conversations (or stretches of long ones)
whose messages have ids that are the same at every reading, so that a second import adds nothing.
"""
