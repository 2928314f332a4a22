"""What a leak may come from, by its shape: the amounts by which outputs move with single tokens.

The words say what has this shape; they are no proof of it.
"""

import dataclasses

import numpy as np


@dataclasses.dataclass
class Shape:
    kind: str  # "all", "document", "decay", "near", "shift", "column", "cell", "choice", "joined", "blocks", "padding", "entries", "unknown"
    words: str
    reach: int = None  # of "near": how many tokens; of "shift": the distance
    half_life: float = None  # of "decay": tokens


@dataclasses.dataclass
class Profile:
    """amounts [S, n]: how far each output moves with each of n single tokens of the same row. allowed [S, n]:
    pairs that may depend on each other."""

    amounts: np.ndarray
    tokens: np.ndarray  # [n]: where the n are
    forbidden: np.ndarray  # [S, n]: pairs of which the question is about
    ids: np.ndarray  # [S]: the document of each token
    floor: float = 0.0  # amounts up to it count as none
    convolves: bool = False  # a convolution is known to be there

    @property
    def same(self):
        """[S, n]: pairs of one document."""
        return self.ids[:, None] == self.ids[self.tokens]


def of_documents(profile):
    """The shape of a leak between documents."""
    leak, distance = _leaks(profile)
    if not leak.any():
        return _together("documents")
    later = profile.forbidden & (distance > 0)
    earlier = profile.forbidden & (distance < 0)
    reaching = leak.any(0)
    if earlier.any() and leak[earlier].mean() > 0.9 and (not later.any() or leak[later].mean() > 0.9):
        return Shape("all", "every token moves every output of other documents, earlier ones too: no mask, or a statistic "
                     "over the row, as batch norm")
    along = _along(profile, leak, distance)
    decay = _decay(leak & (distance > 0), profile.amounts, distance)
    if along and (along.kind == "shift" or leak[earlier].any()):
        return along
    if along:
        edge = profile.amounts[leak & (distance == along.reach)]
        if np.median(edge) > 64 * profile.floor:
            return along
        return decay or Shape("decay", f"the {along.reach} tokens before, until what they move no longer counts: a state that is not "
                              "reset and fades")
    able = later.any(0)
    places = profile.tokens[reaching]
    far = leak[:, reaching][later[:, reaching]].mean() > 0.6 if later[:, reaching].any() else False
    if far and len(places) < min(8, able.sum()) and _ends(profile.forbidden, places, profile.tokens):
        return Shape("near", f"the last {len(places)} tokens of a document reach all that follows: a convolution of width "
                     f"{len(places) + 1}, whose outputs a state or attention hands on", reach=len(places))
    if reaching.sum() <= max(1, 0.15 * able.sum()) and able.sum() >= 4:
        if leak.sum() == 1:
            return Shape("cell", "one pair: a cell that is open in a mask, or an index that is off")
        if far:  # not only over the border
            return Shape("column", f"token{'s' if len(places) > 1 else ''} {_few(places)} alone "
                         f"reach{'es' if len(places) == 1 else ''} other documents: a sink, or a token that all see")
    joined = _joined(profile, leak)
    if joined:
        return joined
    if _is_choice(profile.forbidden & (distance > 0), leak, profile):
        return Shape("choice", "single outputs move, far from one another: a choice that depends on other tokens, as the "
                     "capacity of experts")
    if decay:
        return decay
    if leak[later].mean() < 0.5:
        return Shape("unknown", f"{int(leak.sum())} of {int(profile.forbidden.sum())} pairs that were tried, in no pattern that is known: some cells of "
                     "a mask, or a choice")
    return Shape("document", "tokens of the whole document: the mask or the position_ids do not reach attention, or a "
                 "state that does not fade is not reset")


