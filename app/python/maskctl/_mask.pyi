from collections.abc import Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, SupportsIndex

from ._answer import Answer, CheckAnswer, DiffAnswer, VerifyAnswer

_Array = Any  # what has DLPack or the buffer protocol, or lists of numbers
_Source = Mask | _Array | str
_Strings = Sequence[str] | tuple[Any, _Array]  # tokens, or a tokenizer and ids
_Tokens = str | PathLike[str] | _Strings | dict[str, _Strings]
_Words = str | int | float | Sequence[str]
_Shape = SupportsIndex | Sequence[SupportsIndex]
_Index = SupportsIndex | slice | EllipsisType

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
