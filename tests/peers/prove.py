"""watch(prove=) on models of many layers, each of which calls attention: torch's fused kernels of the CPU, and stand-ins for
flash-attn 2, 3 and 4 with packed sequences, caches and pages, of which some apply another mask than they are given. What is
solved is compared with what was applied, cell by cell; faults have to be found in their layer.

    peers/bin/python tests/peers/prove.py [LAYERS [SEED [KIND...]]]
"""
import collections
import pathlib
import sys

import numpy as np
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
import flash_attn_stand_ins

import maskctl
from maskctl import _proof, _watch

KERNELS = flash_attn_stand_ins.Kernels()
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


class Layer(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self):
        return self.call()


class Model(torch.nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(call) for call in calls)

    def forward(self):
        for layer in self.layers:
            layer()


class Draw:
    """Random arguments of one call."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.generator = torch.Generator().manual_seed(int(seed[-1]))
        self.dtype = DTYPES[int(self.rng.integers(3))]
        self.key_heads = int(self.rng.choice([1, 2]))
        self.heads = self.key_heads * int(self.rng.choice([1, 2, 4]))
        self.dim = int(self.rng.choice([32, 64]))

    def one(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def lengths(self, count, most):
        """Among them short ones."""
        return [int(self.rng.integers(1, self.one(3, most, most) + 1)) for _ in range(count)]

    def array(self, *shape):
        return torch.randn(*shape, self.dim, generator=self.generator).to(self.dtype)

    def flags(self, version):
        window = self.one((-1, -1), (-1, -1), (15, 0), (40, 0), (20, 7))
        more = {"causal": self.one(True, True, False), "window_size": window}
        if version == "4":
            more["window_size"] = tuple(None if n < 0 else n for n in window)
        kind = self.one("", "", "", "softcap", "alibi", "sinks", "scale")
        if kind == "softcap":
            more["softcap"] = 2.0
        if kind == "alibi" and version == "2":
            more["alibi_slopes"] = torch.rand(self.heads, generator=self.generator) * 0.2
        if kind == "sinks" and version == "4":
            more["learnable_sink"] = torch.randn(self.heads, generator=self.generator)
        if kind == "scale":
            more["softmax_scale"] = 0.3
        return more


MODULES = {"2": "flash_attn", "3": "flash_attn_interface", "4": "flash_attn.cute"}


def ends(lengths):
    return torch.tensor(np.concatenate([[0], np.cumsum(lengths)]), dtype=torch.int32)


def fixed(draw, version):
    batch, queries, keys = draw.one(1, 3), *draw.one((1, 200), (150, 150), (40, 170), (2, 2))
    return "flash_attn_func", dict(q=draw.array(batch, queries, draw.heads), k=draw.array(batch, keys, draw.key_heads),
                                   v=draw.array(batch, keys, draw.key_heads))


def varlen(draw, version):
    count = draw.one(2, 5)
    queries = draw.lengths(count, 90)
    keys = draw.one(queries, [n + m for n, m in zip(queries, draw.lengths(count, 30))])
    return "flash_attn_varlen_func", dict(
        q=draw.array(sum(queries), draw.heads), k=draw.array(sum(keys), draw.key_heads), v=draw.array(sum(keys), draw.key_heads),
        cu_seqlens_q=ends(queries), cu_seqlens_k=ends(keys), max_seqlen_q=max(queries), max_seqlen_k=max(keys))


def cached(draw, version):
    batch, size, new = draw.one(1, 4), draw.one(64, 200), draw.one(0, 1, 6)
    rows = batch + 2
    queries = draw.one(1, max(1, new), 5)
    before = [max(queries, n) for n in draw.lengths(batch, size - new)]
    given = dict(q=draw.array(batch, queries, draw.heads), k_cache=draw.array(rows, size, draw.key_heads),
                 v_cache=draw.array(rows, size, draw.key_heads), cache_seqlens=torch.tensor(before, dtype=torch.int32))
    if new:
        given |= dict(k=draw.array(batch, new, draw.key_heads), v=draw.array(batch, new, draw.key_heads))
    if draw.one(True, False):
        given["cache_batch_idx"] = torch.tensor(draw.rng.permutation(rows)[:batch], dtype=torch.int32)
    else:
        given |= {name: given[name][:batch].contiguous() for name in ("k_cache", "v_cache")}
    if draw.one(True, False):
        given["cache_leftpad"] = torch.tensor([int(draw.rng.integers(0, n - queries + 1)) for n in before], dtype=torch.int32)
    if version == "3" and draw.one(True, False) and new:
        lengths = [int(draw.rng.integers(1, queries + 1)) for _ in range(batch)]
        given |= dict(q=draw.array(sum(lengths), draw.heads), cu_seqlens_q=ends(lengths), max_seqlen_q=max(lengths))
    return "flash_attn_with_kvcache", given


def paged(draw, version):
    batch, size = draw.one(1, 3, 6), draw.one(16, 32)
    queries = [1] * batch if draw.one(True, False) else draw.lengths(batch, 20)
    used = [n + m for n, m in zip(queries, draw.lengths(batch, 120))]
    width = -(-max(used) // size) + draw.one(0, 1)
    pages = draw.rng.permutation(batch * width + 3)[:batch * width].reshape(batch, width)
    for row, n in zip(pages, used):
        row[-(-n // size):] = draw.one(0, -1)
    table = torch.tensor(pages, dtype=torch.int32)
    key, value = (draw.array(batch * width + 3, size, draw.key_heads) for _ in "kv")
    used = torch.tensor(used, dtype=torch.int32)
    if version != "4" and len(set(queries)) == 1 and draw.one(True, False):
        name = "block_table" if version == "2" else "page_table"
        return "flash_attn_with_kvcache", {"q": draw.array(batch, queries[0], draw.heads), "k_cache": key, "v_cache": value,
                                           "cache_seqlens": used, name: table}
    given = dict(q=draw.array(sum(queries), draw.heads), k=key, v=value, cu_seqlens_q=ends(queries), max_seqlen_q=max(queries))
    if version == "4":
        return "flash_attn_varlen_func", given | dict(seqused_k=used, page_table=table)
    if version == "3":
        return None
    return "flash_attn_varlen_func", given | dict(cu_seqlens_k=ends(used.tolist()), max_seqlen_k=int(used.max()), block_table=table)


KINDS = {"fixed": (fixed, ["window", "top-left", "softcap", "alibi"]),
         "varlen": (varlen, ["window", "top-left", "documents", "softcap", "alibi"]),
         "kvcache": (cached, ["window", "top-left", "longer", "shorter", "padding", "entries", "softcap"]),
         "paged": (paged, ["window", "top-left", "longer", "shorter", "pages", "stranger", "softcap"])}


def repacked(draw, version, name, given):
    """The same call with queries, keys and values in one array, where a version has a function for it."""
    q, k, v = (given.get(key) for key in "qkv")
    ending = name.removeprefix("flash_attn_")
    if ending not in ("func", "varlen_func") or given.keys() & {"block_table", "page_table"} or draw.one(True, False):
        return name, given
    rest = {key: value for key, value in given.items() if key not in ("q", "k", "v")}
    if version == "2" and (q.shape != k.shape or draw.one(True, False)):
        return name.replace("_func", "_kvpacked_func"), {"q": q, "kv": torch.stack([k, v], -3)} | rest
    if version == "2":
        if ending == "varlen_func":
            if not torch.equal(rest["cu_seqlens_q"], rest["cu_seqlens_k"]):
                return name, given
            rest = {"cu_seqlens": rest["cu_seqlens_q"], "max_seqlen": rest["max_seqlen_q"]}
        return name.replace("_func", "_qkvpacked_func"), {"qkv": torch.stack([q, k, v], -3)} | rest
    if version == "3" and ending == "func" and q.shape[:-2] == k.shape[:-2]:
        return "flash_attn_qkvpacked_func", {"qkv": torch.cat([q, k, v], -2), "num_heads_q": q.shape[-2]}
    return name, given


LEFT_OUT = {"softcap": "softcap", "alibi": "alibi_slopes"}


def stand_in(kind, seed):
    """(the call, the fault that is planted or None)"""
    for attempt in range(1000):
        draw = Draw([*seed, attempt])
        version = draw.one("2", "3") if kind == "kvcache" else draw.one("2", "3", "4")
        made = KINDS[kind][0](draw, version)
        if made is not None:
            break
    name, given = repacked(draw, version, *made)
    given |= draw.flags(version)
    faults = [one for one in KINDS[kind][1] if one not in LEFT_OUT or given.get(LEFT_OUT[one]) is not None]
    fault = draw.one(*faults) if draw.one(True, False) else None

    def call():
        KERNELS.fault = fault
        return getattr(sys.modules[MODULES[version]], name)(**{key: value.clone() if torch.is_tensor(value) else value
                                                               for key, value in given.items()})

    return call, fault


BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION, "chosen": None}


def fused(kind, seed):
    draw = Draw([*seed, 0])
    batch, queries, keys = draw.one(1, 3), *draw.one((1, 200), (150, 150), (40, 170), (2, 2), (300, 300))
    q, k, v = (draw.array(batch, heads, n) for heads, n in ((draw.heads, queries), (draw.key_heads, keys), (draw.key_heads, keys)))
    k, v = (one.repeat_interleave(draw.heads // draw.key_heads, 1) for one in (k, v))
    at, key = torch.arange(queries)[:, None] + keys - queries, torch.arange(keys)
    masks = [None, key <= at, (key <= at) & (at - key < 30), (at // 50 == key // 50) & (key <= at), torch.rand(queries, keys) < 0.5]
    mask = draw.one(*masks)
    if mask is not None and draw.one(True, False, False):  # added to the scores
        mask = torch.zeros(queries, keys).masked_fill(~mask, -torch.inf) + torch.randn(queries, keys) * draw.one(0, 1)
        mask = mask.to(draw.dtype)
    causal = mask is None and draw.one(True, False)

    def call():
        with sdpa_kernel([BACKENDS[kind]] if BACKENDS[kind] else list(BACKENDS.values())[:2]):
            return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)

    return call, None


class Solved:
    """What is solved of each sample."""

    def __enter__(self):
        self._of, self._calls, self._real = {}, [], (_proof._solved, _watch.proof)
        _proof._solved, _watch.proof = self._solved, self._proof
        return self

    def __exit__(self, *_):
        _proof._solved, _watch.proof = self._real

    def _proof(self, spread, last):
        self._calls.append(spread)
        return self._real[1](spread, last)

    def _solved(self, sample, cells):
        found = self._real[0](sample, cells)
        if cells is sample.cells:
            self._of[id(sample)] = found
        return found

    def calls(self):
        """For each call that was solved, in order, [(sample, its cells, what verify() says)]."""
        return [[(sample, *self._of.get(id(sample), (None, None))) for sample in spread] for spread in self._calls]


def truth_of(sample, applied):
    """The cells of a sample that were applied; None where those of other sequences were."""
    out = torch.zeros_like(sample.cells)
    keys = sample.cells.shape[3] - sample.sinks
    for at, ((batch, _), queries) in enumerate(zip(sample.places, sample.queries)):
        mask = applied[min(batch, len(applied) - 1)] if isinstance(applied, list) else applied
        if mask is None:
            return None
        mask = functional.pad(mask, (0, max(0, keys - mask.shape[1])))
        if mask[:, keys:].any():
            return None
        out[at, 0, :, :keys] = mask[queries][:, :keys]
    if sample.sinks:
        out[..., -1] = True
    return out


def count(call, found, applied, fault, tally, name):
    """Cells that were decided wrongly, and whether a fault is told."""
    tally["layers"] += 1
    told = call.obeys is False
    truths = [truth_of(sample, applied) for sample, _, _ in found]
    visible = fault in LEFT_OUT or any(truth is None or not torch.equal(truth, sample.cells)
                                                   for (sample, _, _), truth in zip(found, truths))
    for (sample, solved, answer), truth in zip(found, truths):
        tally["rows"] += sample.rows
        if solved is None or truth is None or fault in LEFT_OUT:
            continue
        data = answer.data["solved"]
        undecided = torch.zeros_like(truth)
        for place in data["undecided"]:
            undecided[tuple(place)] = True
        lost = solved != truth
        invented = (lost & (solved != sample.cells)).sum().item()
        missed = (lost & (solved == sample.cells) & ~undecided).sum().item()
        listed = data["undecided_cells"] <= len(data["undecided"])
        tally["cells"] += truth.numel()
        tally["undecided"] += data["undecided_cells"]
        tally["WRONG"] += invented + (missed if listed or missed > data["undecided_cells"] else 0)
        if invented or (missed and listed):
            print(f"WRONG: {name}: {invented} invented, {missed} missed: {call.applied}")
    if fault and visible:
        below = [truth is not None and solved is not None and not told for (_, solved, _), truth in zip(found, truths)]
        tally["faults"] += 1
        tally["found"] += told
        if not told:
            tally["faults below rounding or undecided"] += all(below)
            tally["NOT FOUND"] += not all(below)
            print(f"not found: {name}, {fault}: {call.applied}, {call.unread}, {call.given}")
    else:
        tally["FALSE ALARMS"] += told
        tally["fully solved"] += call.obeys is True
        if told or call.obeys is None:
            print(f"{'FALSE ALARM' if told else 'untold'}: {name}, {fault}: {call.applied}, {call.unread}")


def run(kind, make, layers, seed, tally):
    made = [make(kind, [seed, number]) for number in range(layers)]
    KERNELS.applied.clear()
    with KERNELS.installed(), Solved() as solved:
        model = Model([call for call, _ in made])
        with maskctl.watch(model, prove=64) as rows:
            model()
    calls = {call.layer: call for call in rows.calls}
    proved = [call for call in rows.calls if call.obeys is not None or " rows solved" in call.applied]
    found = dict(zip(map(id, proved), solved.calls(), strict=True))
    for number, (_, fault) in enumerate(made):
        call = calls[f"layers.{number}"]
        name = f"{kind} {number} {call.function} {call.lengths} {call.dtype}"
        if id(call) not in found or call.mask is None:
            tally["not solved"] += 1
            print(f"not solved: {name}: {call.applied} {call.unread}")
            continue
        applied = KERNELS.applied[number] if KERNELS.applied else [
            one.expand(-1, 1, -1, -1)[0, 0] for one in torch.from_dlpack(call.mask).bool().reshape(call.mask.shape).split(1)]
        count(call, found[id(call)], applied, fault, tally, name)


def main():
    layers, seed = (int(one) for one in [*sys.argv[1:3], *["100", "1"][len(sys.argv[1:3]):]])
    only = sys.argv[3:]
    torch.set_num_threads(1)
    bad = 0
    for kinds, make in ((KINDS, stand_in), (BACKENDS, fused)):
        for kind in kinds:
            if only and kind not in only:
                continue
            tally = collections.Counter()
            run(kind, make, layers, seed, tally)
            print(f"{kind}: " + ", ".join(f"{value} {key}" for key, value in tally.items()), flush=True)
            bad += tally["WRONG"] + tally["FALSE ALARMS"] + tally["NOT FOUND"] + tally["not solved"]
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
