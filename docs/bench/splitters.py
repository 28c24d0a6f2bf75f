"""Sentence splitters against the sentence boundaries of HotpotQA and a list of hard cases.

    pip install sentencex pysbd blingfire numpy syntok segtok sentence-splitter nupunkt
    python docs/bench/splitters.py hotpot_dev_distractor_sample.json hotpot_train_sample.json

The files are in HotpotQA's original layout. A library that is not installed is left out. Columns: precision, recall and
F1 of the places where a sentence begins (the first of a paragraph aside); hard cases split wrongly; seconds for 1 MB
of paragraphs, and for 50 kB without a stop (best of three); whether the library gives offsets (else its strings are
searched in the text); installed size without its dependencies. `-v` prints the wrong cases.

HotpotQA's boundaries were made by a tool too: a high F1 says that a splitter cuts as the data does.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

Span = tuple[int, int]
Splitter = Callable[[str], list[Span]]

# `|` stands where a new sentence begins.
HARD = [
    "Dr. Vale met Mr. King. |They left at 5 p.m. for St. Orrel.",
    "The U.S. Army came. |It left the U.S. |Nobody stayed.",
    "Birds, e.g. terns, i.e. small gulls, nest here. |Others do not.",
    "J. R. R. Vale wrote it. |No. 5 is his best.",
    "It is 3.5 km long and cost $4.50. |Version 2.0.1 is out.",
    "“It rains.” |She left. |“Come back!” he cried.",
    'He said "Stop. Now." and left. |Nobody moved.',
    "Wait... what? |Yes! |No?! |Well…",
    "He paused … and went on. |Then he sat.",
    "Vale Inc. and King Corp. merged in Jan. 1980. |Both closed.",
    "(It was late.) |He slept. |(So did she.)",
    "See www.orrel.org. |Write to ida@orrel.org now.",
    "空鈴琴は楽器である。|弦は七本。|「行く。」と言った。",
    "他来了！|你呢？|我不知道。",
    "Мост был построен в 1901 г. и закрыт. |Его нет.",
    "यह एक पुल है। |वह टूटा है।",
    "นกบินไปทางเหนือ ปลาว่ายน้ำ",
    "no stop and no capital",
    "One line\n\n|Another paragraph without a stop",
    "A tern 😀. |It flies 👩‍🚀 away.",
    "In 1901 the bridge closed.[1] |It opened again in 1902.[2]",
    "The chapter is on pp. 5–8, vol. 3. |Read it.",
    "She asked: where? |He knew.",
    "The band Yeah! played. |Crowds came.",
]
NO_STOP = "a word of a long text that nobody ends with a stop and so on, "


def searched(text: str, parts: Iterable[str]) -> list[Span]:
    """The places of strings that came without."""
    spans, at = [], 0
    for part in parts:
        part = part.strip()
        start = text.find(part, at)
        if part and start >= 0:
            at = start + len(part)
            spans.append((start, at))
    return spans


def sentencex() -> Splitter:
    from sentencex import get_sentence_boundaries

    return lambda text: [(one["start_index"], one["end_index"]) for one in get_sentence_boundaries("en", text)]


def pysbd() -> Splitter:
    from pysbd import Segmenter

    segmenter = Segmenter(language="en", clean=False, char_span=True)
    return lambda text: [(one.start, one.end) for one in segmenter.segment(text)]


def blingfire() -> Splitter:
    from blingfire import text_to_sentences_and_offsets

    return lambda text: list(text_to_sentences_and_offsets(text)[1])


def syntok() -> Splitter:
    from syntok.segmenter import process

    def split(text: str) -> list[Span]:
        found: list[list[Any]] = [tokens for paragraph in process(text) for tokens in paragraph if tokens]
        return [(tokens[0].offset, tokens[-1].offset + len(tokens[-1].value)) for tokens in found]

    return split


def segtok() -> Splitter:
    from segtok.segmenter import split_multi

    return lambda text: searched(text, split_multi(text))


def sentence_splitter() -> Splitter:
    from sentence_splitter import SentenceSplitter

    splitter = SentenceSplitter(language="en")
    return lambda text: searched(text, splitter.split(text))


def nupunkt() -> Splitter:
    from nupunkt import sent_spans

    return lambda text: list(sent_spans(text))


SPLITTERS: dict[str, tuple[Callable[[], Splitter], bool]] = {
    "sentencex": (sentencex, True),
    "blingfire": (blingfire, True),
    "nupunkt": (nupunkt, True),
    "pysbd": (pysbd, True),
    "segtok": (segtok, False),
    "sentence-splitter": (sentence_splitter, False),
    "syntok": (syntok, True),
}


def paragraphs(files: Iterable[str]) -> list[tuple[str, set[int]]]:
    """Each distinct paragraph, with the places where its sentences begin."""
    found: dict[str, set[int]] = {}
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for question in json.load(lines):
                for _, parts in question["context"]:
                    text, spans = "", []
                    for part in parts:
                        spans.append((len(text), len(text) + len(part)))
                        text += part
                    found[text] = beginnings(text, spans)
    return list(found.items())


def beginnings(text: str, spans: Iterable[Span]) -> set[int]:
    """Where sentences begin, blanks left out; the first is no choice of a splitter."""
    places = set()
    for start, end in spans:
        part = text[start:end]
        if part.strip():
            places.add(start + len(part) - len(part.lstrip()))
    return places - {len(text) - len(text.lstrip())}


def seconds(run: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
        if times[0] > 20:
            break
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-v", action="store_true")
    asked = parser.parse_args()
    gold = paragraphs(asked.files)
    size = sum(len(text.encode()) for text, _ in gold) / 1e6
    print(f"{len(gold)} paragraphs, {sum(len(places) for _, places in gold)} boundaries, {size:.2f} MB")
    print("| splitter | precision | recall | F1 | hard cases wrong | s/MB | 50 kB without a stop, ms "
          "| offsets | installed, MB |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (load, offsets) in SPLITTERS.items():
        try:
            split = load()
        except ImportError:
            print(f"| {name} | not installed |")
            continue
        found = [beginnings(text, split(text)) for text, _ in gold]
        right = sum(len(places & ours) for (_, places), ours in zip(gold, found, strict=True))
        precision, recall = right / sum(map(len, found)), right / sum(len(places) for _, places in gold)
        wrong = []
        for case in HARD:
            text = case.replace("|", "")
            spans = split(text)
            expected, at = set(), 0
            for part in case.split("|")[:-1]:
                at += len(part)
                expected.add(at)
            if beginnings(text, spans) != expected:
                wrong.append([text[start:end] for start, end in spans])
        all_of_it = seconds(lambda split=split: [split(text) for text, _ in gold]) / size
        endless = seconds(lambda split=split: split(NO_STOP * (50_000 // len(NO_STOP))))
        files = importlib.metadata.files(name) or []
        megabytes = sum(file.size or 0 for file in files) / 1e6
        f1 = 2 * precision * recall / (precision + recall)
        print(f"| {name} {importlib.metadata.version(name)} | {precision:.3f} | {recall:.3f} | {f1:.3f} | "
              f"{len(wrong)} of {len(HARD)} | {all_of_it:.2f} | {endless * 1000:.1f} | {'yes' if offsets else 'no'} | "
              f"{megabytes:.1f} |", flush=True)  # fmt: skip
        if asked.v:
            print(*wrong, sep="\n")


if __name__ == "__main__":
    main()