def of_the_future(profile):
    """The shape of a look into the future; distance < 0 there."""
    leak, distance = _leaks(profile)
    if not leak.any():
        return _together("the future")
    inside = bool((profile.forbidden & ~profile.same).any()) and not leak[~profile.same].any()
    if inside:  # of documents that do not reach each other
        profile = dataclasses.replace(profile, forbidden=profile.forbidden & profile.same)
        leak = leak & profile.same
    ahead = profile.forbidden & (distance < 0)
    if leak[ahead].mean() > 0.95:
        return Shape("all", "every later token of the document: no causal mask inside documents" if inside else
                     "every later token: no causal mask, or a statistic over the row, as batch norm")
    along = _along(profile, leak, distance)
    if along:
        return along
    outputs, inputs = leak.any(1).sum(), leak.any(0).sum()
    if leak.sum() == 1:
        return Shape("cell", "one pair: a cell that is open in a mask, or an index that is off")
    if inputs == 1:
        return Shape("column", "one token that earlier ones see: a sink in the wrong place, or a cell of a mask that later "
                     "layers spread")
    if leak.sum() == outputs * inputs and _is_run(leak.any(1)) and _is_run(leak[:, ahead.any(0)].any(0)):
        return Shape("cell", "pairs around one cell: a cell that is open in the mask of one layer, spread by the layers "
                     "around it")
    if _is_choice(ahead, leak, profile):
        return Shape("choice", "single outputs move, far from one another: a choice that depends on other tokens, as the "
                     "capacity of experts or top-k over the row")
    return Shape("blocks", "some of the later tokens: blocks that see each other as a whole, or a mask of another order")


def of_padding(_):
    return Shape("padding", "padding is read: the padding mask does not reach a layer, or a statistic counts it")


def of_entries(_):
    return Shape("entries", "batch entries share something: a statistic over the batch, as batch norm, the capacity of experts, "
                 "or a reshape that exchanges axes")


def _together(what):
    return Shape("unknown", f"no single token shows it, only several together; what they have in common, {what}, is not known")


def _leaks(profile):
    place = np.arange(profile.amounts.shape[0])[:, None]
    return (profile.amounts > 0) & profile.forbidden, place - profile.tokens[None]


def _ends(forbidden, places, tokens):
    """Whether these are the tokens before one border, after which outputs must not see them."""
    last = places[-1]
    after = np.flatnonzero(forbidden[:, tokens == last][last + 1:, 0])
    return len(places) > 1 and (np.diff(places) == 1).all() and len(after) > 0 and after[0] == 0


def _along(profile, leak, distance):
    """"near" where all pairs up to a distance leak and none beyond, "shift" where each output moves with the token at one
    distance and with its own alone, around the end of the row or not; None otherwise."""
    length = profile.amounts.shape[0]
    for side, words in ((1, "before"), (-1, "after")):
        around = (side * distance) % length
        reach = int(around[leak].max())
        moved = profile.amounts > 0
        wraps = side * distance < 0
        apart = (around == reach) & (reach > 0)
        if 0 < reach <= length // 2 and not (moved & ~apart & (distance != 0)).any() and moved[apart & ~wraps].all():
            over = bool(moved[apart & wraps].any())
            if over or (reach > 1 and not leak[wraps].any()):
                return Shape("shift", f"the token {reach} {words} alone{', around the end of the row' if over else ''}: a shift, as by "
                             f"{'torch.roll' if over else 'F.pad'}", reach=reach)
    later, earlier = (profile.forbidden & (side * distance > 0) for side in (1, -1))
    before, after = _near(later, leak, distance), _near(earlier, leak, -distance)
    if (leak & later).any() and not before or (leak & earlier).any() and not after:
        return None
    if before and after:
        return Shape("near", f"the {before} before and the {after} after: a convolution that is not causal", reach=max(before, after))
    shift = ", or a shift" if before == 1 or after == 1 else ""
    if after:
        return Shape("near", f"the next {after} token{'s' if after > 1 else ''}: a convolution that is not causal, or a mask that is off by "
                     f"{after}{shift}", reach=after)
    window = "" if profile.convolves else f", or a window of {before + 1} keys without documents"
    return Shape("near", f"the {before} token{'s' if before > 1 else ''} before: a convolution of width {before + 1}{window}{shift}", reach=before)


