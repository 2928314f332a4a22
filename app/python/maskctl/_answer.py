"""What commands say, as values."""

import copy
import numbers
import operator
import os

from maskctl import _native
from maskctl._drawing import Drawing, Pictured, kept
from maskctl._native import Error


class Record(dict):
    """Fields in an answer: a dict, whose keys are attributes too, finding.id is finding["id"]; but
    for those that every dict has, as `keys`."""

    __slots__ = ()

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(f"no field {name!r}; there are {sorted(self)}")


class Answer(Pictured):
    """The answer of a command, all of it from one run, when the question was asked.

    It prints like the command, and is true where the exit status would be 0. `data` holds what
    --json holds, anew each time, and its fields are attributes: answer.findings is
    answer.data["findings"]. Notebooks show it with a picture, where it has one.
    """

    _drawing = None

    def __init__(self, text, fields, status, notes):
        self.text = text
        self.status = status  # 0: yes, 1: no, 2: undecided
        self.notes = notes  # what the command prints on stderr
        self._fields = fields  # makes a dict of a type; None: there is no --json

    @property
    def data(self):
        """The fields of --json (docs/json.md), as a dict; to change it changes no answer."""
        if self._fields is None:
            raise AttributeError("this answer has no --json")
        return self._fields(Record)

    def __reduce__(self):
        fields = None if self._fields is None else _Kept(self.data)
        return type(self), (self.text, fields, self.status, list(self.notes))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if self._fields is None:
            raise AttributeError(f"the answer has no field {name!r}; this command has no --json")
        fields = self.data
        if name not in fields:
            raise AttributeError(f"the answer has no field {name!r}; it has {sorted(fields)}")
        return fields[name]

    def __bool__(self):
        return self.status == 0

    def __str__(self):
        return self.text.rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self):
        from html import escape

        return f"<pre>{escape(str(self))}</pre>{self._repr_svg_() or ''}"

    def _picture(self, suffix):
        return None if self._drawing is None else self._drawing.bytes(suffix)


class DiffAnswer(Answer):
    """The answer of diff(). Its picture has both masks, where the first cells differ."""


_OF_PLACES = ("step", "batch", "head", "query", "key", "entry")


class CheckAnswer(Answer):
    """The answer of check(): findings, expectations, leaks. Its picture is of the batch and head of
    the first finding."""

    def rows(self):
        """The findings as dicts of the same keys, for pandas.DataFrame(answer.rows()): those of a
        finding, with the place of its first cell as step, batch, head, query, key and entry, None
        where one does not apply."""
        said = self.data
        return [{"source": said["source"], **{name: found[name] for name in ("id", "severity", "message")},
                 **{name: found["where"].get(name) for name in _OF_PLACES},
                 **{name: found[name] for name in ("count", "claim", "why", "fix")}}
                for found in said["findings"]]

    def _picture(self, suffix):
        if self._drawing is None:
            return None
        said = self.data
        places = [found["where"] for found in said["findings"]]
        places += [one["first"] for one in said["expectations"] if one["first"] and not one["holds"]]
        place = next((place for place in places if "batch" in place), {})
        options = [(f"--{axis}", place[axis]) for axis in ("batch", "head") if axis in place]
        return self._drawing.bytes(suffix, *options)


class VerifyAnswer(Answer):
    """The answer of verify(), and the masks that it is about: `obeyed`, which the results obey, and
    `nearest`, which fewest rows contradict where none is obeyed. None where no one mask is known."""

    def __init__(self, text, fields, status, notes, obeyed, nearest):
        super().__init__(text, fields, status, notes)
        self.obeyed = obeyed
        self.nearest = nearest

    def __reduce__(self):
        made, said = super().__reduce__()
        return made, (*said, self.obeyed, self.nearest)


class _Kept:
    """The fields of an answer that was pickled or copied."""

    def __init__(self, fields):
        self._fields = fields

    def __call__(self, _):
        return copy.deepcopy(self._fields)


def _is_source(value):
    """True for masks and arrays, and for lists but those of words; words and numbers are values of
    options."""
    if isinstance(value, (list, tuple)):
        return not _is_of_words(value)
    return not isinstance(value, (str, bytes, os.PathLike, numbers.Number, type(None)))


def _flag(keyword, value):
    """Whether a flag is set; of Python's or numpy's bool, or a number."""
    if value is not None and type(value).__name__ not in ("bool", "bool_", "int"):
        raise Error(f"{keyword}: a {type(value).__name__} is no value of it; expected True or False")
    return bool(value)


def _is_tokens(value):
    """True for tokens themselves, False for the name of a file that holds them."""
    return not isinstance(value, (str, bytes, os.PathLike, type(None)))


def _is_of_words(value):
    while isinstance(value, (list, tuple)) and len(value):
        value = value[0]
    return isinstance(value, (str, bytes, os.PathLike))


# Options that say what a command writes, and how.
_OF_OUTPUT = {"--output", "--write", "--force", "--show", "--all", "--style"}
# Options that are given when a Mask is made, so methods of Mask do not take them.
_OF_READING = {"--as", "--keep-value", "--closed-below", "--shape"}


def keyword_of(option):
    """"max_bytes" for "--max-bytes"; `as` is a word of Python."""
    return "kind" if option == "--as" else option[2:].replace("-", "_")


def options_of(command):
    """(keyword, what the value is, help) of each option that a method takes."""
    return [(keyword_of(name), value, text)
            for name, value, text in _native.command_info(command)[1]
            if name.startswith("--") and name != "--json" and name not in _OF_READING]


