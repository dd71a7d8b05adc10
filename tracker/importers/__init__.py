"""Readers of other tools' files: one importer a file, found by discovery."""
