"""Runs what `maskctl translate` prints in the real libraries on CPU, and reads calls of these libraries
back, cell by cell. What the library makes is found from its own objects: the weights of an attention
over one-hot values, the mask function's tensor, a bias or mask class made dense.

    code.py MASKCTL [ROUNDS [SEED]]    needs requirements.txt; libraries that are absent are left out
"""
import inspect
import io
import json
import os
import random
import subprocess
import sys
import types
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import numpy as np
import torch

PROGRAM = sys.argv[1]


def command(*words):
    return subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)


HEADS = 2


def applied(pipeline, queries, keys, batch=1):
    """The mask of a pipeline as maskctl applies it, [batch, HEADS, queries, keys]; None if it does
    not fit."""
    words = ["-t", pipeline] if pipeline else []
    source = f"gen:full:q={queries},k={keys},b={batch},h={HEADS}"
    made = command("apply", source, *words, "-o", "-")
    if made.returncode != 0:
        return None
    return np.broadcast_to(np.load(io.BytesIO(made.stdout)), (batch, HEADS, queries, keys))


def torch_names(queries, keys, batch):
    q = torch.zeros(batch, HEADS, queries, keys)
    k = torch.zeros(batch, HEADS, keys, keys)
    v = torch.eye(keys).expand(batch, HEADS, keys, keys)
    return {"torch": torch, "np": np, "q": q, "k": k, "v": v}


def with_result(code):
    return "\n".join(code[:-1] + ["result = " + code[-1]])


def run_sdpa(code, queries, keys, batch):
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left
    from torch.nn.functional import scaled_dot_product_attention
    names = torch_names(queries, keys, batch)
    names.update(locals())
    exec(with_result(code), names)
    return (names["result"] > 0).numpy()


def run_mha(code, queries, keys, batch):
    names = torch_names(queries, keys, batch)
    made = torch.nn.MultiheadAttention(4, HEADS, batch_first=True)
    names["mha"] = lambda *given, **named: made(*given, **named, average_attn_weights=False)
    names["query"], names["key"] = torch.zeros(batch, queries, 4), torch.zeros(batch, keys, 4)
    names["value"] = names["key"]
    exec(with_result(code), names)
    return (torch.nan_to_num(names["result"][1]) > 0).numpy()


def run_flex(code, queries, keys, batch):
    from torch.nn.attention.flex_attention import create_block_mask, create_mask
    names = torch_names(queries, keys, batch)
    names["create_block_mask"] = create_block_mask
    exec("\n".join(code), names)
    return create_mask(names["mask_mod"], batch, HEADS, queries, keys, device="cpu").numpy()


def run_hf(code, queries, keys, batch):
    from transformers import DynamicCache, LlamaConfig, masking_utils
    parameters = inspect.signature(masking_utils.create_causal_mask).parameters
    name = "cache" if "cache" in parameters else "past_key_values"  # from 5.24 on, and before
    config = LlamaConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=1)
    config._attn_implementation = "eager"
    cache = DynamicCache()  # models have one even without a past
    if keys > queries:
        past = torch.zeros(batch, 1, keys - queries, 8)
        cache.update(past, past, 0)
    names = {"torch": torch, "np": np}  # transformers makes masks without q and k
    names.update({name: getattr(masking_utils, name) for name in dir(masking_utils)
                  if name.startswith("create_")})
    names["config"] = config
    names["mask_kwargs"] = {"config": config, "inputs_embeds": torch.zeros(batch, queries, 8),
                            "attention_mask": None, name: cache}
    if not any("create_" in line for line in code):
        code = code + ["create_causal_mask(**mask_kwargs)"]
    exec(with_result(code), names)
    made = names["result"]
    if made is None:
        return np.ones((batch, HEADS, queries, keys), bool)
    return np.broadcast_to((made == 0).numpy(), (batch, HEADS, queries, keys))


def run_jax(code, queries, keys, batch):
    import jax.numpy as jnp
    from jax.nn import dot_product_attention
    eye = jnp.broadcast_to(jnp.eye(keys)[None, :, None, :], (batch, keys, HEADS, keys))
    names = {"jnp": jnp, "np": np, "dot_product_attention": dot_product_attention,
             "q": jnp.zeros((batch, queries, HEADS, keys)),
             "k": jnp.zeros((batch, keys, HEADS, keys)), "v": eye}
    exec(with_result(code), names)
    return np.asarray(names["result"]).transpose(0, 2, 1, 3) > 0


