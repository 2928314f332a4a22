"""The mask, whose methods are the commands."""

import os

from maskctl import _arrays, _native
from maskctl._answer import CheckAnswer, DiffAnswer, Line, VerifyAnswer, extents_of, help_of, run, text_of
from maskctl._drawing import Pictured
from maskctl._native import Error
from maskctl._reading import all_open, file_name, reading_options, with_missing_array

_hdf5_helper = os.path.join(os.path.dirname(__file__), "maskctl-hdf5")
if os.path.exists(_hdf5_helper):  # a build may be without
    _native.set_hdf5_helper(_hdf5_helper)

_OPS = {"and": 0, "or": 1, "xor": 2, "sub": 3}


def _temporary_folder():
    from tempfile import TemporaryDirectory

    return TemporaryDirectory()


def _checked(line):
    """The answer of the library's check()."""
    answer = CheckAnswer(*_native.check(line.operands, line.options, line.given))
    answer._drawing = line.drawing("show")
    return answer


def _compared(line):
    """The answer of diff, with a picture where masks differ."""
    answer = line.run(DiffAnswer)[0]
    answer._drawing = None if answer else line.drawing("diff")
    return answer


def _verified(line):
    """The answer of the library's verify(), with its masks."""
    said, obeyed, nearest = _native.verify(line.operands, line.options, line.given)
    return VerifyAnswer(*said, _named("obeyed", obeyed), _named("nearest", nearest))


def _named(name, source):
    """The mask of cells that have a name and no steps; None for none."""
    return None if source is None else Mask._made(name, source, name, (), {})


def _verb(command, *operands, ask=lambda line: line.run()[0]):
    """The method that asks a command about a mask."""

    def verb(self, *values, **options):
        if len(values) != len(operands):
            raise TypeError(f"{command}() takes {', '.join(operands) or 'keywords only'}")
        return ask(self._line(command, zip(operands, values), options))

    verb.__name__ = command
    verb.__qualname__ = f"Mask.{command}"
    verb.__doc__ = help_of(command)
    return verb


