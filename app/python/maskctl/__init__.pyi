from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, Literal, SupportsIndex

_Array = Any  # what has DLPack or the buffer protocol, or lists of numbers
_Source = Mask | _Array | str
_Strings = Sequence[str] | tuple[Any, _Array]  # tokens, or a tokenizer and ids
_Tokens = str | PathLike[str] | _Strings | dict[str, _Strings]
_Words = str | int | float | Sequence[str]
_Shape = SupportsIndex | Sequence[SupportsIndex]
_Index = SupportsIndex | slice | EllipsisType

version: str
__version__: str

class Error(ValueError): ...

class Answer:
    text: str
    status: int
    notes: list[str]
    @property
    def data(self) -> dict[str, Any]: ...
    def __getattr__(self, name: str) -> Any: ...
    def __bool__(self) -> bool: ...
    def _repr_html_(self) -> str: ...
    def _repr_svg_(self) -> str | None: ...
    def _repr_png_(self) -> bytes | None: ...

class DiffAnswer(Answer): ...

class Record(dict[str, Any]):
    def __getattr__(self, name: str) -> Any: ...

class _Place(Record):  # members that do not apply are absent
    step: int
    batch: int
    head: int
    query: int
    key: int
    entry: int

class _Pair(Record):
    batch: int
    query_document: int
    key_document: int
    count: int
    first: _Place

class _Leaks(Record):
    cross: int
    padding_queries: int
    padding_keys: int
    first: _Place | None
    pair_count: int
    pairs_complete: bool
    pairs: list[_Pair]

class _Finding(Record):
    id: str
    severity: Literal["error", "warning", "note"]
    message: str
    where: _Place
    count: int
    claim: str
    why: str
    fix: str

class _Expectation(Record):
    text: str
    holds: bool
    count: int
    unit: str
    first: _Place | None
    detail: str
    leaks: _Leaks | None

class _NotLookedAt(Record):
    what: str
    option: str

class _FixDone(Record):
    id: str
    closed: int | None
    opened: int | None

class _FixLeft(Record):
    id: str
    why: str

class _Fixed(Record):
    file: str | None
    kind: str | None
    done: list[_FixDone]
    left: list[_FixLeft]

class CheckAnswer(Answer):
    schema: str
    source: str
    shape: list[int] | None
    ok: bool
    expectations: list[_Expectation]
    findings: list[_Finding]
    leaks: _Leaks | None
    not_looked_at: list[_NotLookedAt]
    fixed: _Fixed | None
    def rows(self) -> list[dict[str, Any]]: ...

class _Alternative(Record):
    text: str
    state: Literal["rejected", "fits", "undecided"]
    share: float | None
    error: float | None
    rows: int

class _VerifyCheck(Record):
    name: str
    state: Literal["passed", "failed", "skipped"]
    detail: str

_Verdict = Literal["obeys", "another", "none", "unclear", "other-call", "partly"]

class _Part(Record):
    array: str
    verdict: _Verdict
    text: str
    rows: str
    in_part: bool
    zero_rows: str
    nan_rows: str
    nan_keys: str
    least_cell: float | None
    alternatives: list[_Alternative]

class VerifyAnswer(Answer):
    schema: str
    operation: str
    ok: bool
    verdict: _Verdict
    rows: str
    in_part: bool
    zero_rows: str
    nan_rows: str
    nan_keys: str
    least_cell: float | None
    alternatives: list[_Alternative]
    checks: list[_VerifyCheck]
    parts: list[_Part]
    solved: Record  # absent, as not_solved, where no mask was solved
    not_solved: str
    next: Literal["lighter-cells", "cells", "probe"] | None
    obeyed: Mask | None
    nearest: Mask | None