def _near(among, leak, distance):
    """The distance up to which all pairs leak, and beyond which none does; 0 without one."""
    found = distance[among & leak]
    if not found.size:
        return 0
    reach = int(found.max())
    within, beyond = among & (distance <= reach), among & (distance > reach)
    return reach if leak[within].mean() >= 0.95 and beyond.sum() >= 2 else 0


def _joined(profile, leak):
    """"joined" where the tokens of some documents reach all of some others, and nothing else leaks."""
    found = []
    of_outputs, of_inputs = np.unique(profile.ids[profile.ids >= 0]), np.unique(profile.ids[profile.tokens])
    for output in of_outputs:
        for source in of_inputs[of_inputs >= 0]:
            if output == source:
                continue
            pairs = leak[np.ix_(profile.ids == output, profile.ids[profile.tokens] == source)]
            if pairs.any() and not pairs.all():
                return None
            if pairs.any():
                found.append((int(source), int(output)))
    if not found or max(np.sum(profile.ids == one) for one in np.ravel(found)) < 3:
        return None
    able = sum(1 for output in of_outputs for source in of_inputs if output > source >= 0)
    if len(found) >= able:  # all of them
        return None
    some = ", ".join(f"document {source} reaches all of {output}" for source, output in found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    return Shape("joined", f"{some}: documents that the mask joins, or a number that two of them have")


def _is_choice(among, leak, profile):
    """Whether single outputs jump, others with other tokens, and most do not move."""
    if among.sum() < 12 or np.median(profile.amounts[leak]) < 30 * profile.floor:
        return False
    if leak[among].mean() >= 0.35:
        return False
    columns = [leak[:, one] & among[:, one] for one in np.flatnonzero((leak & among).any(0))]
    # The cells of a mask are runs of outputs, the same with many tokens, or lie along diagonals.
    outputs, tokens = np.nonzero(leak & among)
    strides = np.gcd.reduce(np.abs(outputs - profile.tokens[tokens]))
    same = max(sum((one == other).all() for other in columns) for one in columns) if columns else 0
    alone = [_longest_run(one) <= 2 and _has_gaps(one[among[:, at]], profile.tokens[at] - np.flatnonzero(among[:, at]))
             for one, at in zip(columns, np.flatnonzero((leak & among).any(0)))]
    return bool(columns) and strides <= 1 and np.mean(alone) >= 0.5 and (len(columns) == 1 or same < 0.8 * len(columns))


def _has_gaps(moved, distance):
    """Whether some output moves that is farther than one that does not."""
    nearest = moved[np.argsort(np.abs(distance), kind="stable")]
    return not nearest[:np.flatnonzero(nearest)[-1]].all()


def _longest_run(moved):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], moved.astype(int), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _is_run(moved):
    return _longest_run(moved) == moved.sum()


def _decay(pairs, amounts, distance):
    """"decay" where amounts fall exponentially with the distance."""
    far, rows = distance[pairs], np.nonzero(pairs)[0]
    if far.size < 6 or len(np.unique(far)) < 4:
        return None
    log = np.log2(amounts[pairs])
    # Outputs see more tokens the later they are, each the less, which is no decay: they are compared by themselves.
    times = np.maximum(np.bincount(rows), 1)
    log, far = (one - (np.bincount(rows, one) / times)[rows] for one in (log, far.astype(float)))
    slope = (log * far).sum() / max((far ** 2).sum(), 1e-12)
    fits = 1 - ((log - slope * far) ** 2).sum() / max((log ** 2).sum(), 1e-12)
    if slope >= 0 or fits < 0.5 or -slope * np.ptp(far) < 3:
        return None
    half = -1 / slope
    if half < 1:
        return Shape("decay", f"the tokens just before, the less the farther, by half each {half:.2g} tokens: a convolution, a state "
                     "that is not reset, or both", half_life=round(float(half), 3))
    return Shape("decay", f"all tokens before, the less the farther, by half each {half:.2g} tokens: a state that is not reset",
                 half_life=round(float(half), 3))


def _few(places):
    return ", ".join(map(str, places[:4])) + (f" and {len(places) - 4} more" if len(places) > 4 else "")


SHAPES = {"documents": of_documents, "future": of_the_future, "padding": of_padding, "batch": of_entries}
