"""What survives into the context: measure it, decide it, prove it."""

__version__ = "0.1.0"
