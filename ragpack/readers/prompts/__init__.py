"""Prompts: ours, the user's, those that probe; and how a chat becomes token ids."""
