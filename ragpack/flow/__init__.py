"""The shell around the stages: bytes, order, cache, workers, signals. Nothing here knows what a stage computes."""
