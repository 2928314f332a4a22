from collections.abc import Callable
from typing import Any

from maskctl import Mask

_Array = Any  # a tensor of torch where torch is there
_Size = int | tuple[int, int]

def mask(block_mask: Any, *, evaluate: bool = False, name: str = "block_mask") -> Mask: ...
def block_mask(
    mask: Mask | None = None,
    pipeline: str = "",
    block_size: _Size = 128,
    *,
    cu_seqlens: _Array = None,
    ids: _Array = None,
    mask_mod: Callable[..., Any] | None = None,
    device: Any = None,
    **arrays: Mask | _Array,
) -> Any: ...
def fa4(
    mask: Mask | None = None,
    pipeline: str = "",
    block_size: _Size = 128,
    *,
    cu_seqlens: _Array = None,
    ids: _Array = None,
    by_keys: bool = False,
    **arrays: Mask | _Array,
) -> dict[str, Any]: ...
def bsr(
    mask: Mask | None = None,
    pipeline: str = "",
    block_size: _Size = 128,
    *,
    cu_seqlens: _Array = None,
    ids: _Array = None,
    by_keys: bool = False,
    **arrays: Mask | _Array,
) -> tuple[_Array, _Array]: ...
