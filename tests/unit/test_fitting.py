"""Cutting a passage so that a prompt fits, with tokens that are words, and with tokens that merge across the cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.readers.engine.fitting import continued, fitted, token_ends
from ragpack.readers.prompts.chat import Chat


def words(text):
    return [hash(word) for word in text.split()]


def ends(text):
    found, at = [], 0
    for word in text.split():
        at = text.index(word, at) + len(word)
        found.append(at)
    return found


def build(passage):
    return words(f"front words {passage} behind")


@given(st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=30), st.integers(0, 40))
def test_as_much_as_there_is_room_for(parts, room):
    passage = " ".join(parts)
    found = fitted(build, passage, ends, room)
    if room < 3:
        assert found is None
        return
    kept = min(len(parts), room - 3)
    assert found.ids == build(" ".join(parts[:kept]))
    assert found.cut == (kept < len(parts))


def test_a_beginning_that_has_more_tokens_than_in_the_whole_is_shortened_again():
    def odd(passage):  # an odd number of words costs one more
        return words(f"{passage} end") + [0] * (len(passage.split()) % 2)

    found = fitted(odd, "a b c d e f", ends, 4)
    assert found.ids == odd("a b")
    assert found.cut


@pytest.fixture(scope="module")
def tokenizer():
    transformers = pytest.importorskip("transformers", reason="transformers comes with vLLM (just reader)")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    table = {"<s>": 0, "Who": 1, "?": 2, "Ġis": 3, "Ġit": 4, ":": 5, "Ġ": 6, "Q": 7}
    inner = Tokenizer(models.WordLevel(table, unk_token="Ġ"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>")


def test_exactly_one_bos_and_the_continuation_behind_it(tokenizer):
    assert Chat(tokenizer, {}).plain_ids("Q:") == [0, 7, 5]
    assert Chat(tokenizer, {}).plain_ids("<s>Q:") == [0, 7, 5]
    found = continued(Chat(tokenizer, {}), "Q:", " is it?")
    assert found.ids == [0, 7, 5, 3, 4, 2]
    assert found.ids[found.start :] == [3, 4, 2]
    # One in the text already: the second one goes, and what is counted from the end stays.
    twice = continued(Chat(tokenizer, {}), "<s>Q:", " is it?")
    assert twice.ids[twice.start :] == [3, 4, 2]


def test_a_token_across_the_end_of_the_prompt_is_the_continuations(tokenizer):
    # "Q: i" + "s it?": the token of " is" ends behind the prompt.
    found = continued(Chat(tokenizer, {}), "Q: i", "s it?")
    assert found.ids[found.start :] == [3, 4, 2]


def test_ends_of_tokens(tokenizer):
    assert token_ends(tokenizer, "Q: is it?") == [1, 2, 5, 8, 9]

    class Slow:
        is_fast = False

    assert token_ends(Slow(), "ab  cd\ne") == [2, 6, 8]
