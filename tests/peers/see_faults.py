"""maskctl.see on small hybrid models of torch: attention, gated states, short convolutions and experts, packed,
padded and in batches. Faults are planted in single layers; see has to name the question, the layer and what
the shape may come from, and to be silent on models without a fault.

    peers/bin/python tests/peers/see_faults.py COUNT SEED [SOUND]
"""
import collections
import random
import sys
import time

import torch
from torch.nn import functional

import maskctl

WIDTH = 32
# What is planted: the kind of layer that it is in, the questions that may show it, the shapes that may be said.
FAULTS = {
    "future cell": ("attention", {"future"}, {"cell", "column"}),
    "documents dropped": ("attention", {"documents"}, {"document"}),
    "sink over documents": ("attention", {"documents"}, {"column"}),
    "padding read": ("attention", {"padding"}, {"padding"}),
    "state not reset": ("state", {"documents"}, {"decay", "document"}),
    "convolution over borders": ("convolution", {"documents"}, {"near"}),
    "entries mixed": (None, {"batch"}, {"entries"}),
    "capacity by order": ("experts", {"documents", "batch"}, {"choice", "entries"}),
}


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.fault, self.cell = None, None

    def forward(self, x, ids):
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, WIDTH // 4)).permute(2, 0, 3, 1, 4)
        place = torch.arange(x.shape[1])
        same, keys = ids[:, :, None] == ids[:, None], (ids >= 0)[:, None]
        if self.fault == "documents dropped":
            same = torch.ones_like(same)
        if self.fault == "sink over documents":
            same = same | (place == 0)
        if self.fault == "padding read":
            keys, same = torch.ones_like(keys), same | (ids < 0)[:, None]
            mask = same & ((place[:, None] >= place) | (ids < 0)[:, None])
        else:
            mask = same & keys & (place[:, None] >= place)
        if self.fault == "future cell":
            mask[:, self.cell[0], self.cell[1]] = True
        mask = mask | torch.eye(x.shape[1], dtype=torch.bool)
        out = functional.scaled_dot_product_attention(q, k, v, mask[:, None])
        return self.out(out.transpose(1, 2).flatten(2))


class State(torch.nn.Module):
    """s = decay * s + k v, read by q; the gates depend on the token."""

    def __init__(self):
        super().__init__()
        self.qkv, self.gate, self.out = torch.nn.Linear(WIDTH, 24), torch.nn.Linear(WIDTH, 1), torch.nn.Linear(8, WIDTH)
        self.fault, self.slow = None, random.choice((0.0, 1.0, 2.0))

    def forward(self, x, ids):
        q, k, v = self.qkv(x).chunk(3, -1)
        decay = torch.sigmoid(self.gate(x) + self.slow)
        starts = ids != torch.cat([ids[:, :1], ids[:, :-1]], 1)
        state, out = torch.zeros(len(x), 8, 8, dtype=x.dtype), []
        for t in range(x.shape[1]):
            kept = decay[:, t, :, None] * state
            if self.fault != "state not reset":
                kept = torch.where(starts[:, t, None, None], 0, kept)
            state = kept + k[:, t, :, None] * v[:, t, None] * (ids[:, t] >= 0)[:, None, None]
            out.append((q[:, t, None] @ state)[:, 0])
        return self.out(torch.stack(out, 1))


