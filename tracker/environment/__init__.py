"""Facts about this machine and process."""
