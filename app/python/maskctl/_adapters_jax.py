"""How the kit calls JAX. Each call is compiled whole, since JAX compiles each operation that runs by itself."""

import os

from maskctl._adapter import adapter
from maskctl._kit_cases import Unsupported


def _vjp(call, case, *rest):
    """The output of call(q, k, v, *rest), and gradients where the case has a cotangent; `call` may return
    (out, lse)."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def passes(q, k, v, cotangent, *rest):
        if cotangent is None:
            return call(q, k, v, *rest), ()
        returned, pull = jax.vjp(lambda *inputs: call(*inputs, *rest), q, k, v)
        return returned, pull(cotangent)

    dtype = getattr(jnp, case.dtype)
    arrays = [None if array is None else jnp.asarray(array, dtype)
              for array in (case.query, case.key, case.value, case.cotangent)]
    returned, gradients = jax.jit(passes)(*arrays, *rest)
    out, lse = returned if isinstance(returned, tuple) else (returned, None)
    given = dict(zip(("out", "lse", "grad_query", "grad_key", "grad_value"), (out, lse, *gradients)))
    return {name: np.asarray(array, np.float32) for name, array in given.items() if array is not None}


def _settle():
    """On a CPU the kit compiles more than it computes."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


@adapter("jax.nn", ("jax",))
def jax_nn(case):
    _settle()
    import jax
    import jax.numpy as jnp

    case.only("scale", "bias")
    bias = None if case.bias is None else jnp.asarray(case.bias, case.dtype)

    def call(q, k, v, bias, mask):
        return jax.nn.dot_product_attention(q, k, v, bias=bias, mask=mask, scale=case.scale)

    return _vjp(call, case, bias, jnp.asarray(case.mask))


@adapter("jax.nn.arguments", ("jax",))
def jax_nn_arguments(case):
    """is_causal, local_window_size and key_value_seq_lengths wherever a case is made of their like."""
    _settle()
    import jax
    import jax.numpy as jnp
    import numpy as np

    case.only("scale", "bias")
    batch, keys = case.key.shape[:2]
    given = {}
    for name, of in case.chain("causal", "window", "kv-lengths", "pad"):
        if "offset" in of:
            raise Unsupported("no argument for an offset")
        if name == "causal":
            given["is_causal"] = True
        elif name == "window":
            given["local_window_size"] = tuple(keys if of[side] is None else of[side] for side in ("left", "right"))
        elif "lens" not in of or of.get("side", "right") != "right":
            raise Unsupported(f"no argument for {case.steps}")
        else:
            given["key_value_seq_lengths"] = jnp.asarray(np.broadcast_to(of["lens"], batch), jnp.int32)
    bias = None if case.bias is None else jnp.asarray(case.bias, case.dtype)

    def call(q, k, v, bias):
        return jax.nn.dot_product_attention(q, k, v, bias=bias, scale=case.scale, **given)

    return _vjp(call, case, bias)


@adapter("jax.splash", ("jax",))
def splash(case):
    """Splash attention, interpreted, in its smallest blocks of 128 tokens, to which queries and keys are padded:
    added keys are closed."""
    _settle()
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental.pallas.ops.tpu import splash_attention as library

    case.only("scale", "soft_cap")
    if (case.mask != case.mask[:1]).any():
        raise Unsupported("a mask has no batch axis")
    queries, keys = case.mask.shape[2:]
    more = [(0, -length % 128) for length in (queries, keys)]
    masks = library.splash_attention_mask
    mask = masks.MultiHeadMask([masks.NumpyMask(np.pad(one, more)) for one in case.mask[0]])
    kernel = library.splash_attention_kernel.make_splash_mha(
        mask, block_sizes=library.splash_attention_kernel.BlockSizes.get_default(), head_shards=1, q_seq_shards=1,
        save_residuals=case.asks == "lse", attn_logits_soft_cap=case.soft_cap, interpret=True)

    def call(q, k, v):
        padded = [jnp.pad(x, [(0, 0), added, (0, 0), (0, 0)]).swapaxes(1, 2)
                  for x, added in zip((q * case.used_scale, k, v), (more[0], more[1], more[1]))]
        returned = jax.vmap(kernel)(*padded)
        out = returned[0] if case.asks == "lse" else returned
        out = out.swapaxes(1, 2)[:, :queries]
        if case.asks != "lse":
            return out
        residuals = returned[1]
        return out, (residuals["logsumexp"] if isinstance(residuals, dict) else residuals[0])[:, :, :queries]

    return _vjp(call, case)
