"""maskctl.see on functions of numpy whose matrix is known."""

import numpy as np
import pytest

import maskctl
from known_models import E, IDS, PACKED, T, TABLE, TOKENS, question, through
from maskctl import Error, Mask
from maskctl.testing import assert_sees


def test_a_model_that_keeps_documents_apart_passes():
    answer = maskctl.see(through(PACKED), TOKENS, segments=IDS)
    assert answer and answer.status == 0 and [one.name for one in answer.data.questions] == ["documents", "future", "batch"]
    assert all(one.whole and not one.leaks for one in answer.data.questions)
    assert answer.matrix() == Mask(np.broadcast_to(PACKED, (2, 1, T, T))) and answer.margin[0] < answer.floor < answer.margin[1]


@pytest.mark.parametrize("seed", range(20))
def test_the_matrix_is_that_of_plain_cells(seed):
    draw = np.random.default_rng(seed)
    cells = draw.random((T, T)) < draw.choice([0.02, 0.2, 0.7])
    if seed % 2:
        cells &= PACKED
    if seed % 3 == 0:  # separate rows share no pass
        cells = cells | np.eye(T, dtype=bool)
    answer = maskctl.see(through(cells), TOKENS, segments=IDS)
    assert answer.matrix() == Mask(np.broadcast_to(cells, (2, 1, T, T)), "dense") == answer.matrix(exact=True)
    different = cells & (IDS[:, None] != IDS)
    assert question(answer, "documents").leaks == different.any() and question(answer, "documents").moved == 2 * different.any(1).sum()
    assert question(answer, "future").moved == 2 * np.triu(cells, 1).any(1).sum()
    assert question(answer, "future").leaks == np.triu(cells, 1).any()
    assert bool(answer) == (not different.any() and not np.triu(cells, 1).any())
    for one in answer.data.questions:
        if one.leaks:
            assert one.input is None or cells[one.output[1], one.input[1]], "the pair that is named depends"
    some = answer.matrix(rows=range(3, 7))
    assert some == Mask(np.broadcast_to(np.where((np.arange(T) // 4 == 1)[:, None] | (np.arange(T) == 3)[:, None], cells, False)
                                        & (np.arange(T) < 7)[:, None], (2, 1, T, T)), "dense")


def test_fewer_passes_than_tokens_are_enough_for_packed_rows():
    ids = np.repeat(np.arange(32), 8)
    cells = (ids[:, None] == ids) & np.tri(256, dtype=bool)
    runs = []

    def model(x):
        runs.append(x.shape)
        if len(x) > 1:
            raise ValueError("one row only")
        return through(cells)(x)

    answer = maskctl.see(model, TOKENS.repeat(11, 1)[:1, :256], segments=ids)
    assert answer and answer.passes <= 4 + 32 + 16
    assert question(answer, "future").whole  # each document is cut in the same runs
    whole = maskctl.see(model, TOKENS.repeat(11, 1)[:1, :256])
    assert not question(whole, "future").whole and "asked at 14 of 255 places" in str(whole)
    before = len(runs)
    assert answer.matrix() == Mask(cells) and len(runs) - before < 80


def leaks_with(cells, **options):
    answer = maskctl.see(through(cells), TOKENS[:1], segments=IDS, **options)
    assert not answer and answer.status == 1
    return answer


def faded(half):
    place = np.arange(T)
    return np.tri(T) * 0.5 ** ((place[:, None] - place) / half)


SHAPES = {
    "document": np.tri(T, dtype=bool),
    "near": PACKED | (np.tri(T, dtype=bool) & ~np.tri(T, k=-4, dtype=bool)),
    "column": PACKED | (np.tri(T, dtype=bool) & (np.arange(T) == 2)),
    "cell": PACKED | ((np.arange(T) == 2) & (np.arange(T) == 20)[:, None]),
    "all": np.ones((T, T), bool),
    "decay": faded(1.5),
    "joined": PACKED | ((IDS == 0) & (IDS == 2)[:, None]),
    "unknown": PACKED | (np.tri(T, dtype=bool) & (np.arange(T) == 20)[:, None]),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_a_leak_between_documents_has_a_shape(kind):
    shape = question(leaks_with(SHAPES[kind]), "documents").shape
    assert shape.kind == kind
    assert shape.reach == (3 if kind == "near" else None)
    assert (abs(shape.half_life - 1.5) < 0.5) if kind == "decay" else shape.half_life is None


@pytest.mark.parametrize("kind", ["document", "near", "column", "decay"])
def test_a_leak_in_a_long_row_has_a_shape_from_some_of_its_tokens(kind):
    n, ids = 300, np.repeat([0, 1, 2], [90, 70, 140])
    place = np.arange(n)
    packed, causal = (ids[:, None] == ids) & np.tri(n, dtype=bool), np.tri(n, dtype=bool)
    cells = {"document": causal, "near": packed | (causal & (place[:, None] - place < 4)), "column": packed | (causal & (place == 0)),
             "decay": causal * 0.5 ** ((place[:, None] - place) / 4)}[kind]
    shape = question(maskctl.see(through(cells), TOKENS.repeat(13, 1)[:1, :n], segments=ids), "documents").shape
    assert shape.kind == kind and (kind != "near" or shape.reach == 3) and (kind != "decay" or abs(shape.half_life - 4) < 1)


@pytest.mark.parametrize("kind, cells", [
    ("all", np.ones((T, T), bool)), ("near", np.tri(T, k=1, dtype=bool)),
    ("cell", np.tri(T, dtype=bool) | ((np.arange(T) == 13) & (np.arange(T) == 5)[:, None])),
    ("blocks", np.tri(T, dtype=bool) | (np.arange(T) // 4 == np.arange(T)[:, None] // 4))])
def test_a_look_into_the_future_has_a_shape(kind, cells):
    answer = maskctl.see(through(cells), TOKENS[:1])
    assert question(answer, "future").shape.kind == kind and not answer
    assert maskctl.see(through(cells), TOKENS, causal=False)  # of which entries alone are asked about


@pytest.mark.parametrize("kind, cells, words", [
    ("all", IDS[:, None] == IDS, "every later token of the document: no causal mask inside documents"),
    ("near", (IDS[:, None] == IDS) & np.tri(T, k=2, dtype=bool), "the next 2 tokens: a convolution that is not causal, or a mask that is off by 2")])
def test_a_look_into_the_future_of_documents_has_a_shape(kind, cells, words):
    answer = maskctl.see(through(cells), TOKENS[:1], segments=IDS)
    assert (question(answer, "future").shape.kind, question(answer, "future").shape.words) == (kind, words)


def test_an_amount_near_the_floor_is_said():
    faint = np.where(PACKED, 1, 1e-6 * np.tri(T))
    answer = str(maskctl.see(through(faint), TOKENS[:1], segments=IDS))
    assert "counts as none: it may be rounding" in answer and "rounding" not in str(leaks_with(SHAPES["document"]))


def test_padding_and_entries_are_asked_about():
    valid = np.arange(T) < np.array([[20], [24]])
    cells = np.broadcast_to(np.tri(T, dtype=bool), (2, T, T)) & valid[:, None]
    assert maskctl.see(through(cells), TOKENS, valid=valid)
    reads = cells.copy()
    reads[0, 19, 22] = True
    answer = maskctl.see(through(reads), TOKENS, valid=valid, causal=False)
    assert question(answer, "padding").leaks and question(answer, "padding").input == [0, 22]
    mixes = lambda x: through(PACKED)(x) + np.sin(TABLE[x]).mean(0)
    answer = maskctl.see(mixes, TOKENS, segments=IDS)
    batch = question(answer, "batch")
    assert batch.leaks and batch.shape.kind == "entries" and batch.output[0] != batch.input[0]
    assert not question(answer, "documents").leaks and not question(answer, "future").leaks
    assert question(maskctl.see(mixes, TOKENS[:1]), "batch").leaks  # a copy beside it moves it


def test_an_entry_that_moves_another_is_no_look_into_the_future():
    was = TOKENS.copy()

    def model(x):  # entry 0 moves with token 20 of entry 1, unless its token 3 is another too
        out = through(PACKED)(x)
        for begin in range(0, len(x) - 1, 2):
            out[begin] += (x[begin + 1, 20] != was[1, 20]) and (x[begin + 1, 3] == was[1, 3])
        return out

    answer = maskctl.see(model, TOKENS, segments=IDS)
    assert not question(answer, "future").leaks and not question(answer, "documents").leaks
    batch = question(answer, "batch")
    assert batch.leaks and batch.output[0] == 0 and batch.input == [1, 20] and "moves with token 20 of entry 1" in str(answer)
    assert "no entry moved another in 2 changes" in str(maskctl.see(through(PACKED), TOKENS))


def test_a_document_that_moves_another_by_a_choice_is_no_look_into_the_future():
    was = TOKENS[0]

    def model(x):  # output 12 moves with token 6 of the document before, unless tokens 0 or 7 are others too
        if len(x) > 1:
            raise ValueError("one row only")
        out = through(PACKED)(x)
        out[:, 12] += ((x[:, 6] != was[6]) & (x[:, 0] == was[0]) & (x[:, 3] == was[3]))[:, None]
        return out

    answer = maskctl.see(model, TOKENS[:1], segments=IDS, everywhere=True)
    one = question(answer, "documents")
    assert one.leaks and one.output == [0, 12] and one.input == [0, 6] and not question(answer, "future").leaks


def test_several_tokens_of_another_document_are_no_look_into_the_future():
    was = TOKENS[0]

    def model(x):  # as above, of two tokens together
        if len(x) > 1:
            raise ValueError("one row only")
        out = through(PACKED)(x)
        out[:, 12] += ((x[:, 6] != was[6]) & (x[:, 8] != was[8]) & (x[:, 0] == was[0]))[:, None]
        return out

    answer = maskctl.see(model, TOKENS[:1], segments=IDS, everywhere=True)
    one = question(answer, "documents")
    assert one.leaks and one.output == [0, 12] and one.input is None and not question(answer, "future").leaks
    assert "output 12 moves with several tokens together" in str(answer)


def test_a_look_into_the_future_of_one_document_is_found_in_all():
    cells = PACKED | ((np.arange(T) == 14) & (np.arange(T) == 10)[:, None])
    one = question(maskctl.see(through(cells), TOKENS[:1], segments=IDS), "future")
    assert one.leaks and one.output == [0, 10] and one.input == [0, 14] and one.whole


def test_a_copy_that_moves_another_is_no_look_into_the_future():
    was = TOKENS[0]

    def model(x):  # as above, of the rows that run beside each other
        return through(PACKED)(x) + ((x[:, 20] != was[20]) & (x[:, 3] == was[3])).any()

    answer = maskctl.see(model, TOKENS[:1], segments=IDS)
    seen = np.zeros((T, T), bool)
    seen[:, 20] = seen[:, 3] = True
    for one in answer.data.questions:
        assert one.name == "batch" or not one.leaks or seen[one.output[1], one.input[1]], "the pair that is named depends"


def test_copies_that_mix_only_together_are_told():
    answer = maskctl.see(lambda x: through(PACKED)(x) + (x.mean() if len(x) > 7 else 0), TOKENS[:1], segments=IDS)
    one = question(answer, "batch")
    assert one.leaks and one.input[0] % 2 == 1 and one.output[0] % 2 == 0 and "of a copy beside it; in all" in str(answer)
    assert [other.leaks for other in answer.data.questions] == [False, False, True] and "nor with a token alone" in str(answer)


def test_outputs_are_compared_as_exactly_as_they_are():
    apart, leak = through(PACKED), through(np.tri(T, dtype=bool))
    for tiny in (1e-9, 1e-12):
        answer = maskctl.see(lambda x: apart(x).astype("f8") + tiny * leak(x), TOKENS, segments=IDS)
        assert question(answer, "documents").leaks and answer.data.dtype == "float64" and answer.floor < tiny
    assert maskctl.see(lambda x: apart(x).astype("f8"), TOKENS, segments=IDS)
    for dtype in ("c8", "c16"):
        answer = maskctl.see(lambda x: (apart(x) + 1j * leak(x)).astype(dtype), TOKENS, segments=IDS)
        assert question(answer, "documents").leaks
        assert maskctl.see(lambda x: (apart(x) + 1j * apart(x)).astype(dtype), TOKENS, segments=IDS)


def test_rounding_of_a_model_of_less_bits_is_no_leak():
    def model(x):  # rounds otherwise with each number of rows, as products of float32 may
        return through(PACKED)(x).astype("f8") * (1 + 1e-8 * len(x))

    answer = maskctl.see(model, TOKENS, segments=IDS)
    assert answer and answer.data.dtype == "float64" and answer.floor > 1e-7


def test_ids_are_never_above_those_of_the_batch():
    def model(x):
        assert x.max() <= 9
        return through(np.tri(T, dtype=bool))(x)

    assert maskctl.see(model, np.full((1, T), 9))


def test_what_was_not_asked_about_is_said():
    answer = maskctl.see(through(PACKED), TOKENS, segments=IDS * 0)
    assert answer and "note: one document in each row: documents were not asked about" in str(answer)
    spoils = lambda x: np.where((np.arange(T) == 4)[:, None], np.nan, through(PACKED)(x))
    assert "note: 1 output is not finite" in str(maskctl.see(spoils, TOKENS[:1]))


def test_noise_raises_the_floor_and_is_said():
    draw = np.random.default_rng(3)
    noisy = lambda x: through(PACKED)(x) + draw.standard_normal((*x.shape, E)).astype("f4") * 1e-4
    answer = maskctl.see(noisy, TOKENS, segments=IDS)
    assert answer and "two equal runs differ" in str(answer) and answer.floor >= answer.data.noise > 0
    assert not maskctl.see(lambda x: noisy(x) + through(np.tri(T))(x), TOKENS, segments=IDS)


def test_what_cannot_be_told_is_not_known():
    draw = np.random.default_rng(5)
    with pytest.raises(Error, match="two equal runs differ by .*; make the model deterministic"):
        maskctl.see(lambda x: draw.standard_normal((*x.shape, E)), TOKENS)
    spoils = lambda x: np.where((np.arange(T) == 4)[:, None], np.nan, through(PACKED)(x))
    answer = maskctl.see(spoils, TOKENS, segments=IDS)
    assert answer.status == 2 and not answer and "2 outputs are not finite" in str(answer)
    answer = maskctl.see(through(PACKED), np.full((1, T), 9), causal=False)
    assert answer.status == 2 and "nothing was asked: give segments or valid or causal=True" in str(answer)
    answer = maskctl.see(through(PACKED), np.full((1, T), 9), causal=False, segments=IDS * 0, valid=IDS >= 0)
    assert answer.status == 2 and "nothing was asked: give causal=True" in str(answer)
    answer = maskctl.see(lambda x: TABLE[x], np.array([[9]]), segments=[[0]])
    assert answer.status == 2 and "nothing was asked: one token has no other that could reach it" in str(answer)


def test_numbers_and_single_rows_are_taken():
    numbers = np.random.default_rng(4).standard_normal((T, E)).astype("f4")
    answer = maskctl.see(lambda x: through(PACKED)(x[None])[0], numbers, segments=IDS)
    assert answer and answer.matrix() == Mask(PACKED)
    assert maskctl.see(lambda x: through(PACKED)(x[None])[0], TOKENS[0], segments=IDS)


def test_assert_sees_names_each_question_that_leaks():
    assert_sees(through(PACKED), TOKENS[:1], "doc:ids | causal", ids=IDS)
    assert_sees(through(PACKED | PACKED.T), TOKENS[:1], "doc:ids", ids=IDS)
    with pytest.raises(AssertionError, match="sees other tokens(.|\n)*documents  LEAK(.|\n)*future     no output moved"):
        assert_sees(through(np.tri(T, dtype=bool)), TOKENS[:1], "doc:ids | causal", ids=IDS)
    with pytest.raises(AssertionError, match="document 2 sees document 1"):
        assert_sees(through(np.tri(T, dtype=bool)), TOKENS[:1], "doc:ids | causal", ids=IDS)
    with pytest.raises(AssertionError, match="documents  LEAK(.|\n)*future     LEAK"):
        assert_sees(through(np.ones((T, T), bool)), TOKENS[:1], Mask(PACKED[None, None], "dense"))


def test_a_choice_shows_with_one_token_changed_alone():
    was, ids, n = TOKENS[0].repeat(11)[:256], np.repeat([0, 1], 128), 256
    cells = (ids[:, None] == ids) & np.tri(n, dtype=bool)

    def model(x):  # output 3 moves with token 100, unless another token is another too
        if len(x) > 1:
            raise ValueError("one row only")
        out = through(cells)(x)
        out[:, 3] += (x[0, 100] != was[100]) and ((x[0] != was).sum() == 1)
        return out

    answer = maskctl.see(model, was[None], segments=ids)
    assert answer and "asked at" in str(answer) and "in 2 changes of whole documents\n" in str(answer)
    assert "one token changed alone only: everywhere=True tries that, in some 512 runs" in answer.notes[-1]
    answer = maskctl.see(model, was[None], segments=ids, everywhere=True)
    one = question(answer, "future")
    assert one.leaks and one.output == [0, 3] and one.input == [0, 100] and one.moved == 1
    assert question(answer, "documents").whole and "in 2 changes of whole documents, nor with a token alone" in str(answer)
    answer = maskctl.see(through(cells), was[None], segments=ids, everywhere=True)
    assert answer and "no output moved with a later token, nor with all from a place on" in str(answer) and not answer.notes


def test_the_side_of_padding_is_said():
    for first, last, words in ((3, T, "on the left"), (0, T - 2, "on the right"), (2, T - 2, "on the left and on the right")):
        valid = (np.arange(T) >= first) & (np.arange(T) < last)
        assert f"padding    {words}: no output moved with all of it" in str(maskctl.see(through(PACKED & valid), TOKENS[:1], valid=valid))
    valid = np.arange(T) != 7
    assert "padding    between tokens:" in str(maskctl.see(through(PACKED & valid), TOKENS[:1], valid=valid))


@pytest.mark.parametrize("call, words", [
    (lambda: maskctl.see(3, TOKENS), "the model is of type int; expected a function"),
    (lambda: maskctl.see(through(PACKED), TOKENS[0, 0]), "expected ids"),
    (lambda: maskctl.see(through(PACKED), TOKENS, way="guess"), "way='guess': expected one of"),
    (lambda: maskctl.see(through(PACKED), TOKENS, way="tangents"), "this model takes differences"),
    (lambda: maskctl.see(through(PACKED), TOKENS, segments=IDS[:5]), r"segments of shape \(5,\)"),
    (lambda: maskctl.see(lambda x: "text", TOKENS), "the model returns str"),
    (lambda: maskctl.see(lambda x: np.zeros(3), TOKENS), r"an output of shape \(3,\)"),
    (lambda: maskctl.see(lambda x: TABLE[x][:, ::2], TOKENS), "expected one for each token, .*, not 12 for 24 tokens"),
    (lambda: maskctl.see(lambda x: TABLE[x].astype("U9"), TOKENS), "outputs of <U9; expected numbers"),
    (lambda: maskctl.see(lambda x: np.zeros(x.shape, "f4,f4"), TOKENS), "outputs of .*; expected numbers"),
    (lambda: maskctl.see(through(PACKED), TOKENS.astype("U3")), "a batch of <U3; expected ids or numbers"),
    (lambda: maskctl.see(through(PACKED), TOKENS, segments=[[0], [0, 1]]), "segments"),
    (lambda: maskctl.see(through(PACKED), TOKENS, segments=IDS * 0 - 1), "segments are below 0 everywhere"),
    (lambda: maskctl.see(through(PACKED), TOKENS, valid=IDS * 0), "valid is 0 everywhere"),
    (lambda: maskctl.see(through(PACKED), TOKENS, valid=IDS), "valid holds 2; expected 1"),
    (lambda: maskctl.see(through(PACKED), TOKENS, valid=IDS + np.nan), "valid holds nan; expected 1"),
    (lambda: maskctl.see(through(PACKED), TOKENS, segments=IDS + 0.5), "segments of float64; expected integers"),
    (lambda: maskctl.see(through(PACKED), TOKENS, segments=IDS + np.nan), "segments of float64; expected integers"),
    (lambda: maskctl.see(through(PACKED), TOKENS, segments=IDS.astype("U1")), "segments of <U1; expected integers"),
    (lambda: maskctl.see(through(PACKED), TOKENS, segments=IDS.astype(object)), "segments of object; expected integers"),
    (lambda: maskctl.see(through(PACKED), TOKENS * 0), "each token is 0; expected two ids at least"),
    (lambda: maskctl.see(through(PACKED), TOKENS).matrix(rows=[T]), r"rows=\[24\]; expected numbers from 0 to 23"),
    (lambda: maskctl.see(through(PACKED), {"input_ids": TOKENS}), "no tensor of torch in the dict; make its arrays tensors"),
])
def test_bad_input_is_one_line(call, words):
    with pytest.raises(Error, match=words) as found:
        call()
    assert "\n" not in str(found.value)
