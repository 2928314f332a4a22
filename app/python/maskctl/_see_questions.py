"""Questions about what tokens see: pairs of sets, inputs and outputs, none of which may depend on each other."""

import dataclasses

import numpy as np


@dataclasses.dataclass
class Question:
    """rectangles: (inputs [B, T], outputs [B, S]) that must not touch. whole: whether each pair that the
    question is about is in one of them; else `asked` says which are."""

    name: str
    rectangles: list
    whole: bool = True
    asked: str = ""


@dataclasses.dataclass
class Verdict:
    """leaks: whether some pair touches. output, input: such a pair, each (entry, token); the input None where
    no single one is enough. sources: the inputs of the rectangle that shows it."""

    name: str
    leaks: bool
    whole: bool
    asked: str
    output: tuple = None
    input: tuple = None
    sources: np.ndarray = None
    targets: np.ndarray = None
    moved: np.ndarray = None  # [B, S]: the outputs of all rectangles that touch
    changes: int = 0  # rectangles that were asked
    amount: float = None  # the most by which an output moved


def of_documents(ids):
    """No document reaches another of its row. ids [B, T]; negative: padding."""
    documents = np.full(ids.shape, -1)
    for row, one in zip(documents, ids):
        _, number = np.unique(one[one >= 0], return_inverse=True)
        row[one >= 0] = number
    count = documents.max() + 1
    bits = max(1, int(count - 1).bit_length())
    if count <= 2 * bits:
        pairs = [(documents == d, (documents != d) & (documents >= 0)) for d in range(count)]
    else:
        sets = [(documents >= 0) & (documents >> bit & 1 == value) for bit in range(bits) for value in (0, 1)]
        pairs = [(sets[n], sets[n ^ 1]) for n in range(len(sets))]
    return Question("documents", pairs)


def of_the_future(shape, valid, least, apart=None):
    """No output moves with a later input. A cut at m asks about all pairs around it; all cuts are many, so a
    long row is asked at some of them (_cuts). apart [B, T]: documents that do not reach each other, each of which
    is cut in the same runs, so that half as many do."""
    tokens = shape[1]
    place, valid = np.broadcast_to(np.arange(tokens), shape), valid & np.ones(shape, bool)
    if apart is None:
        most = max(least, 2 * int(tokens - 1).bit_length() - 2)
        cuts = _cuts(tokens, most)
        pairs = [((place >= cut) & valid, (place < cut) & valid) for cut in cuts]
        asked, places = len(cuts), tokens - 1
    else:
        most = max(least, int(tokens - 1).bit_length())
        rows = [np.flatnonzero(row == document) + number * tokens for number, row in enumerate(apart)
                for document in np.unique(row[row >= 0])]  # the tokens of each document, in all entries
        of_each = [_cuts(len(row), most) for row in rows]
        pairs = []
        for number in range(max(map(len, of_each))):
            sources, targets = np.zeros(shape, bool), np.zeros(shape, bool)
            for row, cuts in zip(rows, of_each):
                if number < len(cuts):
                    sources.flat[row[cuts[number]:]] = True
                    targets.flat[row[:cuts[number]]] = True
            pairs.append((sources, targets))
        asked, places = sum(map(len, of_each)), sum(len(row) - 1 for row in rows)
    whole = asked == places
    return Question("future", _not_empty(pairs), whole, "" if whole else f"{asked} of {places} places")


def _cuts(tokens, most):
    """So many places in a row of tokens at most, spread by the golden ratio, which falls together with no size of
    blocks."""
    if tokens - 1 <= most:
        return list(range(1, tokens))
    cuts, number = {1, tokens - 1}, 0
    while len(cuts) < most:
        number += 1
        cuts.add(1 + int((number * 0.6180339887498949) % 1 * (tokens - 1)))
    return sorted(cuts)


def of_padding(valid):
    """No output of a token moves with padding."""
    return Question("padding", _not_empty([(~valid, valid)]))


def of_entries(shape):
    """No batch entry moves another."""
    entry = np.arange(shape[0])
    sets = []
    for bit in range(int(shape[0] - 1).bit_length()):
        sets += [entry >> bit & 1 == value for value in (0, 1)]
    wide = [(np.repeat(one[:, None], shape[1], 1), np.repeat(~one[:, None], shape[1], 1)) for one in sets]
    return Question("batch", wide)


def of_single_tokens(verdict, forbidden, by_outputs):
    """The question of a verdict with each token changed alone, in all entries. forbidden [B, S, T]: the pairs that it is
    about. by_outputs: with each output asked alone."""
    ones = np.eye(forbidden.shape[2], dtype=bool)[:, None] & np.ones((1, len(forbidden), 1), bool)  # [T, B, T]
    pairs = zip(forbidden.swapaxes(0, 1), ones) if by_outputs else zip(ones, np.moveaxis(forbidden, 2, 0))
    return Question(verdict.name, list(pairs))


def by_entry(question, shape):
    """The same, entry by entry, for models that mix them."""
    rows = np.eye(shape[0], dtype=bool)
    pairs = [(sources & row[:, None], targets & row[:, None]) for sources, targets in question.rectangles for row in rows]
    return dataclasses.replace(question, rectangles=_not_empty(pairs))


def by_document(verdict, ids):
    """The question that a verdict is about, where it leaks, document by document. ids [B, T]."""
    of_each = [ids == document for document in np.unique(ids[ids >= 0])]
    pairs = [(verdict.sources & one, verdict.targets & one) for one in of_each]
    return Question(verdict.name, _not_empty(pairs), verdict.whole, verdict.asked)


def _not_empty(pairs):
    """The pairs that have both an input and an output in some entry."""
    return [(sources, targets) for sources, targets in pairs if (sources.any(1) & targets.any(1)).any()]


def ask(probe, question, moved=None):
    """The verdict on one question. moved: what all outputs did where the inputs of its rectangles were changed, where
    these runs are done."""
    rectangles = question.rectangles
    if moved is None:
        touched = probe.touch(rectangles)
    else:
        touched = [np.where(sources if probe.way == "cotangents" else targets, one, 0) for (sources, targets), one in zip(rectangles, moved)]
    sizes = [one.max(initial=0.0) for one in touched]
    verdict = Verdict(question.name, max(sizes, default=0) > 0, question.whole, question.asked, changes=len(sizes))
    if verdict.leaks:
        # The rectangle of the fewest inputs leads to a pair that is near.
        first = min((one for one in range(len(sizes)) if sizes[one] > 0), key=lambda one: rectangles[one][0].sum())
        verdict.sources, verdict.targets = rectangles[first]
        verdict.output, verdict.input = probe.cell(verdict.sources, verdict.targets, touched[first])
        verdict.moved = np.any([one > 0 for one in touched], 0)
        verdict.amount = float(max(sizes))
    return verdict