def run_splash(code, queries, keys, batch):
    import jax.numpy as jnp
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks
    from jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel import SegmentIds

    seen = {}

    def make_splash_mha(mask, **_):
        seen["mask"] = np.asarray(mask.masks[0][:, :])

        def kernel(q, k, v, segment_ids=None):
            if segment_ids is not None:
                ids = np.asarray(segment_ids.q), np.asarray(segment_ids.kv)
                equal = ids[0][..., :, None] == ids[1][..., None, :]
                seen["mask"] = seen["mask"] & equal.reshape(-1, 1, queries, keys)
        return kernel

    names = {name: getattr(masks, name) for name in dir(masks) if name.endswith("Mask")}
    names.update(np=np, jnp=jnp, SegmentIds=SegmentIds, make_splash_mha=make_splash_mha,
                 q=np.zeros((HEADS, queries, 4)), k=np.zeros((HEADS, keys, 4)), v=0,
                 jax=types.SimpleNamespace(vmap=lambda kernel: kernel))
    if not any("make_splash_mha" in line for line in code):
        code = ["mask = " + code[0], "make_splash_mha(MultiHeadMask([mask]))"]
    exec("\n".join(code), names)
    return np.broadcast_to(seen["mask"], (batch, HEADS, queries, keys))


def run_xformers(code, queries, keys, batch):
    from xformers.ops.fmha import attn_bias as biases
    names = {name: getattr(biases, name) for name in dir(biases) if name.endswith("Mask")}
    seen = {}

    def memory_efficient_attention(q, k, v, attn_bias=None):
        seen["bias"] = attn_bias
        return 0

    names.update(memory_efficient_attention=memory_efficient_attention, q=0, k=0, v=0)
    if not any("memory_efficient" in line for line in code):
        code = [f"memory_efficient_attention(q, k, v, attn_bias={code[0]})"]
    exec("\n".join(code), names)
    if seen["bias"] is None:
        return np.ones((batch, HEADS, queries, keys), bool)
    dense = seen["bias"].materialize((queries, keys)).numpy() == 0
    return np.broadcast_to(dense, (batch, HEADS, queries, keys))


RUN = {"sdpa": run_sdpa, "mha": run_mha, "flex": run_flex, "hf": run_hf, "jax": run_jax,
       "splash": run_splash, "xformers": run_xformers}


def random_pipeline(draw, queries, keys):
    """A random pipeline as people write it, with documents where Q = K or inside `within`."""
    align = draw.choice(["top-left", "bottom-right"]) if queries != keys or draw.random() < .5 else ""
    tail = f",align={align}" if align else ""
    steps = [draw.choice(["causal" + tail.replace(",", ":"), f"window:keys={draw.randint(1, 5)}{tail}",
                          f"window:both={draw.randint(0, 4)}{tail}",
                          f"window:left={draw.randint(0, 4)},right={draw.randint(0, 3)}{tail}",
                          f"window:left={draw.randint(0, 4)}{tail}", ""])]
    if draw.random() < .3:
        steps.append(f"chunk:size={draw.randint(1, 5)}" + tail)
        if draw.random() < .7:
            steps.append("causal" + tail.replace(",", ":"))
    if draw.random() < .2:
        steps.append(draw.choice([f"prefix:n={draw.randint(1, 4)}", f"sinks:n={draw.randint(1, 3)}",
                                  f"dilated:stride={draw.randint(1, 3)}",
                                  f"global:tokens={draw.randint(0, min(queries, keys) - 1)}"]))
        if draw.random() < .5:
            steps.append("causal" + tail.replace(",", ":"))
    steps = [step for step in steps if step]
    lengths = cut(draw, keys)
    if queries == keys and draw.random() < .3:
        steps.insert(draw.randint(0, len(steps)), "doc:lens=" + "+".join(map(str, lengths)))
    elif queries == keys and draw.random() < .2:
        return "within:lens=" + "+".join(map(str, lengths)) + "{" + " | ".join(steps) + "}"
    elif queries == keys and draw.random() < .2:
        steps.append(f"pad:lens={draw.randint(1, keys)},side={draw.choice(['left', 'right'])}")
    elif queries < keys and draw.random() < .3:
        q_lengths = cut(draw, queries)
        k_lengths = cut(draw, keys, len(q_lengths))
        if len(k_lengths) == len(q_lengths):
            inner = " | ".join(steps)
            return (f"within:q-lens={'+'.join(map(str, q_lengths))},"
                    f"kv-lens={'+'.join(map(str, k_lengths))}{{{inner}}}")
    return " | ".join(steps)


