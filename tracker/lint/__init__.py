"""Checks on flags, checkpoints and results: one rule a file, found by discovery."""
