from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import Any, Literal

from ._answer import Answer as Answer, CheckAnswer as CheckAnswer, DiffAnswer as DiffAnswer, Error as Error
from ._answer import Record as Record, VerifyAnswer as VerifyAnswer
from ._mask import Mask as Mask, _Array, _Source, _Words

version: str
__version__: str

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