def random_scope(draw, queries, keys, batch):
    """A random pipeline with steps on some heads or batch entries, numbers for each batch entry,
    token types or inversion."""
    tail = f"align={draw.choice(['top-left', 'bottom-right'])}"
    numbers = lambda least: "+".join(str(draw.randint(least, keys)) for _ in range(batch))
    inner = draw.choice([f"causal:{tail}", f"window:keys={draw.randint(1, 4)},{tail}",
                         f"chunk:size={draw.randint(1, 5)},offset={draw.randint(0, 4)}",
                         f"dilated:stride={draw.randint(2, 3)}", f"window:both=2,{tail}"])
    kinds = [f"batch:{draw.randint(0, batch - 1)}{{{inner}}}", f"pad:lens={numbers(1)}",
             f"kv-lengths:lens={numbers(1)}", f"causal:offset={numbers(0)},{tail}", f"{inner} | not",
             f"pad:lens={draw.randint(1, keys)},side={draw.choice(['left', 'right'])}",
             f"heads:{draw.randint(0, HEADS - 1)}{{{inner}}}",
             f"global:tokens={draw.randint(0, min(queries, keys) - 1)}",
             f"chunk:size=3,origin={numbers(0)},{tail}", f"prefix:n={draw.randint(1, keys)}"]
    if queries == keys:
        types_of = "+".join(map(str, cut(draw, keys)))
        kinds += [f"causal | tokens:'gen:segments:lens={types_of}'", f"pad:lens={numbers(1)},of=both",
                  f"pad:lens={draw.randint(1, keys)},of=both"]
    steps = [draw.choice(kinds)]
    if draw.random() < .6:
        steps.insert(draw.randint(0, 1), f"causal:{tail}")
    return " | ".join(steps)


def cut(draw, total, parts=None):
    places = sorted(draw.sample(range(1, total), min(total - 1, (parts or draw.randint(1, 3)) - 1)))
    return [b - a for a, b in zip([0] + places, places + [total])]


def told(notes, square):
    return any("batch entry" in note or (not square and "written for Q = K" in note)
               for note in notes)


def write_round(draw, count):
    """Translates a random pipeline to all libraries, runs the code, and compares the masks."""
    keys = draw.randint(2, 10)
    queries = keys if draw.random() < .5 else draw.randint(1, keys)
    batch = draw.randint(1, 3)
    pipeline = (random_scope(draw, queries, keys, batch) if draw.random() < .5
                else random_pipeline(draw, queries, keys))
    want = applied(pipeline, queries, keys, batch)
    if want is None:
        return
    words = ["-t", pipeline] if pipeline else ["--from", "fa", "causal=False"]
    report = json.loads(command("translate", *words, "--to", "+".join(RUN), "--json").stdout)
    for entry in report["masks"][0]["libraries"]:
        name = entry["name"]
        if not entry["ok"] or name not in RUN:
            count[name]["refused"] += 1
            continue
        if told(entry["notes"], queries == keys):
            count[name]["told"] += 1
            continue
        compare(count[name], name, f"-t {pipeline!r} on {queries}x{keys}", entry, want)


def compare(count, name, what, entry, want):
    batch, _, queries, keys = want.shape
    code = entry["code"]
    try:
        have = RUN[name](list(code), queries, keys, batch)
    except Exception as error:  # the printed code fails
        count["wrong"] += 1
        print(f"{name}: {what}: {type(error).__name__}: {str(error)[:150]}\n    " + "\n    ".join(code))
        return
    # Libraries that give a row without keys the mean of V show it as open.
    dead = ~want.any(-1)
    mean = name == "hf" or name == "jax" and entry["empty_row"].startswith("the mean")
    alike = (have == want).all(-1) | (dead & (have.all(-1) if mean else ~have.any(-1)))
    if alike.all():
        count["same"] += 1
    else:
        count["wrong"] += 1
        print(f"{name}: {what}: {(have != want).sum()} cells\n    " + "\n    ".join(code))


