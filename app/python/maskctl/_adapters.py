"""The libraries that the kit knows how to call."""

from maskctl._adapter import ADAPTERS, adapter, plain_attention
from maskctl import _adapters_jax, _adapters_onnx, _adapters_other, _adapters_torch  # register theirs

__all__ = ["ADAPTERS"]


@adapter("numpy")
def plain(case):
    return plain_attention(case, case.mask)