class Mask:
    name: str
    notes: list[str]
    def __init__(
        self,
        array: _Array | dict[str, _Array] | str | PathLike[str],
        kind: str | None = None,
        *,
        name: str | None = None,
        keep_value: int | None = None,
        closed_below: float | None = None,
        shape: _Shape | None = None,
        pad_id: int | None = None,
        max_bytes: int | str | None = None,
    ) -> None: ...
    @classmethod
    def parse(cls, text: str, shape: _Shape, **arrays: Mask | _Array) -> Mask: ...
    @classmethod
    def read(
        cls,
        source: str | PathLike[str],
        kind: str | None = None,
        *,
        name: str | None = None,
        keep_value: int | None = None,
        closed_below: float | None = None,
        shape: _Shape | None = None,
        pad_id: int | None = None,
        max_bytes: int | str | None = None,
    ) -> Mask: ...
    @classmethod
    def from_segments(cls, q: _Array, kv: _Array = None, *, pad_id: int | None = None, name: str = ...) -> Mask: ...
    @classmethod
    def from_positions(cls, q: _Array, kv: _Array = None, *, name: str = ...) -> Mask: ...
    @classmethod
    def from_cu_seqlens(cls, q: _Array, kv: _Array = None, *, shape: _Shape | None = None, name: str = ...) -> Mask: ...
    @classmethod
    def from_padding(cls, valid: _Array, *, keep_value: int | None = None, name: str = ...) -> Mask: ...
    @classmethod
    def from_key_padding(
        cls, valid: _Array, *, queries: int | None = None, keep_value: int | None = None, name: str = ...
    ) -> Mask: ...
    @property
    def shape(self) -> tuple[int, int, int, int]: ...
    @property
    def kind(self) -> str: ...
    @property
    def pipeline(self) -> str: ...
    def count(self) -> int: ...
    def apply(self, *steps: str, **arrays: Mask | _Array) -> Mask: ...
    def to(self, kind: str = "dense", **options: _Words | bool) -> Any: ...
    def save(
        self, path: str | PathLike[str], kind: str | None = None, *, force: bool = False, **options: _Words | bool
    ) -> None: ...
    def translate(self, **options: _Words | bool) -> Answer: ...
    def plot(
        self,
        ax: Any = None,
        *,
        batch: int = 0,
        head: int = 0,
        tokens: _Strings | dict[str, _Strings] | None = None,
        bias: _Array | None = None,
        marks: Mask | None = None,
        title: str | None = None,
    ) -> Any: ...
    def _repr_html_(self) -> str: ...
    def _repr_svg_(self) -> str | None: ...
    def _repr_png_(self) -> bytes | None: ...
    # The commands: written by tests/python/test_stubs.py.
    def show(
        self,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        batch: _Words = ...,
        head: _Words = ...,
        segments: _Source = ...,
        positions: _Source = ...,
        cu_seqlens: _Source = ...,
        padding: _Source = ...,
        no_segments: bool = ...,
        tokens: _Tokens = ...,
        max_rows: int = ...,
        max_columns: int = ...,
        block: _Words = ...,
        output: _Words = ...,
        force: bool = ...,
        scale: int = ...,
        size: int = ...,
        title: _Words = ...,
        overlay: _Source = ...,
        transform_b: _Words = ...,
        pad_id_b: int = ...,
        as_b: _Words = ...,
        keep_value_b: _Words = ...,
        closed_below_b: _Words = ...,
        shape_b: _Words = ...,
        semantics: _Words = ...,
        tiles: _Words = ...,
        style: _Words = ...,
        agg: _Words = ...,
        palette: _Words = ...,
        grid: bool = ...,
        ascii: bool = ...,
        no_fit: bool = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> Answer: ...
    def stats(
        self,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        block: _Words = ...,
        segments: _Source = ...,
        positions: _Source = ...,
        cu_seqlens: _Source = ...,
        padding: _Source = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> Answer: ...
    def check(
        self,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        expect: _Words = ...,
        segments: _Source = ...,
        positions: _Source = ...,
        cu_seqlens: _Source = ...,
        padding: _Source = ...,
        bias: _Source = ...,
        format: _Words = ...,
        write_fixed: _Words = ...,
        force: bool = ...,
        expressible: _Words = ...,
        hf_config: _Words = ...,
        assume: _Words = ...,
        exit_zero: bool = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> CheckAnswer: ...
    def recognise(
        self,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        segments: _Source = ...,
        positions: _Source = ...,
        cu_seqlens: _Source = ...,
        padding: _Source = ...,
        max_steps: int = ...,
        all: bool = ...,
        write: _Words = ...,
        force: bool = ...,
        gzip: _Words = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> Answer: ...
    def recognize(
        self,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        segments: _Source = ...,
        positions: _Source = ...,
        cu_seqlens: _Source = ...,
        padding: _Source = ...,
        max_steps: int = ...,
        all: bool = ...,
        write: _Words = ...,
        force: bool = ...,
        gzip: _Words = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> Answer: ...
    def why(
        self,
        query: int,
        key: int,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        semantics: _Words = ...,
        segments: _Source = ...,
        positions: _Source = ...,
        cu_seqlens: _Source = ...,
        padding: _Source = ...,
        batch: int = ...,
        head: int = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> Answer: ...
    def diff(
        self,
        other: _Source,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        transform_b: _Words = ...,
        pad_id_b: int = ...,
        as_b: _Words = ...,
        keep_value_b: _Words = ...,
        closed_below_b: _Words = ...,
        shape_b: _Words = ...,
        segments: _Source = ...,
        positions: _Source = ...,
        cu_seqlens: _Source = ...,
        padding: _Source = ...,
        block: _Words = ...,
        all: bool = ...,
        show: bool = ...,
        style: _Words = ...,
        output: _Words = ...,
        write: _Words = ...,
        force: bool = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> DiffAnswer: ...
    def cost(
        self,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        block: _Words = ...,
        heads: int = ...,
        head_dim: int = ...,
        ranks: int = ...,
        beside: _Source = ...,
        layers: _Words = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> Answer: ...
    def verify(
        self,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        axes: _Words = ...,
        random_dtype: _Words = ...,
        layout: _Words = ...,
        seed: int = ...,
        op: _Words = ...,
        backend: _Words = ...,
        against: _Words = ...,
        given: _Source = ...,
        solve: bool = ...,
        rtol: _Words = ...,
        atol: _Words = ...,
        no_gradients: bool = ...,
        mesh: _Words = ...,
        assign: _Words = ...,
        output: _Words = ...,
        dtype: _Words = ...,
        force: bool = ...,
        append: bool = ...,
        replace_file: bool = ...,
        gzip: _Words = ...,
        to: _Words = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
        **arguments: _Source,
    ) -> VerifyAnswer: ...
    def parts(
        self,
        parts: _Source = ...,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        transform_b: _Words = ...,
        pad_id_b: int = ...,
        as_b: _Words = ...,
        keep_value_b: _Words = ...,
        closed_below_b: _Words = ...,
        shape_b: _Words = ...,
        ranks: int = ...,
        assign: _Words = ...,
        queries: _Source = ...,
        keys: _Source = ...,
        rollouts: _Source = ...,
        tree: _Words = ...,
        sampler: int = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> Answer: ...
    def phases(
        self,
        *,
        transform: _Words = ...,
        pad_id: int = ...,
        cache: _Words = ...,
        length: int = ...,
        chunk: _Words = ...,
        taken_back: int = ...,
        tree: _Source = ...,
        ranks: int = ...,
        assign: _Words = ...,
        positions: _Source = ...,
        queries: _Source = ...,
        open: _Source = ...,
        assume: _Words = ...,
        caches: bool = ...,
        threads: int = ...,
        max_bytes: _Words = ...,
        strict: bool = ...,
    ) -> Answer: ...
    # The end of the commands.
    def __and__(self, other: Mask) -> Mask: ...
    def __or__(self, other: Mask) -> Mask: ...
    def __xor__(self, other: Mask) -> Mask: ...
    def __sub__(self, other: Mask) -> Mask: ...
    def __invert__(self) -> Mask: ...
    def __getitem__(self, index: _Index | tuple[_Index, ...]) -> Mask | bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __dlpack__(self, **how: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def run(command: str, *operands: _Source, **options: _Source | bool) -> Answer: ...

class AttentionMaskVisualizer:
    masks: dict[str, Mask]
    def __init__(self, model_name: Any, tokenizer: Any = None, *, assume: str | None = None) -> None: ...
    def __call__(self, input_sentence: str, suffix: str = "") -> None: ...

class Mutant:
    query: _Array
    key: _Array
    value: _Array
    bias: _Array | None
    sinks: _Array | None
    out: _Array
    lse: _Array
    truth: dict[str, Any]
    number: int
    kind: str
    group: str
    right: bool
    text: str
    opened: int
    closed: int
    weight: float
    rows: int

def mutants(mask: Mask | _Array, count: int = 100, seed: int = 0, **options: _Words | bool) -> Iterator[Mutant]: ...

class Sees:
    verdicts: list[Any]
    notes: list[str]
    passes: int
    floor: float
    margin: tuple[float, float]
    status: int
    data: Record
    def matrix(self, rows: Any = None, exact: bool = False) -> Mask: ...
    def __bool__(self) -> bool: ...

def see(
    model: Callable[..., Any],
    batch: Any,
    *,
    segments: Any = None,
    valid: Any = None,
    causal: bool = True,
    way: Literal["differences", "cotangents", "tangents"] | None = None,
    everywhere: bool = False,
    layers: bool = True,
) -> Sees: ...

def phases(
    subject: Any,
    prompt: Any = None,
    *,
    cache: Any = None,
    chunks: Iterable[int] | None = None,
    length: int | None = None,
    **options: Any,
) -> Answer: ...

class Seen:
    layers: list[str]
    unread: dict[str, str]
    def __getitem__(self, layer: str) -> Mask: ...
    def __iter__(self) -> Iterator[Mask]: ...
    def __len__(self) -> int: ...

class Call:
    layer: str
    module: str
    function: str
    lengths: tuple[int, int, int, int]
    dtype: str
    given: dict[str, Any]
    mask: Mask | None
    known: str
    unknown: int
    unread: str
    times: int
    applied: str
    obeys: bool | None
    held: Any

class Checks:
    def __iter__(self) -> Iterator[tuple[Mask, Answer]]: ...
    def __bool__(self) -> bool: ...

class Run(Seen):
    other: dict[str, int]
    notes: list[str]
    @property
    def calls(self) -> list[Call]: ...
    def table(self) -> str: ...
    def check(self, **options: Any) -> Checks: ...
    def diff(self, other: Run | str | PathLike[str]) -> Answer: ...
    def save(self, path: str | PathLike[str], *, force: bool = False) -> None: ...

class Split:
    whole: float
    mask: float
    rest: float

def split_outputs(
    mask_a: Mask | _Array,
    mask_b: Mask | _Array,
    query: _Array,
    key: _Array,
    value: _Array,
    out_a: _Array,
    out_b: _Array,
    scale: float | None = None,
) -> Split: ...

class LogitSplit:
    mask: tuple[float, float]
    whole: tuple[float, float] | None
    rest: tuple[float, float] | None
    layers: dict[str, tuple[float, float]]
    notes: list[str]

def split_logits(model: Any, inputs: Any, other: Run | str | PathLike[str], *, logits: Any = None) -> LogitSplit: ...
def audit_flex(
    mask_mod: Any, block_mask: Any, q: _Array, k: _Array, v: _Array, out: _Array, *, scale: float | None = None
) -> Answer: ...

class watch:
    def __init__(self, model: Any, *, every: int = ..., rank: int | None = ..., fail: bool = ..., segments: Any = ...,
                 prove: int = ...) -> None: ...
    def __enter__(self) -> Run: ...
    def __exit__(self, *exception: Any) -> None: ...

class capture(watch): ...
