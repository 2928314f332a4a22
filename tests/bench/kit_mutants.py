#!/usr/bin/env python3
"""How many wrong kernels the cases of the kit find, beside what the suites of other projects would find by the
masks, shapes and tolerances that they have.

    kit_mutants.py PROGRAM [--count N] [--suite NAME]... [--jobs N]

Of each case N mutants are made (5), outputs of kernels that are wrong on purpose, and judged by the rule of the
suite: cases of the kit as the kit judges, by `verify`. A kind of mistake is found by a suite if a mutant of it, made
of any of its cases, is refused: kinds that were not drawn are asked of one case after another until one is. A kind
that none of its cases can have, such as a wider window where no mask has one, is not found. Prints a row for each
suite, and what it does not find. Only outputs and the lse are looked at, no gradients."""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import subprocess
import tempfile

import numpy as np

# What the suites ask, as read in their sources: (queries, keys), masks, heads and key heads, D, precision and rule.
# FlashAttention 4, tests/cute/test_mask_mod.py: lengths above 1024 and tiles, which change no result, are left out,
# and 16 heads are 4, in three groupings. Its rule: twice the error of the same in low precision.
FA4_STATIC = [(1, 1), (64, 128), (128, 192), (256, 256), (239, 1), (799, 3), (113, 203), (113, 128), (128, 217),
              (113, 211), (108, 256), (256, 512), (384, 256), (640, 128), (512, 256), (1024, 1024), (1023, 1024),
              (1024, 1023)]
FA4_LENGTHS = [(128, 128), (256, 256), (113, 203), (1024, 1024)]
FA4_EDGES = [(200, 200), (300, 300), (129, 129), (255, 255), (500, 512), (512, 500), (333, 444)]
FA4_PARAMETERS = ["causal:align=bottom-right", "window:both=128,align=bottom-right",
                  "window:both=256,align=bottom-right", "window:both=512,align=bottom-right", "documents"]
BLOCKS, MINI_CAUSAL, DOCUMENTS = "chunk:size=128,align=top-left", "mini-causal", "documents"
# PyTorch, torch.testing._internal.common_methods_invocations: the samples of scaled_dot_product_attention and of the
# kernels below it, which are compared within what their entries say for float32. SDPA gives no lse.
TORCH_SAMPLES = [((3, 6), "", None), ((3, 6), "causal:align=top-left", None), ((11, 32), "causal:align=top-left", None),
                 ((11, 32), "causal:align=top-left", 1.0), ((11, 32), "causal:align=bottom-right", None),
                 ((11, 32), "causal:align=bottom-right", 1.0), ((3, 6), "bias", None)]
# ThunderKittens, kernels/attention/mha_h100: causal or not; no element may be off by more than 0.01 (its harness also
# accepts what is off by less than 0.001 in the mean, which is left out here).
THUNDERKITTENS = [((768, 768), "", 64), ((768, 768), "causal", 64), ((1536, 1536), "", 64),
                  ((1536, 1536), "causal", 64), ((3072, 3072), "", 128)]


class Case:
    """A mask and a call, as words of `maskctl mutants`."""

    def __init__(self, shape, steps="", batch=1, heads=2, kv_heads=None, dim=64, dtype="f32", scale=None, cap=None,
                 sinks=0, bias=False, mask=None):
        queries, keys = shape
        self.words = [mask or f"gen:full:q={queries},k={keys},b={batch},h={heads}", "-t", steps, "--batch", batch,
                      "--heads", heads, "--kv-heads", kv_heads or heads, "--dim", dim, "--dtype", dtype]
        for option, value in (("--scale", scale), ("--cap", cap), ("--sinks", sinks)):
            self.words += [option, value] if value else []
        self.words += ["--bias"] if bias else []


