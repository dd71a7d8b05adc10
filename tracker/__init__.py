"""Experiment tracker and decision memos for speculative decoding."""