class Convolution(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.width = random.choice((2, 3, 4, 5))
        self.conv1d = torch.nn.Conv1d(WIDTH, WIDTH, self.width, groups=WIDTH)
        self.fault = None

    def forward(self, x, ids):
        out = self.conv1d.bias + torch.zeros_like(x)
        for back in range(self.width):
            moved = functional.pad(x, (0, 0, back, 0))[:, :x.shape[1]]
            of = functional.pad(ids, (back, 0), value=-2)[:, :x.shape[1]]
            open_ones = (of >= 0) if self.fault == "convolution over borders" else (of == ids) & (of >= 0)
            out = out + self.conv1d.weight[:, 0, self.width - 1 - back] * torch.where(open_ones[..., None], moved, 0)
        return functional.silu(out)


class Experts(torch.nn.Module):
    """The best of four experts, each of which takes so many tokens, the first ones."""

    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(WIDTH, 4)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.fault = None

    def forward(self, x, ids):
        flat = x.flatten(0, 1)
        best = self.router(flat).argmax(-1)
        most = len(flat) // 8 if self.fault == "capacity by order" else len(flat)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            of = torch.nonzero(best == number)[:most, 0]
            out = out.index_copy(0, of, expert(flat[of]))
        return out.view_as(x)


KINDS = {"attention": Attention, "state": State, "convolution": Convolution, "experts": Experts}


class Block(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.norm, self.mixer = torch.nn.LayerNorm(WIDTH), KINDS[kind]()
        self.mixes = False

    def forward(self, x, ids):
        x = x + self.mixer(self.norm(x), ids)
        return x + 0.1 * x.mean(0, keepdim=True) if self.mixes else x


class Model(torch.nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(64, WIDTH), torch.nn.Linear(WIDTH, 48)
        self.layers = torch.nn.ModuleList(map(Block, kinds))

    def forward(self, input_ids, ids):
        x = self.embed(input_ids)
        for layer in self.layers:
            x = layer(x, ids)
        return self.head(x)


def drawn(fault, dtype):
    """A model with a fault, or without one, its batch, and the documents of its tokens."""
    kinds = [random.choice(list(KINDS)) for _ in range(random.randint(2, 5))]
    batch, tokens = random.choice((1, 2, 3)), random.randint(16, 96)
    at = random.randrange(len(kinds))
    kind = FAULTS[fault][0] if fault else None
    if kind:
        kinds[at] = kind
    if fault == "entries mixed":
        batch = max(batch, 2)
    model = Model(kinds).to(dtype).eval()
    ids = torch.zeros(batch, tokens, dtype=torch.long)
    for row in ids:
        for border in random.sample(range(2, tokens - 2), random.randint(1, 3)):
            row[border:] += 1
        if fault == "padding read" or random.random() < 0.4:
            row[-random.randint(1, 5):] = -1
    mixer = model.layers[at].mixer
    if fault == "entries mixed":
        model.layers[at].mixes = True
    elif fault:
        mixer.fault = fault
    if fault == "future cell":
        begin, end = random.choice([(int(torch.nonzero(row == d)[0]), int(torch.nonzero(row == d)[-1]) + 1)
                                    for row in ids[:1] for d in row.unique() if d >= 0 and (row == d).sum() > 1])
        mixer.cell = sorted(random.sample(range(begin, end), 2))
        ids[1:] = ids[0]
    return model, torch.randint(64, (batch, tokens)), ids, f"layers.{at}"


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    sound = int(sys.argv[3]) if len(sys.argv) > 3 else count
    random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    tally, passes, seconds = collections.Counter(), [], []
    for number in range(count + sound):
        fault = list(FAULTS)[number % len(FAULTS)] if number < count else None
        dtype = random.choice((torch.float32, torch.bfloat16))
        model, tokens, ids, where = drawn(fault, dtype)
        begin = time.time()
        with torch.no_grad():
            answer = maskctl.see(model, {"input_ids": tokens, "ids": ids}, segments=ids)
        seconds.append(time.time() - begin)
        leaks = [one for one in answer.data.questions if one.leaks]
        if fault is None:
            tally["sound", "silent" if answer else "FALSE ALARM"] += 1
            if not answer:
                print(f"FALSE ALARM {number}, {dtype}\n{answer}")
            continue
        _, questions, shapes = FAULTS[fault]
        found = [one for one in leaks if one.name in questions]
        said = ("missed" if not found else "named" if any(
            (one.layer or "").startswith(where) and one.shape and one.shape.kind in shapes for one in found) else
            "layer named" if any((one.layer or "").startswith(where) for one in found) else "found")
        tally[fault, said] += 1
        if said != "named":
            print(f"{number}: {fault} in {where}, {dtype}, {tuple(ids.shape)}: {said}\n{answer}\n")
    for (what, said), times in sorted(tally.items()):
        print(f"{what}: {times} {said}")
    named = sum(times for (_, said), times in tally.items() if said == "named")
    print(f"{named} of {count} named, {tally['sound', 'FALSE ALARM']} of {sound} false, "
          f"{sum(seconds) / len(seconds):.2f} s each")


if __name__ == "__main__":
    main()
