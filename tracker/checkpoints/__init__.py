"""Checkpoints described from their files."""
