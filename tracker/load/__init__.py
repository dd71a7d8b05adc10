"""Load on a live server: prompts, requests sent side by side, and what came back, counted."""