class Mask(Pictured):
    """An attention mask [B, H, Q, K]: which query may attend to which key.

    A value: an array is read once, when the mask is made, and later writes do not reach it. It is
    never stored densely; a million by a million is an ordinary size.
    """

    __slots__ = ("name", "notes", "_source", "_word", "_steps", "_arrays", "_result", "__weakref__")

    def __init__(self, array, kind=None, *, name=None, keep_value=None, closed_below=None,
                 shape=None, pad_id=None, max_bytes=None):
        """Reads an array: bool or 0/1 of shape [Q,K], [B,Q,K] or [B,H,Q,K], a float bias of the
        same shapes (0 open; -inf or the lowest number closed), or another `kind` of the command:
        padding, key-padding, segments, positions [B,S], cu_seqlens [N+1], pairs, blockmap:QxK,
        bits, index-lists, flashmask and the others of docs/formats.md. Also FlexAttention's BlockMask, torch's CausalBias, JAX's SegmentIds, the masks of
        splash attention, xformers' biases, lists of lists, a dict of the arrays of one mask, as to()
        gives it, and the name of a file. Arrays on the host are read where they lie; those of a GPU
        are copied by their own library, which `notes` says.

        keep_value 0: 0 may attend. closed_below: numbers of a bias at or below it close. shape: the
        extents that an array does not carry. pad_id: the segment id that sees nothing (-1).
        max_bytes: the most that may be allocated (4 GiB).
        """
        if isinstance(array, str) or hasattr(type(array), "__fspath__"):  # os.PathLike takes longer
            source = file_name(array)
            name = text_of("name", source if name is None else name)
            options = reading_options(kind, keep_value, closed_below, shape, pad_id, max_bytes)
            return self._of_file(name, _native.read_source(source, options, {}))
        name = "mask" if name is None else text_of("name", name)
        if isinstance(array, Mask):
            raise Error(f"{_native.printable(name)}: a Mask already")
        own, parts, notes = _arrays.parts_of(name, array, shape)
        if own == "bias":
            shape = None  # the bias is already materialised in that shape
        elif own == "bits":
            shape = array.shape
        self._read(name, parts, reading_options(kind or own, keep_value, closed_below, shape, pad_id, max_bytes))
        self.notes = notes + self.notes
        if _arrays.is_block_mask(array):
            from maskctl.flex import note_on_lists

            self.notes += [f"{name}: {note}" for note in note_on_lists(array, self)]

    def _read(self, name, parts, options):
        self._set(name, _native.read_arrays(name, parts, options), name, (), {})

    def _set(self, name, source, word, steps, arrays):
        self.name = name
        self.notes = [] if source is None else source.notes
        self._source = source  # None: the generator text `word` makes the mask
        self._word = word
        self._steps = steps
        self._arrays = arrays  # copies of what the steps name: arrays, and what files hold
        self._result = source if source is not None and not steps else None

    def _of_file(self, name, read):
        if read.steps is None:
            return self._set(name, read, name, (), {})
        pipeline, shape, arrays = read.steps  # as parse() makes it
        self._set(name, None, all_open(*shape), (pipeline,) if pipeline else (), arrays)
        self.notes, self._result = read.notes, read

    @classmethod
    def _made(cls, *state):
        mask = cls.__new__(cls)
        mask._set(*state)
        return mask

    @classmethod
    def _of_sides(cls, kind, q, kv, name, shape, pad_id):
        name = text_of("name", name)
        sides = [("q", q)] + ([("kv", kv)] if kv is not None else [])
        notes, parts = [], []
        for key, side in sides:
            array, more = _arrays.host(name, side)
            parts.append((key, array))
            notes += more
        mask = cls.__new__(cls)
        mask._read(name, parts, reading_options(kind, shape=shape, pad_id=pad_id))
        mask.notes = notes + mask.notes
        return mask

    @classmethod
    def parse(cls, text, shape, **arrays):
        """The mask of a pipeline: Mask.parse("doc:lens=3+5 | causal", 8). `shape` is n, (Q, K),
        (B, Q, K) or (B, H, Q, K); arrays that the steps name are keywords: parse("doc:ids", 8,
        ids=tensor)."""
        b, h, q, k = extents_of(shape)
        if not all(1 <= n < 1 << 31 for n in (b, h, q, k)):
            raise Error(f"shape={shape!r}: expected extents of 1 to {(1 << 31) - 1}")
        word = all_open(b, h, q, k)
        return cls._made(word, None, word, (), {}).apply(text, **arrays)

    @classmethod
    def from_segments(cls, q, kv=None, *, pad_id=None, name="segments"):
        """From segment ids [S] or [B, S] of queries, and of keys where they differ."""
        return cls._of_sides("segments", q, kv, name, None, pad_id)

    @classmethod
    def from_positions(cls, q, kv=None, *, name="positions"):
        """From position ids [S] or [B, S], which start over at 0 in each document."""
        return cls._of_sides("positions", q, kv, name, None, None)

    @classmethod
    def from_cu_seqlens(cls, q, kv=None, *, shape=None, name="cu_seqlens"):
        """From cumulative lengths [N + 1]: 0, and the end of each document."""
        return cls._of_sides("cu_seqlens", q, kv, name, shape, None)

    @classmethod
    def from_padding(cls, valid, *, keep_value=None, name="padding"):
        """From flags [S] or [B, S]: a pair is open where query and key are both valid."""
        return cls(valid, "padding", name=name, keep_value=keep_value)

    @classmethod
    def from_key_padding(cls, valid, *, queries=None, keep_value=None, name="padding"):
        """From flags [S] or [B, S] of keys, as Hugging Face's attention_mask. `queries`: how many
        there are, if not S."""
        shape = None
        if queries is not None:
            valid, extents = _arrays.with_shape(name, valid)
            shape = (extents[0] if len(extents) > 1 else 1, 1, queries, extents[-1])
        return cls(valid, "key-padding", name=name, keep_value=keep_value, shape=shape)

    @classmethod
    def read(cls, source, kind=None, *, name=None, keep_value=None, closed_below=None, shape=None,
             pad_id=None, max_bytes=None):
        """Reads a SOURCE of the command: a file ("m.npz:KEY"), or gen:STEP."""
        return cls(file_name(source), kind, name=name, keep_value=keep_value, closed_below=closed_below,
                   shape=shape, pad_id=pad_id, max_bytes=max_bytes)

    def apply(self, *steps, **arrays):
        """The mask after steps, left to right: mask.apply("window:keys=128 | causal"). Arrays that
        they name are keywords. Nothing is computed before it is needed."""
        given = dict(self._arrays)
        steps = tuple(_native.pipeline_text(text_of("step", step)) for step in steps)
        for key, value in arrays.items():
            if key in given or key == self._word:
                raise Error(f"{key}: an array of that name is given already")
            if _arrays.is_mask_of_library(value):
                value = Mask(value, name=key)
            given[key] = value._result_source() if isinstance(value, Mask) else _arrays.copied(key, value)
        mask = Mask._made(self.name, self._source, self._word, self._steps + steps, given)
        try:
            given.update(mask._compute())  # raises for mistakes in the steps
        except Error as error:
            raise with_missing_array(error) from None
        return mask

    @property
    def pipeline(self):
        """The steps as they were given, joined by " | "."""
        return " | ".join(self._steps)

    def _options(self):
        return [("--transform", step) for step in self._steps]

    def _put_into(self, given):
        """Makes this mask, without its steps, a SOURCE among those given; returns its word."""
        if self._source is not None:
            given[self._word] = self._source
        return self._word

    def _compute(self):
        """Makes the cells; returns what the steps read from files, which then belongs to the mask."""
        given = dict(self._arrays)
        self._result, read = _native.apply_steps(self._put_into(given), self._options(), given)
        return read

    def _result_source(self):
        if self._result is None:
            self._compute()
        return self._result

    def _plain(self):
        """The same without steps, for where those of another mask would be taken."""
        if not self._steps and self._source is not None:
            return self
        name = " | ".join([self.name, *self._steps])
        return _named(name, self._result_source())

    def _line(self, command, operands, options):
        line = Line(command)
        line.given.update(self._arrays)
        line.operands.append(self._put_into(line.given))
        line.options += self._options()
        if self._steps and line.has("--transform-b"):
            line.options.append(("--transform-b", ""))  # do not apply these steps to the other mask
        for name, operand in operands:
            line.operands.append(line.word(name, operand))
        for keyword, value in options.items():
            line.option(keyword, value)
        return line

    show = _verb("show")
    stats = _verb("stats")
    check = _verb("check", ask=_checked)
    recognise = _verb("recognise")
    recognize = recognise
    why = _verb("why", "query", "key")
    diff = _verb("diff", "other", ask=_compared)
    cost = _verb("cost")
    phases = _verb("phases")
    verify = _verb("verify", ask=_verified)

    def parts(self, parts=None, **options):
        operands = [] if parts is None else [("parts", parts)]
        return self._line("parts", operands, options).run()[0]

    parts.__doc__ = help_of("parts")

    def to(self, kind="dense", **options):
        """The mask as arrays of a kind: dense, bias, padding, key-padding, segments, cu_seqlens,
        pairs, blockmap, bits, runs, index-lists, slices, ...; exact, or an Error. One array, or a dict of several, for
        torch.from_dlpack; numpy's where numpy is there and has the type. Options are those of
        convert: dtype="bfloat16", fill="min", block="128x64", lossy=True."""
        arrays = {key: _arrays.of_numpy(value) for key, value in self._arrays_of(kind, options)}
        return next(iter(arrays.values())) if len(arrays) == 1 else arrays

    def _arrays_of(self, kind, options):
        return self._line("convert", (), {"to": kind, "output": "-", **options}).run()[1]

    def _cells(self):
        return self._arrays_of("dense", {})[0][1]

    def save(self, path, kind=None, *, force=False, **options):
        """Writes the mask to a file, .npy, .npz, .safetensors or .h5, for Mask(path) and the command:
        as cells, or as another `kind`, such as "runs" for large masks, with the options of to();
        as "mask" with its steps and what they read, in a .safetensors that others read too."""
        how = {"to": text_of("kind", "dense" if kind is None else kind), "output": file_name(path), "force": force, **options}
        if how["to"] == "mask":
            self._line("convert", (), how).run()  # run() would give the cells without the steps
        else:
            run("convert", self, **how)

    def translate(self, **options):
        """This mask in the arguments of other libraries: translate(to="flex+sdpa"). A mask that was
        not made by steps is recognised first."""
        if self._source is None:
            line = Line("translate")
            line.given.update(self._arrays)
            line.options += self._options()
            for keyword, value in options.items():
                line.option(keyword, value)
            return line.run()[0]
        with _temporary_folder() as folder:
            file = f"{folder}/arrays.npz"
            found = self.recognise(write=file)
            pipeline = found.pipeline.replace(f"{file}:", "")
            if not found:
                raise Error(f"{_native.printable(self._word)}: no pipeline makes this mask; nearest: {pipeline or 'every cell open'}")
            arrays = {source[len(file) + 1:]: _native.read_copy(source) for source in found.arrays}
        line = Line("translate")
        line.given.update(arrays)
        line.options.append(("--transform", pipeline))
        for keyword, value in options.items():
            line.option(keyword, value)
        return line.run()[0]

    @property
    def shape(self):
        """(batch, heads, queries, keys); heads 1 means shared by all."""
        return tuple(self._result_source().shape)

    @property
    def kind(self):
        """How the array was read: "dense", "segments", ..."""
        return "dense" if self._source is None else self._source.kind

    def count(self):
        """Open cells of all batches and heads."""
        return self._result_source().open

    def _combined(self, op, other):
        if not isinstance(other, Mask):
            return NotImplemented
        made = _native.combined(_OPS[op], self._result_source(), other._result_source())
        return _named(f"{self.name} {op} {other.name}", made)

    def __and__(self, other):
        return self._combined("and", other)

    def __or__(self, other):
        return self._combined("or", other)

    def __xor__(self, other):
        return self._combined("xor", other)

    def __sub__(self, other):
        return self._combined("sub", other)

    def __invert__(self):
        return _named(f"not {self.name}", self._result_source().inverted())

    def __eq__(self, other):
        """True if shapes and all cells agree. The other may be all that Mask() takes; what fits
        several kinds is an Error."""
        if not isinstance(other, Mask):
            if not _arrays.is_array(other) and not _arrays.is_mask_of_library(other):
                return NotImplemented
            other = Mask(other, name="other")
        return _native.equal(self._result_source(), other._result_source())

    __hash__ = None  # unhashable: == compares cells
    __array_ufunc__ = None  # numpy's operators are not the set operators of Mask

    def __str__(self):
        return str(self.show())

    def __repr__(self):
        shape = "x".join(map(str, self.shape))
        return f"<maskctl.Mask {_native.printable(self.name)} {shape}, {self.count()} open>"

    def _picture(self, suffix):
        return self._line("show", (), {}).drawing("show").bytes(suffix)

    def plot(self, ax=None, *, batch=0, head=0, tokens=None, bias=None, marks=None, title=None):
        """Draws a batch and head on axes of matplotlib, new ones without `ax`, and returns the axes.

        Large masks are drawn as the share of open cells in each pixel. tokens: strings for the axes,
        or (tokenizer, ids); {"q": ..., "kv": ...} where keys have others. bias: numbers [Q, K],
        [B, Q, K] or [B, H, Q, K] that are added to scores, drawn as the mean over open cells.
        marks: a Mask of cells to draw in red, as mask ^ other. title: "" for none.
        """
        from maskctl._plot import plot

        return plot(self, ax, batch, head, tokens, bias, marks, title)

    def __array__(self, dtype=None, copy=None):
        from numpy import asarray

        return asarray(self._cells(), dtype)

    def __dlpack__(self, **how):
        return self._cells().__dlpack__(**how)

    def __dlpack_device__(self):
        return self._cells().__dlpack_device__()

    __iter__ = None  # indexing does not make it a sequence

    def __getitem__(self, index):
        """Whether a pair is open, mask[b, h, q, k], or with slices the Mask of a part: an axis with
        a number keeps length 1."""
        from maskctl._indexing import ranges_of

        ranges, is_pair = ranges_of(index, self.shape)
        part = self._result_source().part(ranges)
        if is_pair:
            return part.open == 1
        inside = ",".join(f"{begin}:{end}" for begin, end in ranges)
        return _named(f"{self.name}[{inside}]", part)

    def __copy__(self):
        return _restored(self.name, self.notes, self._source, self._word, self._steps, self._arrays)

    def __deepcopy__(self, _):
        return self.__copy__()  # sources and copies of arrays never change

    def __reduce__(self):
        return _restored, (self.name, self.notes, self._source, self._word, self._steps, self._arrays)


def _restored(name, notes, *state):
    mask = Mask._made(name, *state)
    mask.notes = list(notes)
    return mask
