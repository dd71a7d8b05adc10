"""Decision options: one file each, found by discovery."""
