"""What a model's tokens see: which outputs change when an input token changes."""

import dataclasses
import sys

import numpy as np

from maskctl import _see_given, _see_layers, _see_matrix, _see_parts, _see_probe, _see_questions, _see_shape
from maskctl._answer import Record
from maskctl._mask import Mask
from maskctl._native import Error, printable
from maskctl._see_probe import Probe
from maskctl._see_subjects import Function, Program

_WAYS = {"differences": "forward differences", "cotangents": "products with random cotangents",
         "tangents": "products with random tangents"}


def see(model, batch, *, segments=None, valid=None, causal=True, way=None, everywhere=False, layers=True):
    """Which outputs of a model change when an input token changes, asked as questions:

        answer = maskctl.see(model, batch)      # a module of torch and the dict of its arguments
        print(answer)                           # does a document reach another, a token its past, padding anything?
        assert answer                           # false where one does that may not
        answer.matrix().check(segments=ids)     # the whole matrix as a Mask

    model: any function of one batch: of torch, numpy or JAX, compiled or not, whose output is [B, S, ...], logits or
    the like. batch: ids [T] or [B, T], or numbers [.., E]; for torch also a dict of arguments. segments: the document
    of each token, below 0 for padding; without it they are those of position_ids, cu_seqlens or seq_idx in the batch.
    valid: which tokens are no padding; without it attention_mask. causal=False does not ask about the future.
    everywhere=True changes each token alone, too, as is done where that takes four runs at most: what experts of
    limited capacity choose may show in no other way.

    way: "differences" (the default) changes tokens, or embeddings, and compares outputs; "cotangents" and "tangents"
    differentiate, and do not see what is chosen by comparison, as experts. Amounts below `answer.floor`, which two
    equal runs and the rounding of the dtype give, count as none.
    """
    subject = _subject(model, batch)
    if way is None:
        way = "differences"
    if way not in _WAYS:
        raise Error(f"see: way={way!r}: expected one of {', '.join(_WAYS)}")
    if way not in subject.ways:
        raise Error(f"see: way={way!r}: this model takes {', '.join(subject.ways)}")
    given = _see_given.given(subject, batch, segments, valid)
    found = Sees(Probe(subject, way), given, causal)
    found._ask(everywhere)
    found._explain(layers)
    return found


def _subject(model, batch):
    torch = sys.modules.get("torch")
    arrays = list(batch.values()) if hasattr(batch, "keys") else [batch]
    if torch is not None and any(isinstance(one, torch.Tensor) for one in arrays):
        from maskctl._see_torch import Torch

        return Torch(model, batch)
    if not callable(model):
        raise Error(f"see: the model is of type {type(model).__name__}; expected a function of a batch")
    if hasattr(batch, "keys"):
        raise Error("see: no tensor of torch in the dict; make its arrays tensors, as by torch.from_numpy, or give one array")
    return Function(model, batch)


def see_program(command, array, seconds=600, **options):
    """The same of a program that reads a .npy file and writes another, 'COMMAND IN OUT', in so many seconds a run."""
    return _of_subject(Program(command, array, seconds), array, **options)


def _of_subject(subject, batch, *, segments=None, valid=None, causal=True, everywhere=False, layers=False):
    given = _see_given.given(subject, batch, segments, valid)
    found = Sees(Probe(subject, "differences"), given, causal)
    found._ask(everywhere)
    found._explain(layers)
    return found


