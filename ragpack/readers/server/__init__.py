"""Servers: what is sent, to which of them, and what their answers mean."""