def random_call(draw, keys):
    """A random call of a library as people paste it, and the sizes that it is for."""
    w, left, right = draw.randint(1, 5), draw.randint(0, 4), draw.randint(0, 3)
    queries = keys if draw.random() < .4 else draw.randint(1, keys)
    shape = f"({queries}, {keys})"
    q_lengths = cut(draw, queries)
    k_lengths = cut(draw, keys, len(q_lengths))
    if len(k_lengths) != len(q_lengths):
        q_lengths, k_lengths = [queries], [keys]
    calls = [
        ("splash", f"LocalMask({shape}, ({left}, {right}), {draw.randint(-2, 3)})"),
        ("splash", f"CausalMask({shape}, {draw.randint(-2, 3)})"),
        ("splash", f"LocalMask({shape}, ({left}, None), 0) & CausalMask({shape})"),
        ("splash", f"ChunkedCausalMask({shape}, {w})"),
        ("xformers", "LowerTriangularMask()"),
        ("xformers", "LowerTriangularFromBottomRightMask()"),
        ("xformers", f"LowerTriangularFromBottomRightLocalAttentionMask({w})"),
        ("xformers", f"LocalAttentionFromBottomRightMask({left}, {right})"),
        ("xformers", f"BlockDiagonalMask.from_seqlens({q_lengths}, {k_lengths})"),
        ("xformers", f"BlockDiagonalMask.from_seqlens({q_lengths}, {k_lengths}).make_causal()"),
        ("xformers", f"BlockDiagonalMask.from_seqlens({q_lengths}, {k_lengths})"
                     ".make_causal_from_bottomright()"),
        ("xformers", f"BlockDiagonalMask.from_seqlens({q_lengths}, {k_lengths})"
                     f".make_local_attention_from_bottomright({w})"),
        ("jax", f"dot_product_attention(q, k, v, is_causal={draw.random() < .5}, "
                f"local_window_size=({left}, {right}))"),
        ("jax", f"dot_product_attention(q, k, v, local_window_size={w})"),
        ("sdpa", f"scaled_dot_product_attention(q, k, v, is_causal={draw.random() < .5})"),
        ("sdpa", f"scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right{shape})"),
        ("hf", f"config.sliding_window = {w}\ncreate_sliding_window_causal_mask(**mask_kwargs)"),
        ("hf", f"config.attention_chunk_size = {w}\ncreate_chunked_causal_mask(**mask_kwargs)"),
        ("hf", f"config.sliding_window = {w}\n"
               "create_bidirectional_sliding_window_mask(**mask_kwargs)"),
        ("hf", "create_causal_mask(**mask_kwargs)"),
    ]
    library, text = draw.choice([call for call in calls if call[0] in RUN])
    if "Padded" not in text and "BlockDiagonal" not in text and library == "xformers" and queries > keys:
        queries = keys
    return library, text, queries


def read_round(draw, count):
    """Reads a random call of a library, runs the call, and compares the masks."""
    keys = draw.randint(2, 10)
    library, text, queries = random_call(draw, keys)
    name = library + " (read)"
    read = command("translate", "--from", library, text, "--to", "ck_tile", "--json")
    if read.returncode == 2:
        count[name]["refused"] += 1
        print(f"{name}: {text!r}: {read.stderr.decode().strip().splitlines()[0]}")
        return
    pipeline = json.loads(read.stdout)["masks"][0]["pipeline"]
    want = applied(pipeline, queries, keys)
    if want is None:
        count[name]["wrong"] += 1
        print(f"{name}: {text!r}: {pipeline} does not fit {queries}x{keys}")
        return
    try:
        have = RUN[library](text.splitlines(), queries, keys, 1)
    except (ValueError, RuntimeError) as error:  # the library refuses the call
        count[name]["told"] += 1
        return
    dead = ~want.any(-1)
    alike = (have == want).all(-1) | (dead & (have.all(-1) | ~have.any(-1)))
    if alike.all():
        count[name]["same"] += 1
    else:
        count[name]["wrong"] += 1
        print(f"{name}: {text!r} on {queries}x{keys}: read as {pipeline}: {(have != want).sum()} cells")


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    torch.set_num_threads(1)
    for name, module in (("jax", "jax"), ("splash", "jax"), ("xformers", "xformers"),
                         ("hf", "transformers")):
        try:
            __import__(module)
        except ImportError:
            RUN.pop(name, None)
    fresh = lambda: {"same": 0, "wrong": 0, "refused": 0, "told": 0}
    count = {name + tail: fresh() for name in RUN for tail in ("", " (read)")}
    for _ in range(rounds):
        write_round(draw, count)
        read_round(draw, count)
    for name, found in count.items():
        if any(found.values()):
            print(f"{name:<18}" + ", ".join(f"{n} {kind}" for kind, n in found.items()))
    sys.exit(1 if any(found["wrong"] for found in count.values()) else 0)


if __name__ == "__main__":
    main()
