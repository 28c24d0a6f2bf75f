"""The five stages: per-record functions and their parameters. What touches bytes is in `flow`."""
