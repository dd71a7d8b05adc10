"""Sending a message. Knows nothing of memos."""
