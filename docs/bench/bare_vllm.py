"""Tokens per second of one engine over the contexts of a file: `ours` (the generate stage) or `bare` (LLM.generate).

Only the generation is timed: both load the same engine with the same settings first, and warm it with four prompts.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import orjson

from ragpack.flow.mapper import Mapper
from ragpack.flow.streams import lines
from ragpack.readers.base import Decoding, Request
from ragpack.readers.prompt import ANSWER
from ragpack.stages.generate import GenerateParams, open_generate


def main() -> None:
    mode, model, packs = sys.argv[1:]
    with open(packs, "rb") as file:
        rows = [orjson.loads(line) for line in file]
    chats = [ANSWER.messages(row["question"], row["pack"]["context"]) for row in rows]
    if mode == "ours":
        stage = open_generate(GenerateParams("vllm", model))
        mapper = Mapper(stage)
        for _ in mapper(line for line, _ in zip(lines([packs]), range(4), strict=False)):
            pass
        started = time.perf_counter()
        done = [orjson.loads(one.rows[0])["generate"]["tokens"]["completion"] for one in mapper(lines([packs]))]
        print(sum(done) / (time.perf_counter() - started))
        return
    from ragpack.readers.vllm import _Prompt, open_reader

    reader: Any = open_reader(model)
    list(reader.answer(iter([Request(at, chat) for at, chat in enumerate(chats[:4])])))  # loads and warms the engine
    llm, sampling = reader._llm, reader._sampling(_Prompt([]), Decoding())
    tokenizer = llm.get_tokenizer()
    started = time.perf_counter()
    prompts = [
        {"prompt_token_ids": tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)}
        for chat in chats
    ]
    found = llm.generate(prompts, sampling, use_tqdm=False)
    print(sum(len(one.outputs[0].token_ids) for one in found) / (time.perf_counter() - started))


if __name__ == "__main__":
    main()
