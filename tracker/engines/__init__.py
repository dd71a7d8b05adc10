"""Inference engines: flag vocabulary, live servers, logs."""
