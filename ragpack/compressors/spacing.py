"""Kept words as they stand in their document, and not as a tokenizer puts them together again.

A WordPiece tokenizer prints `U.S.` as `U . S .`, `1,500` as `1 , 500` and each CJK character as a word of its own. An
answer that was kept whole would then not be found in the context: that is the printing's doing, not the method's.
"""

from __future__ import annotations

from collections.abc import Sequence


def as_in_source(source: str, words: Sequence[str], kept: Sequence[bool]) -> str | None:
    """The kept words with a blank between two of them where the source has one, or where a word between them was
    left out. None if the words, in their order, are not in the source: the tokenizer has changed characters.

    >>> words = ["The", "U", ".", "S", ".", "Army", ",", "in", "東", "京"]
    >>> as_in_source("The U.S. Army, in 東京", words, [False] + [True] * 5 + [False, False, True, True])
    'U.S. Army 東京'
    >>> as_in_source("The U.S. Army", ["the", "u"], [True, True]) is None
    True
    """
    pieces: list[str] = []
    cursor = 0
    neighbours = False  # the word before this one was kept too
    for word, keep in zip(words, kept, strict=True):
        start = source.find(word, cursor)
        if start < 0 or not word:
            return None
        if keep:
            # What stands between two words is blank, or has no token: it is not printed either way.
            if pieces and not (neighbours and start == cursor):
                pieces.append(" ")
            pieces.append(word)
        neighbours = keep
        cursor = start + len(word)
    return "".join(pieces)


def between(ends: Sequence[int], kept: Sequence[bool], start: int, end: int) -> list[tuple[int, int]]:
    """The pieces [from, to) of a text that its kept tokens stand for, within [start, end).

    `ends` says where each token ends. A token stands for what lies between the end of the one before it and its own,
    so blanks belong to the token behind them, and a character of several tokens to the first of these.

    >>> between([3, 7, 9, 12], [True, False, True, True], 0, 11)
    [(0, 3), (7, 11)]
    """
    found: list[tuple[int, int]] = []
    before = 0
    for at, keep in zip(ends, kept, strict=True):
        piece = max(before, start), min(at, end)
        before = max(before, at)
        if not keep or piece[0] >= piece[1]:
            continue
        if found and found[-1][1] == piece[0]:
            found[-1] = found[-1][0], piece[1]
        else:
            found.append(piece)
    return found
