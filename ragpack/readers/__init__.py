"""Readers: what turns a context and a question into an answer. Name → the module and function that opens it."""

READERS = {
    "vllm": "ragpack.readers.vllm:open_reader",
    "openai": "ragpack.readers.openai:open_reader",
    "extractive": "ragpack.readers.extractive:open_reader",
}