class Sees:
    """The answer of maskctl.see: true if nothing reaches what it may not. `verdicts` has a record for each
    question, `passes` how often the model ran, `floor` the amount that counts as a change."""

    def __init__(self, probe, given, causal):
        self._probe, self._given, self._causal = probe, given, causal
        self.verdicts, self.shapes, self.layers = [], {}, {}
        self.notes = list(probe.subject.notes)
        self._singly = False  # whether each token was changed alone

    def _ask(self, everywhere):
        probe, shape, given = self._probe, tuple(self._probe.subject.shape), self._given
        self._entries = self._beside = None
        if shape[0] > 1:
            self._entries = _see_questions.ask(probe, _see_questions.of_entries(shape))
            probe.entries_mix = self._entries.leaks
        if given.has_documents:
            self._add(_see_questions.of_documents(given.ids))
        if self._causal and shape[1] > 1:
            self._ask_about_the_future(shape, shape[1] if everywhere else probe.subject.cheap_runs * probe.copies)
        if not given.valid.all():
            self._add(_see_questions.of_padding(given.valid))
        mixes = probe.entries_mix and shape[0] == 1 and shape[1] <= 128  # which a choice may have shown, of single tokens too
        cheap = probe.way != "cotangents" and shape[1] <= probe.subject.cheap_runs * probe.copies
        self._singly = everywhere or mixes or cheap
        if self._singly:
            self._ask_singly()
        if shape[0] > 1:
            self.verdicts.append(self._entries)
        elif probe.entries_mix:
            self.verdicts.append(self._entries or self._of_copies())
        if self.verdicts and not self._singly and not any(one.leaks for one in self.verdicts):
            runs = 2 * -(-shape[1] // probe.copies) * (shape[0] if probe.entries_mix else 1)
            self.notes.append(f"a choice, as of experts of limited capacity, may show with one token changed alone only: "
                              f"{probe.subject.everywhere} tries that, in some {runs} runs" if probe.way == "differences" else
                              'products do not show a choice, as of experts; way="differences" may')
        unread = int(probe.unread.sum())
        if unread:
            self.notes.append(f"{unread} output{'s are' if unread > 1 else ' is'} not finite: what reaches there is not known")

    def _ask_about_the_future(self, shape, least):
        given = self._given
        question = _see_questions.of_the_future(shape, given.valid, least, given.ids) if self._clean("documents") else None
        if question is None or not question.rectangles:
            self._add(_see_questions.of_the_future(shape, given.valid, least))
            return
        verdict = self._verdict(question)
        known = verdict.input is not None and verdict.output is not None
        if verdict.leaks and verdict.sources is not None and not (known and verdict.input[1] > verdict.output[1]):
            # It may be another document that moves the output, by a choice that the question about these did not show.
            own = self._verdict(_see_questions.by_document(verdict, given.ids))
            if not own.leaks:
                of = next(n for n, one in enumerate(self.verdicts) if one.name == "documents")
                self.verdicts[of] = dataclasses.replace(verdict, name="documents", whole=True, asked="")
                own = self._verdict(_see_questions.of_the_future(shape, given.valid, least))
            verdict = own
        self.verdicts.append(verdict)

    def _ask_singly(self):
        """Asks again about what has not leaked, with each token changed alone."""
        probe, moved = self._probe, None
        for number, one in enumerate(self.verdicts):
            if one.leaks:
                continue
            forbidden = np.stack([self._forbidden(one.name, entry) for entry in range(probe.shape[0])])
            question = _see_questions.of_single_tokens(one, forbidden, probe.way == "cotangents")
            if moved is None and not probe.entries_mix:
                moved = probe.touch([(sources, np.ones(probe.shape, bool)) for sources, _ in question.rectangles]
                                    if probe.way != "cotangents" else
                                    [(np.ones(probe.shape, bool), targets) for _, targets in question.rectangles])
            found = self._verdict(question, moved)
            self.verdicts[number] = found if found.leaks else dataclasses.replace(one, whole=True, asked="")

    def _add(self, question):
        if question.rectangles:
            self.verdicts.append(self._verdict(question))

    def _clean(self, name):
        """Whether a question was asked and nothing was found."""
        return any(one.name == name and not one.leaks for one in self.verdicts)

    def _verdict(self, question, moved=None):
        """The verdict of runs in which nothing else is changed that may be what moves an output: no copy beside the
        batch, and where entries mix no other entry. moved: what those runs gave, where they are done."""
        probe, shape = self._probe, tuple(self._probe.subject.shape)
        verdict = (_see_questions.ask(probe, _see_questions.by_entry(question, shape)) if probe.entries_mix else
                   _see_questions.ask(probe, question, moved))
        if not verdict.leaks:
            return verdict
        if probe.copies > 1 and not probe.moves_alone(verdict):
            probe.copies = 1
            return self._mixed(question, None)
        single = verdict.input is not None and verdict.output is not None
        if shape[0] == 1 or probe.entries_mix or single and verdict.input[0] == verdict.output[0]:
            return verdict
        if not single:  # several tokens, which may be of one entry
            alone = _see_questions.ask(probe, _see_questions.by_entry(question, shape))
            if alone.leaks:
                return alone
        return self._mixed(question, dataclasses.replace(verdict, name="batch", whole=True, asked=""))

    def _mixed(self, question, verdict):
        """Asks again, as entries are seen to mix."""
        self._probe.entries_mix = True
        if self._entries is None or not self._entries.leaks:
            self._entries = verdict or self._of_copies()
        return self._verdict(question)

    def _of_copies(self):
        """The verdict on copies of the batch beside it, which move it: one, or else as many as showed it."""
        batch, tokens = self._probe.subject.shape
        for count in (2, _see_probe.copies_of(batch, tokens)):
            sources = np.repeat(np.arange(count) % 2 == 1, batch)[:, None] & np.ones((count * batch, tokens), bool)
            probe = Probe(self._probe.subject.beside(count), self._probe.way, self._probe.floor)
            verdict = _see_questions.ask(probe, _see_questions.Question("batch", [(sources, ~sources)]))
            self._probe.passes += probe.passes
            if verdict.leaks:
                self._beside = probe
                return verdict
        return _see_questions.Verdict("batch", True, True, "")

    def _explain(self, layers):
        for verdict in self.verdicts:
            if not verdict.leaks:
                continue
            whole = self._beside if verdict.name == "batch" and self._beside is not None else self._probe
            subject, shape = whole.subject, None
            if layers and verdict.output is not None and hasattr(subject, "layers"):
                where = self.layers[verdict.name] = _see_layers.Guilty(subject, verdict, self._probe.floor,
                                                                       lambda probe: self._shape(probe, verdict))
                if verdict.name == "documents" and subject.cached and "position_ids" in subject.arguments:
                    self.notes.append("layers were given a cache, with which transformers makes no mask of position_ids; "
                                      "try use_cache=False")
                shape = where.found[0].shape if where.found else None
            self.shapes[verdict.name] = shape or self._shape(whole, verdict)

    def _shape(self, probe, verdict):
        judge = _see_shape.SHAPES[verdict.name]
        if verdict.name in ("padding", "batch"):
            return judge(None)
        entry = verdict.output[0]
        tokens = self._sample(entry, verdict)
        sets = np.zeros((len(tokens), *probe.subject.shape), bool)
        sets[np.arange(len(tokens)), entry, tokens] = True
        amounts = np.stack([one[entry] for one in probe.moved(sets)], -1)
        profile = _see_shape.Profile(amounts, tokens, self._forbidden(verdict.name, entry)[:, tokens],
                                     self._documents(entry), probe.floor, probe.subject.has("conv"))
        with np.errstate(over="ignore", invalid="ignore"):  # an amount may be infinite
            return judge(profile)

    def _documents(self, entry):
        """The document of each token of an entry; where none are known, all are of one."""
        return self._given.ids[entry] if self._given.ids is not None else np.zeros(self._probe.subject.shape[1], int)

    def _forbidden(self, name, entry):
        ids, place = self._given.ids, np.arange(self._probe.subject.shape[1])
        if name == "padding":
            return self._given.valid[entry][:, None] & ~self._given.valid[entry]
        if name == "documents":
            row = ids[entry]
            return (row[:, None] != row) & (row[:, None] >= 0) & (row >= 0)
        valid = self._given.valid[entry]
        return (place[:, None] < place) & valid[:, None] & valid

    def _sample(self, entry, verdict):
        """All tokens of a short row; of a long one some: before a border of documents, or after an output that sees
        the future, the next ones and those at distances of powers of 2; the first ones; those around the witness."""
        tokens = self._probe.subject.shape[1]
        if tokens <= 64:
            return np.flatnonzero(self._given.valid[entry])
        steps = np.concatenate([np.arange(1, 9), 2 ** np.arange(4, int(tokens).bit_length())])
        around = [] if verdict.input is None else verdict.input[1] + np.arange(-2, 3)
        if verdict.name == "documents":
            row = self._given.ids[entry]
            border = np.flatnonzero(row == row[verdict.output[1]])[0]
            if border == 0:  # the first document sees a later one
                border = np.flatnonzero(row != row[0])[0]
            some = np.concatenate([border - steps, border + [1, 16, 256], [0, 1, tokens - 1], around]).astype(int)
        else:
            some = np.concatenate([verdict.output[1] + steps, [0, 1, tokens - 1], around]).astype(int)
        some = np.unique(some[(some >= 0) & (some < tokens)])
        return some[self._given.valid[entry][some]]

    @property
    def passes(self):
        return self._probe.passes

    @property
    def floor(self):
        return self._probe.floor

    @property
    def margin(self):
        """(largest amount that counts as none, smallest that counts as a change), of those seen so far."""
        return self._probe.below, self._probe.least

    def matrix(self, rows=None, exact=False):
        """The Mask [B, 1, S, T] of all outputs and inputs. rows: only those outputs (a range, or numbers); others
        see nothing in it. exact=True takes a pass for each token, and has the same cells. Its `notes` say what else was
        done to take fewer: documents run alone, or products with random cotangents of few rows of many tokens."""
        probe = self._probe
        wanted = np.zeros(probe.shape, bool)
        try:
            wanted[:, slice(None) if rows is None else np.asarray(rows)] = True
        except IndexError:
            raise Error(f"see: rows={rows!r}; expected numbers from 0 to {probe.shape[1] - 1}") from None
        if exact and probe.way != "cotangents":
            found, notes = _see_matrix.exact(probe, wanted), []
        else:
            ids = self._given.ids if self._clean("documents") else None
            apart = _see_parts.intervals(probe, wanted, ids, self._clean("future"))
            found, notes = _see_parts.amounts(probe, wanted, apart)
        mask = Mask((found > 0)[:, None], "dense", name="sees")
        mask.notes += notes
        return mask

    def __bool__(self):
        return self.status == 0

    @property
    def status(self):
        """0: nothing reaches what it may not; 1: something does; 2: not known, as nothing was asked, or outputs are
        not finite."""
        if any(one.leaks for one in self.verdicts):
            return 1
        return 2 if not self.verdicts or self._probe.unread.any() else 0

    @property
    def data(self):
        """The answer as a dict of plain values."""
        batch, tokens = self._probe.subject.shape
        return Record(schema="maskctl.see/1", batch=batch, tokens=tokens, way=self._probe.way, passes=self.passes, dtype=self._probe.subject.dtype,
                      noise=self._probe.noise, floor=self.floor, holds=bool(self), notes=list(self.notes),
                      questions=[self._record(one) for one in self.verdicts])

    def _record(self, one):
        shape, where = self.shapes.get(one.name), self.layers.get(one.name)
        also = [] if where is None else where.found[1:]
        return Record(name=one.name, leaks=bool(one.leaks), whole=one.whole, output=_place(one.output), input=_place(one.input),
                      moved=self._moved(one), shape=None if shape is None else Record(dataclasses.asdict(shape)),
                      layer=None if where is None else where.name, module=None if where is None else where.module,
                      also=[Record(layer=other.name, module=other.module, kind=other.shape.kind) for other in also])

    def _moved(self, one):
        """How many outputs were seen to move with what they may not."""
        return int(one.moved.sum()) if one.moved is not None and self._probe.way != "cotangents" else int(one.leaks)

    def __str__(self):
        batch, tokens = self._probe.subject.shape
        lines = [f"{batch} x {tokens} tokens, {self._probe.subject.dtype}, {_WAYS[self._probe.way]}, {self.passes} passes; "
                 + (f"a change is more than {self.floor:.2g} of an output" if self._probe.way == "differences" else
                    "a product counts from 1e-7 of the largest on")]
        for one in self.verdicts:
            lines.append(f"{one.name:<11}{self._said(one)}")
            where = self.layers.get(one.name)
            if where is not None:
                lines.append(f"{'':<11}{where}")
            if one.name in self.shapes:
                lines.append(f"{'':<11}{self.shapes[one.name].words}")
            for other in [] if where is None else where.found[1:]:
                more = f" and {other.count - 1} more like it" if other.count > 1 else ""
                lines.append(f"{'':<11}also in {other.name} ({other.module}){more}: {other.shape.words}")
        if not self.verdicts:
            lines.append(f"nothing was asked: {self._absent()}")
        lines += [f"note: {note}" for note in self.notes]
        if self._probe.noise > 0:
            lines.append(f"note: two equal runs differ by {self._probe.noise:.2g} of an output; changes up to {self.floor:.2g} "
                         "count as none")
        return "\n".join(map(printable, lines))

    __repr__ = __str__

    def _said(self, one):
        if not one.leaks:
            return self._said_of_none(one)
        if one.output is None:
            return "LEAK: several copies of the batch beside it move its outputs"
        batch = self._probe.subject.shape[0]
        of = " of a copy" if one.output[0] >= batch else f" of entry {one.output[0]}" if batch > 1 else ""
        at = f"output {one.output[1]}{of}"
        count = self._moved(one)
        all_in_all = f"; in all {count} outputs{self._of_others(one)} move so" if count > 1 else ""
        if one.input is None:
            return f"LEAK: {at} moves with several tokens together{all_in_all}{self._near_floor(one)}"
        other = "" if one.input[0] == one.output[0] else " of a copy beside it" if one.input[0] >= batch else f" of entry {one.input[0]}"
        of = ""
        if one.name == "documents":
            of = f": document {self._document(one.output)} sees document {self._document(one.input)}"
        return f"LEAK{of}: {at} moves with token {one.input[1]}{other}{all_in_all}{self._near_floor(one)}"

    def _near_floor(self, one):
        """What is said of outputs that hardly move."""
        most = None if self._probe.way != "differences" or one.amount is None else one.amount
        return "" if most is None or most >= 16 * self.floor else (
            f"; by {most:.2g} of an output, where {self.floor:.2g} counts as none: it may be rounding")

    def _said_of_none(self, one):
        alone = ", nor with a token alone" if self._singly and one.name != "batch" else ""
        everywhere = self._probe.subject.everywhere
        return {"documents": f"none moved with another in {one.changes} changes of whole documents{alone}",
                "future": "no output moved with a later token" + (", nor with all from a place on" if self._singly else f", asked at {one.asked}; "
                          f"{everywhere} asks at all" if not one.whole else ""),
                "padding": f"{self._side()}: no output moved with all of it{alone}",
                "batch": f"no entry moved another in {one.changes} changes"}[one.name]

    def _of_others(self, one):
        """Which documents or entries the outputs are of that move."""
        entries = np.flatnonzero(one.moved.any(1))
        if one.name == "documents":
            documents = {(entry, int(document)) for entry in entries for document in np.unique(self._given.ids[entry][one.moved[entry]])}
            return f" of {len(documents)} documents" if len(documents) > 1 else ""
        of = "copies" if len(one.moved) > self._probe.subject.shape[0] else "entries"
        return f" of {len(entries)} {of}" if len(entries) > 1 else ""

    def _side(self):
        """Where padding is."""
        valid = self._given.valid
        first, last = valid.argmax(1), valid.shape[1] - 1 - valid[:, ::-1].argmax(1)
        place = np.arange(valid.shape[1])
        empty = ~valid.any(1)
        left, right = (~valid & (place < first[:, None])).any(), (~valid & (place > last[:, None]) & ~empty[:, None]).any()
        inside = (~valid & (place > first[:, None]) & (place < last[:, None]) & ~empty[:, None]).any()
        sides = [word for word, there in (("on the left", left), ("between tokens", inside), ("on the right", right),
                                          ("of whole entries", empty.any())) if there]
        return " and ".join(sides)

    def _absent(self):
        tokens = self._probe.subject.shape[1]
        absent = self._given.absent + ([] if self._causal else ["causal=True"])
        return "one token has no other that could reach it" if tokens == 1 else (
            f"give {' or '.join(absent)}" if absent else "no token may not see another")

    def _document(self, place):
        return int(self._given.ids[place])


def _place(one):
    return None if one is None else list(map(int, one))
