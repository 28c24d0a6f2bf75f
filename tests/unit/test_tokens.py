"""Counting: lines add up to their join, and a cut fits, for every family of tokenizers."""

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from trained import NAMES, counter, encoding, tokenizer

from ragpack.errors import UsageError
from ragpack.readers.prompts.named import ANSWER
from ragpack.tokens import Cut, cut, open_counter
from ragpack.tokens.model import ModelCounter
from ragpack.tokens.regex import RegexCounter

PIECES = st.sampled_from(
    ["Ostra", "Bridge", "the", "tern", "a", "1901", "41.5", ".", ",", ":", ";", "!", "...", "(", ")", "'s", "“it”", "-",
     "—", "%", "空鈴琴", "楽器", "。", "Лиск", "Ζηφάλη", "café", "e\u0301", "\u200d", "😀", "👩‍🚀", "\u2028", "\u0085",
     "<unk>", "[UNK]", "▁", "\x1c", "\u00a0"]
)  # fmt: skip


@st.composite
def printed_lines(draw):
    """A line as `pack` prints it: pieces, one blank here and there, none at the ends, not empty."""
    gaps = st.sampled_from(["", " ", " "])
    text = "".join(piece + draw(gaps) for piece in draw(st.lists(PIECES, min_size=1, max_size=8)))
    return " ".join(text.split())


any_line = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(lambda text: " ".join(text.split()))
lines_of_a_context = st.lists((printed_lines() | any_line).filter(bool), min_size=1, max_size=5)
names = st.sampled_from(NAMES)


@given(names, lines_of_a_context)
def test_lines_add_up(name, lines):
    """The contract of `lines_add_up`: the count of a context is the sum over its lines, exactly."""
    counting = counter(name)
    assume(counting.lines_add_up)
    total = sum(counting.lines(lines[:-1])) + counting.count(lines[-1])
    assert total == counting.count("\n".join(lines))
    for line, inside in zip(lines, counting.lines(lines), strict=True):
        assert counting.count(line) <= inside - counting.slack


def places(name, text):
    """(start, end) of each token in code points, by the library itself."""
    if name != "tiktoken":
        return tokenizer(name).encode(text, add_special_tokens=False).offsets
    tokens = encoding().encode_ordinary(text)
    ends = list(itertools.accumulate(len(encoding().decode_single_token_bytes(token)) for token in tokens))
    data = text.encode()
    # A token that begins or ends inside a character has all of it.
    whole = [len(data[:at].decode(errors="ignore")) for at in [0, *ends]]
    return [(whole[at], whole[at + 1] + _inside(data, end)) for at, end in enumerate(ends)]


def _inside(data, at):
    return at < len(data) and data[at] & 0xC0 == 0x80


@given(names, printed_lines())
def test_words_add_up(name, line):
    """The contract of `words_add_up`: each word counts with the blank before it."""
    counting = counter(name)
    assume(counting.words_add_up)
    parts = [part if at == 0 else " " + part for at, part in enumerate(line.split(" "))]
    assert counting.count(line) == sum(map(counting.count, parts))


@given(names, lines_of_a_context)
def test_a_context_is_counted_as_it_stands_in_a_prompt(name, lines):
    """The tokens that touch it in the prompt, whatever the tokenizer makes of the borders."""
    assume(name not in ("regex", "grudging", "no-pieces"))  # without pieces a merge may reach beyond the frame
    context = "\n".join(lines)
    prompt = ANSWER.messages("who?", context)[-1]["content"]
    begin = prompt.index(context, len("Evidence:\n"))
    stop = begin + len(context)
    touching = [pair for pair in places(name, prompt) if pair[1] > begin and pair[0] < stop]
    assert counter(name).count(context) == len(touching)
    assert len(counter(name).ends(context)) == len(touching)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("regex", True),
        ("byte-level", True),
        ("wordpiece", True),
        ("no-pieces", False),
        ("metaspace", False),
        ("newline-token", False),
        ("grudging", False),
        ("gpt4-like", True),
        ("tiktoken", True),
    ],
)
def test_which_families_add_up(name, expected):
    """Where lines don't add up it must be known; where they do, the fast way should be taken."""
    assert counter(name).lines_add_up is expected


