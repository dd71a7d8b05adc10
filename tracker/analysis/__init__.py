"""Pure numbers: same input, same output; time and randomness are arguments."""