_words = {}


def _words_of(command):
    """Its operands and options: what the value of each is. Asked for once."""
    if command not in _words:
        _words[command] = {name: value for name, value, _ in _native.command_info(command)[1]}
    return _words[command]


def text_of(role, value):
    """The value, which has to be a text that commands can take."""
    if not isinstance(value, str):
        raise Error(f"{role}: a {type(value).__name__} is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Error(f"{role}: {value!r} is no text") from None
    if "\0" in value:
        raise Error(f"{role}: {value!r} holds a NUL")
    return value


def shape_text(shape):
    """"2+1+8+8" for a shape of 1 to 4 extents; n alone is n queries by n keys."""
    return "+".join(map(str, extents_of(shape)))


def extents_of(shape):
    """[B, H, Q, K] of a shape of 1 to 4 extents."""
    try:
        extents = [operator.index(n) for n in (shape if hasattr(shape, "__len__") else (shape, shape))]
    except TypeError:
        raise Error(f"shape={shape!r}: expected whole numbers") from None
    if len(extents) == 3:
        extents.insert(1, 1)
    if not 2 <= len(extents) <= 4:
        raise Error(f"a shape of {len(extents)} extents; expected n, (Q, K), (B, Q, K) or (B, H, Q, K)")
    return [1] * (4 - len(extents)) + extents


class Line:
    """A question in the making: operands and options, and the masks and arrays that they name."""

    def __init__(self, command):
        self.command = text_of("command", command)
        self._words = _words_of(command)
        self.operands = []
        self.options = []
        self.given = {}
        self._tokens = None

    def drawing(self, command):
        """What draws the answer, by a command that takes these operands; None where an array is too
        large to be kept."""
        given = kept(self.given)
        words = _words_of(command)
        options = [option for option in self.options if option[0] in words and option[0] not in _OF_OUTPUT]
        return None if given is None else Drawing(command, list(self.operands), options, given)

    def has(self, option):
        return option in self._words

    def word(self, role, value):
        """What stands for a value on the line: masks and arrays are given by name, and where that
        is taken, by their role."""
        from maskctl import _arrays
        from maskctl._mask import Mask

        if value is None:
            raise Error(f"{role}: None is no value")
        if not _is_source(value):
            return text_of(role, os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value))
        if _arrays.is_mask_of_library(value):
            value = Mask(value, name=role)
        plain = value._plain() if isinstance(value, Mask) else None
        word = plain.name if plain else role
        if word in self.given or word in self.operands:
            word = role
        while word in self.given:
            word += "'"
        self.given[word] = plain._source if plain else _arrays.host(role, value)[0]
        return word

    def option(self, keyword, value):
        name = "--as" if keyword == "kind" else "--" + keyword.replace("_", "-")
        if name == "--tokens" and name in self._words and _is_tokens(value):
            self._tokens = value
        elif name in self._words:
            if name == "--shape" and not isinstance(value, str):
                value = shape_text(value)
            if not self._words[name]:
                value = _flag(keyword, value)
            takes_arrays = any(word in self._words[name] for word in ("SOURCE", "FILE"))
            array = takes_arrays and _is_source(value)
            values = value if isinstance(value, (list, tuple)) and not array else [value]
            if not takes_arrays and any(_is_source(one) for one in values):
                raise Error(f"{keyword}: a {type(value).__name__} is no value of it; expected text or numbers")
            self.options += [(name, self._value(keyword, one)) for one in values
                             if one is not None and one is not False]
        elif "NAME=VALUE" in self._words or "NAME=SOURCE" in self._words:
            self.operands.append(f"{keyword}={self.word(keyword, value)}")
        else:
            known = sorted(keyword_of(name) for name in self._words if name[:2] == "--")
            raise TypeError(f"{self.command}() has no option {keyword!r}; it has {', '.join(known)}")

    def _value(self, keyword, value):
        """The value of an option: a number that C++ has, or a word; "" for a flag."""
        if value is True:
            return ""
        if isinstance(value, numbers.Integral) and -1 << 63 <= value < 1 << 63:
            return int(value)
        if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
            return float(value)
        return self.word(keyword, value)

    def run(self, answer=Answer):
        """The answer, and the arrays that the command writes to "-"."""
        if self._tokens is None:
            return self._ask(answer, self.options)
        from tempfile import TemporaryDirectory

        from maskctl._tokens import write

        with TemporaryDirectory() as folder:
            return self._ask(answer, [*self.options, ("--tokens", write(self._tokens, self._batch(), folder))])

    def _ask(self, answer, options):
        said, arrays = _native.ask(self.command, self.operands, options, self.given)
        return answer(*said), arrays

    def _batch(self):
        """The batch that is drawn; None for several."""
        named = [value for name, value in self.options if name == "--batch"]
        try:
            return int(named[-1]) if named else 0
        except ValueError:
            return None


def run(command, *operands, **options):
    """Runs any command: run("translate", table=128). Operands are texts, masks or arrays; options
    are its long ones as keywords: lists for those that may be repeated, True for flags."""
    line = Line(command)
    for number, operand in enumerate(operands, 1):
        line.operands.append(line.word(f"mask{number}", operand))
    for keyword, value in options.items():
        line.option(keyword, value)
    return line.run()[0]


def help_of(command):
    """What a command is for, and its options as keywords."""
    summary = _native.command_info(command)[0]
    lines = [f"    {keyword}={value or 'True'}: {text}" for keyword, value, text in options_of(command)]
    return "\n".join([f"{summary[0].upper()}{summary[1:]}.", "", *lines])
