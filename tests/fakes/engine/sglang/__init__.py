"""A stand-in for the engine: `python -m sglang.launch_server` with this folder on PYTHONPATH starts the fake server."""
