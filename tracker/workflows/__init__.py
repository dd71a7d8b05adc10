"""The order of the I/O, nothing else."""
