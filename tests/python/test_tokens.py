"""Checks tokens= of show() and plot(): strings, and tokenizers of several libraries with ids."""

import numpy as np
import pytest

import maskctl
from maskctl import Mask

WORDS = ["The", "cat", "sat", "on"]


class Of:
    """A tokenizer that names ids by one method."""

    def __init__(self, method, name):
        setattr(self, method, name)


TOKENIZERS = [Of("convert_ids_to_tokens", lambda ids: [WORDS[i] for i in ids]), Of("id_to_token", lambda i: WORDS[i]),
              Of("id_to_piece", lambda i: WORDS[i]), Of("decode", lambda ids: "".join(WORDS[i] for i in ids))]


def drawn(mask, tokens, **options):
    """The labels of the rows of a drawing."""
    rows = str(mask.show(tokens=tokens, ascii=True, **options)).split("\n")
    return [row.split("|")[0].split()[-1] for row in rows if row.rstrip().endswith("|")]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("ids", [[1, 0, 3], np.array([1, 0, 3]), np.array([[1, 0, 3]], "i4")])
def test_a_tokenizer_names_ids(tokenizer, ids):
    assert drawn(Mask.parse("causal", 3), (tokenizer, ids)) == ["cat", "The", "on"]


def test_a_list_of_strings_is_tokens_and_one_string_names_a_file(tmp_path):
    mask = Mask.parse("causal", 4)
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    assert drawn(mask, WORDS) == drawn(mask, tuple(WORDS)) == drawn(mask, str(tmp_path / "words.txt")) == WORDS


def test_token_ids_are_those_of_the_batch_that_is_drawn():
    mask, given = Mask.parse("causal", (2, 1, 2, 2)), (TOKENIZERS[0], [[0, 1], [2, 3]])
    assert drawn(mask, given) == ["The", "cat"] and drawn(mask, given, batch=1) == ["sat", "on"]
    with pytest.raises(maskctl.Error, match="ids of 2 batches; draw one batch"):
        mask.show(tokens=given, batch="all")


def test_queries_and_keys_have_tokens_of_their_own():
    mask = Mask(np.ones((2, 3), bool), "dense")
    said = str(mask.show(tokens={"q": ["x", "y"], "kv": (TOKENIZERS[1], [0, 1, 3])}, ascii=True))
    assert drawn(mask, {"q": ["x", "y"], "kv": WORDS[:3]}) == ["x", "y"] and "T" in said and "n" in said


def test_hostile_tokens_stay_on_their_line():
    assert drawn(Mask.parse("causal", 3), ["a\nb", "\r", "\x1b[2J\ud800"]) == ["a\\nb", "\\r", "\\x1b[2J?"]


@pytest.mark.parametrize("tokens, said", [
    (["a"], "1 token, but the mask has 3 queries"), ((object(), [0, 1, 2]), "a object does not name ids"),
    ((TOKENIZERS[0], [[[0]]]), "expected ids"), ((TOKENIZERS[0], [0.5, 1, 2]), "expected ids"),
    ([1, 2, 3], "expected strings"), ({"q": ["a"]}, "expected 'q' and 'kv'"),
    ((Of("id_to_token", lambda i: None), [7, 8, 9]), "no token of id 7"), (3, "expected strings")])
def test_invalid_tokens_are_refused(tokens, said):
    with pytest.raises(maskctl.Error, match=said):
        Mask.parse("causal", 3).show(tokens=tokens)
