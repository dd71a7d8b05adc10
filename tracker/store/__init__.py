"""Where records live: spool first, then MLflow."""