def kit_cases(program, folder):
    """The cases of the kit but those about gradients and NaN, which mutants lack; arrays are read from its files."""
    subprocess.run([program, "-q", "kit", "make", f"{folder}/kit"], check=True)
    with open(f"{folder}/kit/manifest.json") as file:
        made = json.load(file)["cases"]
    for case in made:
        if case["asks"] == "gradients" or case["nan_keys"]:
            continue
        with np.load(f"{folder}/kit/{case['file']}") as arrays:
            names = [name for name, array in arrays.items() if array.dtype == np.int32]
        steps = case["steps"]
        for name in names:
            for before in ":=":
                for after in (",", " ", ""):
                    at = f"{before}{name}{after}"
                    if at in steps and (after or steps.endswith(at)):
                        steps = steps.replace(at, f"{before}kit/{case['file']}:{name}{after}")
        batch, heads, queries, keys = case["shape"]
        yield Case((queries, keys), steps, batch, heads, case["kv_heads"], case["dim"], "f32", case["scale"],
                   case["soft_cap"], case["sinks"], case["bias"])


def fa4_cases(folder):
    draw = random.Random(1)

    def case(shape, steps, kv_heads):
        queries, keys = shape
        mask = None
        if steps == MINI_CAUSAL:
            mask, steps = f"{folder}/mini-{queries}-{keys}.npy", ""
            cells = np.arange(queries)[:, None] % 128 >= np.arange(keys) % 128
            np.save(mask, np.broadcast_to(cells, (1, 4, queries, keys)))
        if steps == DOCUMENTS:
            length = max(shape)
            cuts = sorted(draw.sample(range(1, length), min(length - 1, 3)))
            ends = [0, *cuts, length]
            lens = [b - a for a, b in zip(ends, ends[1:])]
            steps = "doc:lens=" + "+".join(map(str, lens))
            if queries != keys:
                ids = np.repeat(np.arange(len(lens), dtype=np.int32), lens)
                np.savez(f"{folder}/ids-{queries}-{keys}.npz", q=ids[:queries], k=ids[:keys])
                steps = f"doc:q={folder}/ids-{queries}-{keys}.npz:q,kv={folder}/ids-{queries}-{keys}.npz:k"
        return Case(shape, steps, heads=4, kv_heads=kv_heads, dim=128, dtype="bf16", mask=mask)

    for shape in FA4_STATIC:
        for steps in BLOCKS, MINI_CAUSAL:
            yield from (case(shape, steps, kv_heads) for kv_heads in (4, 1))
    for shape in FA4_LENGTHS:
        for steps in FA4_PARAMETERS:
            yield from (case(shape, steps, kv_heads) for kv_heads in (4, 1))
    for shape in FA4_EDGES:
        for steps in BLOCKS, DOCUMENTS:
            yield case(shape, steps, 4)


def torch_cases(folder):
    for shape, steps, scale in TORCH_SAMPLES:
        bias = steps == "bias"
        yield Case(shape, "" if bias else steps, batch=4, heads=4, dim=8, scale=scale, bias=bias)


def thunderkittens_cases(folder):
    for shape, steps, dim in THUNDERKITTENS:
        yield Case(shape, steps, heads=2, dim=dim, dtype="bf16")


# Name: the cases, the rule, and kinds that the suite does not look at.
NO_LSE = ["lse-base-2"]
SUITES = {
    "kit": (None, "verify", []),
    "FlashAttention 4": (fa4_cases, "fa", NO_LSE),
    "PyTorch": (torch_cases, "allclose:5e-6,5e-5", NO_LSE),
    "ThunderKittens": (thunderkittens_cases, "allclose:0,0.01", NO_LSE),
}


