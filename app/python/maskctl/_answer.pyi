from typing import Any, Literal

from ._mask import Mask

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
    gone: list[str]
    not_looked_at: list[_NotLookedAt]

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
