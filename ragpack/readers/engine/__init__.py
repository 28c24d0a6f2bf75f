"""vLLM in this process: starting it, prompts that fit, what it tells."""
