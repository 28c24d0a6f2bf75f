"""Small tokenizers of every family that readers have, trained in a moment on a few invented lines."""

from __future__ import annotations

import functools
import re
from collections import Counter as Tally
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import regex
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from ragpack.tokens import Counter, End
from ragpack.tokens.model import ModelCounter
from ragpack.tokens.regex import RegexCounter
from ragpack.tokens.tiktoken import counter_of

if TYPE_CHECKING:
    import tiktoken

LINES = [
    "Ostra Bridge: Ostra Bridge crosses the Lisk. It was built by Ida Vale in 1901.",
    "Tern: A tern is a bird; the tern (or 'sea-swallow') eats fish.\nLisk: the Lisk is 41.5 km long!\n\n",
    "空鈴琴は楽器である。\nЛиск: река.\nΖηφάλη — café, naïve; 50 % of “it”… 😀😀\r\n",
    "a.\nb,\nc:\nd)\ne\"\nf'\n the the the that this there 1 12 123 1234",
] * 6  # fmt: skip
GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
NAMES = (
    "regex",
    "byte-level",
    "gpt4-like",
    "wordpiece",
    "no-pieces",
    "metaspace",
    "newline-token",
    "grudging",
    "tiktoken",
)


@functools.cache
def counter(name: str) -> Counter:
    """A counter of the family of this name."""
    made: dict[str, Callable[[], Counter]] = {
        "regex": RegexCounter,
        "grudging": Grudging,
        "tiktoken": lambda: counter_of(encoding()),
    }
    return made[name]() if name in made else ModelCounter(name, tokenizer(name))


@functools.cache
def tokenizer(name: str) -> Tokenizer:
    """A tokenizer of the family of this name; not those that are none."""
    if name == "wordpiece":  # BERT: lower case, no blanks, unknown characters
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[UNK]"], show_progress=False)
    else:
        made = Tokenizer(models.BPE())
        special = []
        if name == "metaspace":  # Llama 2, T5: blanks become ▁, and one stands before the text
            made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=False))
            made.pre_tokenizer = pre_tokenizers.Metaspace()
            special = ["<unk>"]
        elif name == "no-pieces":  # merges run over everything, blanks and line ends included
            made.normalizer = normalizers.Replace("\r", "")
        elif name == "gpt4-like":  # a line end belongs to the marks before it
            made.pre_tokenizer = pre_tokenizers.Sequence(
                [pre_tokenizers.Split(Regex(GPT4), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
            )
        else:
            made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet() if name in ("byte-level", "gpt4-like", "newline-token") else []
        trainer = trainers.BpeTrainer(
            vocab_size=420, initial_alphabet=alphabet, special_tokens=special, show_progress=False
        )
    made.train_from_iterator(LINES, trainer)
    if name == "newline-token":  # an added token that may swallow what stands beside a line end
        made.add_tokens([".\n"])
    return made


@functools.cache
def encoding(merges: int = 120) -> tiktoken.Encoding:
    """A tiktoken encoding with the pattern of GPT-4: the 256 bytes, and so many merges of `LINES`."""
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)}
    pieces = [[bytes([byte]) for byte in piece.encode()] for piece in regex.findall(GPT4, "\n".join(LINES))]
    for _ in range(merges):
        tally = Tally(pair for piece in pieces for pair in pairwise(piece))
        best = max(tally, key=lambda pair: (tally[pair], pair))
        ranks[best[0] + best[1]] = len(ranks)
        pieces = [_merged(piece, best) for piece in pieces]
    return tiktoken.Encoding("tiny", pat_str=GPT4, mergeable_ranks=ranks, special_tokens={"<|end|>": len(ranks)})


def _merged(piece: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    found: list[bytes] = []
    for token in piece:
        # Subtle: what was just merged is no first half of the next merge, unless it is equal to it: as BPE does it.
        if found and (found[-1], token) == pair:
            found[-1] += token
        else:
            found.append(token)
    return found


class Grudging:
    """The worst case: a join has more tokens than its lines, two for each line end that something follows."""

    unit, fingerprint, lines_add_up, words_add_up, slack = "grudging", "grudging/1", False, False, 0

    def count(self, text: str) -> int:
        return len(self.ends(text))

    def lines(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text + "\n") for text in texts]

    def ends(self, text: str) -> list[End]:
        found = re.finditer(r"\w+|[^\w\s]|\n(?=[^\n])", text)
        return [End(match.end(), False) for match in found for _ in range(2 if match[0] == "\n" else 1)]
