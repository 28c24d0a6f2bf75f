"""Replies that were given before: in this run, and in a folder for all runs."""