class Count:
    """What a suite makes of its mutants, by kind."""

    def __init__(self):
        self.cases, self.left_out, self.right_refused = 0, [], 0
        self.asked = set()  # kinds that were found when they were asked for
        self.made, self.found, self.passed, self.above = (collections.Counter() for _ in range(4))

    def add(self, rule):
        self.cases += 1
        self.right_refused += rule["right_refused"]
        for kind in rule["kinds"]:
            if kind["group"] in ("right", "coarse"):
                continue
            name = kind["kind"]
            self.made[name] += kind["made"]
            self.found[name] += kind["refused"]
            self.passed[name] += kind["accepted"] + kind["undecided"]
            self.above[name] += kind["above_bound"]

    def kinds(self):
        return {kind for kind in self.found if self.found[kind]} | self.asked


def judged(program, folder, case, rule, kinds, count, seed):
    """The row of a rule in maskctl.mutants/1; None and why, where no mutant can be made."""
    words = ["mutants", *case.words, "--count", count, "--seed", seed, "--rule", rule, "--json", *kinds]
    done = subprocess.run([program, "-q", *map(str, words)], capture_output=True, text=True, cwd=folder)
    if done.returncode > 1 or not done.stdout:
        return None, done.stderr.strip()
    return json.loads(done.stdout)["rules"][0], ""


def is_found(program, folder, cases, rule, kind):
    """Whether a mutant of this kind is refused, of the first case that has one of which that is so."""
    for seed, case in enumerate(cases):
        found, _ = judged(program, folder, case, rule, ["--only", kind], 2, seed)
        if found and any(one["refused"] for one in found["kinds"] if one["kind"] == kind):
            return True
    return False


def count_of(program, folder, name, kinds, options):
    make, rule, without = SUITES[name]
    out, drawn = Count(), []
    for kind in ("cache-int8", "cache-fp8", *without):
        drawn += ["--without", kind]
    cases = list(make(folder) if make else kit_cases(program, folder))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        jobs = [threads.submit(judged, program, folder, case, rule, drawn, options.count, seed)
                for seed, case in enumerate(cases)]
        for case, job in zip(cases, jobs):
            found, why = job.result()
            if found is None:
                out.left_out.append((case, why))
            else:
                out.add(found)
        missing = [kind for kind in kinds if kind not in out.kinds() and kind not in without]
        asked = threads.map(lambda kind: is_found(program, folder, cases, rule, kind), missing)
        out.asked = {kind for kind, yes in zip(missing, asked) if yes}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--suite", action="append", choices=list(SUITES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    listed = subprocess.run([options.program, "mutants", "--list"], capture_output=True, text=True, check=True).stdout
    kinds = [line.split()[0] for line in listed.splitlines() if line.split()[1] not in ("right", "coarse")]
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.suite or SUITES:
            counts[name] = count_of(options.program, folder, name, kinds, options)
    print(f"{'suite':<18}{'cases':>6}{'wrong':>7}{'refused':>9}{'above the weight':>18}{'kinds of ' + str(len(kinds)):>13}"
          f"{'right refused':>15}")
    for name, count in counts.items():
        made, above = sum(count.made.values()), sum(count.above.values())
        share = 100 * (1 - above / max(1, made - sum(count.passed.values()) + above))
        shown = f"{share:.1f} % killed" if SUITES[name][1] == "verify" else f"{above} pass"
        print(f"{name:<18}{count.cases:>6}{made:>7}{sum(count.found.values()):>9}{shown:>18}{len(count.kinds()):>13}"
              f"{count.right_refused:>15}")
    for name, count in counts.items():
        missing = [kind for kind in kinds if kind not in count.kinds()]
        print(f"\n{name} does not find {', '.join(missing) or 'nothing'}")
        for kind in sorted(count.passed, key=lambda kind: -count.passed[kind]):
            if count.passed[kind]:
                print(f"  {kind:<22}{count.made[kind]:>5} made, {count.passed[kind]:>4} not refused, "
                      f"{count.above[kind]:>3} above the stated weight")
        for case, why in count.left_out:
            print(f"  left out: {' '.join(map(str, case.words[:3]))}: {why}")


if __name__ == "__main__":
    main()