def test_line_ends_that_marks_swallow():
    """GPT-4 and its kin: `.\\n` is one piece. The trained merges prove that this case is real."""
    counting = counter("gpt4-like")
    assert counting.count("a.\nb,") < counting.count("a.") + counting.count("\n") + counting.count("b,")
    assert counting.lines(["a."]) == [counting.count("a.")]
    assert counting.slack == 0


@given(names, printed_lines() | any_line | st.lists(any_line, max_size=3).map("\n".join), st.integers(-1, 30))
def test_cut(name, text, limit):
    """A cut fits, is a beginning, and is the longest one among those that end where a token ends."""
    counting = counter(name)
    found = cut(counting, text, limit)
    assert found.tokens == counting.count(found.text) <= max(limit, 0)
    assert text.startswith(found.text)
    if counting.count(text) <= limit and limit > 0:
        assert found.text == text
        return
    assert found.text == found.text.rstrip()
    ends = {end.at for end in counting.ends(text)}
    assert not found.text or any(text[:at].rstrip() == found.text for at in ends)
    fitting = [text[:at].rstrip() for at in ends if counting.count(text[:at].rstrip()) <= limit]
    if name in ("regex", "byte-level", "gpt4-like", "wordpiece"):
        assert len(found.text) == max(map(len, fitting), default=0) or limit <= 0


def test_cut_by_hand():
    counting = RegexCounter()
    assert cut(counting, "Ida Vale's 3.5 km", 3) == Cut("Ida Vale'", 3)
    assert cut(counting, "Ida Vale", 2) == Cut("Ida Vale", 2)
    assert cut(counting, "Ida Vale", 0) == Cut("", 0)
    assert cut(counting, "", 5) == Cut("", 0)


def test_cut_keeps_characters_whole():
    """An emoji of several byte tokens is in or out."""
    counting = counter("byte-level")
    size = counting.count("👩‍🚀")
    assert size > 3
    for limit in range(size + 3):
        piece = cut(counting, "a 👩‍🚀 b", limit).text
        assert "a 👩‍🚀 b".startswith(piece)
        assert piece.encode().decode() == piece


@given(names, printed_lines())
def test_ends(name, text):
    counting = counter(name)
    ends = counting.ends(text)
    assert len(ends) == counting.count(text)
    places = [end.at for end in ends]
    assert places == sorted(places)
    for number, end in enumerate(ends, 1):
        if end.whole and (number == len(ends) or ends[number].at > end.at):
            assert counting.count(text[: end.at]) == number, text[: end.at]


def test_a_tokenizer_of_a_file(tmp_path):
    (tmp_path / "tern").mkdir()
    file = tmp_path / "tern" / "tokenizer.json"
    made = tokenizer("byte-level")
    made.save(str(file))
    by_folder, by_file = open_counter(str(file.parent)), open_counter(str(file))
    assert by_folder.unit == by_file.unit == f"tern@{by_file.fingerprint[:8]}"
    other = open_counter(_saved(tmp_path / "other.json", "wordpiece"))
    assert other.unit.startswith("other@")
    assert other.fingerprint != by_file.fingerprint
    assert isinstance(open_counter("regex"), RegexCounter)


def test_counts_leave_special_tokens_padding_and_truncation_out(tmp_path):
    from tokenizers import Tokenizer, processors

    made = Tokenizer.from_str(tokenizer("wordpiece").to_str())
    made.add_special_tokens(["[CLS]", "[SEP]"])
    made.post_processor = processors.BertProcessing(("[SEP]", 1), ("[CLS]", 2))
    made.enable_truncation(4)
    made.enable_padding(length=16)
    made.save(str(tmp_path / "t.json"))
    counting, bare = open_counter(str(tmp_path / "t.json")), ModelCounter("bare", tokenizer("wordpiece"))
    text = "Ostra Bridge crosses the Lisk. It was built by Ida Vale."
    assert counting.count(text) == bare.count(text) > 4
    assert counting.count("a") == bare.count("a")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("none.json", "no such file"), ("./none", "no such file"), ("folder", "has no tokenizer.json")],
)
def test_what_is_no_tokenizer(tmp_path, monkeypatch, name, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=expected):
        open_counter(name)


def test_a_file_that_is_no_tokenizer(tmp_path):
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(UsageError, match="not a tokenizer"):
        open_counter(str(tmp_path / "x.json"))


def _saved(path, name):
    tokenizer(name).save(str(path))
    return str(path)
