#!/usr/bin/python3
"""Runs the code that `maskctl translate` prints, on the stand-ins of twin_libraries.py and
translate_operators.py. The mask that comes out must be the one that went in. Prints
"N translations, N differ"; exits 1 when any differs.

    translate_twins.py PROGRAM
"""
import io
import itertools
import json
import subprocess
import sys
import types

import numpy as np

from translate_operators import names_of
from twin_arrays import scalar_to_ssa
from twin_libraries import Twins


def run(library, code, queries, keys, batch):
    """The mask of head 0 that the code makes: [batch, queries, keys]; in transformers of any version."""
    made = run_with("cache", library, code, queries, keys, batch)
    if library == "hf":
        np.testing.assert_array_equal(made, run_with("past_key_values", library, code, queries, keys, batch))
    return made


def run_with(cache, library, code, queries, keys, batch):
    twins = Twins(queries, keys, batch, cache)
    text = "\n".join(code)
    config = types.SimpleNamespace(sliding_window=None, attention_chunk_size=None)
    if library == "ck_tile":
        twins.ck_tile(text.split("-mask=")[1].split()[0])
        return np.broadcast_to(twins.mask, (batch, queries, keys))
    names = twins.names(config) | names_of(library, twins)
    if library == "fa4":
        names |= {"flash_attn_func": twins.fa4_func, "cute": types.SimpleNamespace(jit=lambda function: function),
                  "utils": types.SimpleNamespace(scalar_to_ssa=scalar_to_ssa),
                  "cutlass": types.SimpleNamespace(Int32="Int32")}
    exec(text, names)  # runs the code that this maskctl printed
    if "mm_prefix_range" in names:
        twins.open_images(names["mm_prefix_range"])
    mask = np.asarray(twins.mask)
    if any(line.startswith("h = ") for line in code):
        mask = mask[:1]  # drops all heads but the first from [heads, queries, keys]
    if mask.ndim == 4:
        mask = mask[:, 0]
    return np.broadcast_to(mask, (batch, queries, keys))


def pipelines():
    """Chains that say their alignment, and sizes to run them on."""
    for align in ("", ",align=top-left", ",align=bottom-right"):
        shapes = [(9, 9)] if not align else [(9, 9), (4, 9), (9, 6)]
        a = align.replace(",", ":")
        bands = ["causal" + a, "window:keys=1" + align, "window:keys=4" + align,
                 "window:both=2" + align, "window:left=3,right=1" + align, "window:left=2" + align,
                 "window:right=2" + align, "window:left=2,offset=-1" + align,
                 f"window:both=3{align} | causal{a}", f"causal:offset=1{align}"]
        for shape, band in itertools.product(shapes, bands):
            yield shape, band, []
    for tail, lengths in (("", []), (" | doc:lens=4+5", [4, 5])):
        for head in ("causal", "window:keys=3", "window:both=1", "window:keys=3 | sinks:n=2 | causal",
                     "causal | prefix:n=3", "causal | chunk:size=3", "chunk:size=4",
                     "window:keys=2 | chunk:size=4", "dilated:stride=2 | causal",
                     "causal | not", "causal | global:tokens=2-3"):
            yield (9, 9), head + tail, lengths
    # Two steps that read different tensors; padding; steps without alignment.
    yield (9, 9), "doc:lens=4+5 | doc:lens=4+5", [4, 5]
    for pipeline in ("doc:lens=4+5 | sinks:n=2 | doc:lens=6+3",
                     "causal | pad:lens=6,side=right", "causal | pad:lens=6,side=left",
                     "pad:lens=6,side=right | prefix:n=2 | pad:lens=8,side=left",
                     "within:lens=4+5{causal | chunk:size=2}", "within:lens=4+5{prefix:n=2 | causal}",
                     "within:lens=4+5{causal | prefix:n=1+3}", "within:lens=3+4+2{batch:0+2{causal}}",
                     "within:lens=3+4+2{window:keys=2+1+2 | batch:1-2{prefix:n=1}}",
                     "causal | pad:lens=6,of=both", "chunk:size=4,origin=3 | causal",
                     "window:keys=3 | heads:0{causal}"):
        yield (9, 9), pipeline, []
    # Numbers for each batch entry, and steps on some entries, of a batch of 3.
    for pipeline in ("causal | pad:lens=6+9+2", "causal | pad:lens=6+3+9,side=left",
                     "causal | pad:lens=6+3+9,of=both", "batch:1{causal}", "batch:0+2{window:keys=2}",
                     "causal:offset=0+2+1", "window:keys=3 | prefix:n=1+2+3",
                     "batch:1{chunk:size=4} | causal", "pad:lens=5", "causal | pad:lens=5,of=both",
                     "kv-lengths:lens=5+2+8 | causal", "chunk:size=4,origin=0+1+2 | causal"):
        yield (9, 9), pipeline, [], 3
    for pipeline in ("batch:1{chunk:size=4,offset=3} | causal:align=bottom-right",
                     "batch:1{dilated:stride=2} | causal:align=bottom-right", "pad:lens=5+2+8",
                     "pad:lens=5+2+8,side=left | window:both=3,align=top-left"):
        yield (4, 9), pipeline, [], 3
    # Token types: a step opens images after causal steps have closed part of them.
    for types_of in ("4+5", "2+3+1+3", "1+1+7"):
        for head in ("causal", "window:keys=6", "window:both=2", ""):
            yield (9, 9), " | ".join(filter(None, [head, f"tokens:'gen:segments:lens={types_of}'"])), []
    for inner in ("", "causal:align=bottom-right", "causal:align=top-left",
                  "window:keys=2,align=bottom-right", "window:both=1,align=bottom-right"):
        yield (6, 9), f"within:q-lens=2+3+1,kv-lens=4+3+2{{{inner}}}", []
    yield (6, 9), "within:q-lens=2+3+1,kv-lens=4+3+2{causal:align=bottom-right | prefix:n=2+0+1}", []
    for shape in ((4, 9), (9, 6)):
        yield shape, "causal:align=bottom-right | chunk:size=3,align=bottom-right", []
        yield shape, "dilated:stride=2 | causal:align=top-left", []
        yield shape, "causal:align=top-left | window:keys=3,align=bottom-right", []
        yield shape, "chunk:size=3", []
        yield shape, "chunk:size=3 | causal:align=bottom-right", []


def command(program, *words):
    return subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)


def main():
    program = sys.argv[1]
    done = differ = 0
    said = {}
    for (queries, keys), pipeline, lengths, *batches in pipelines():
        batch = batches[0] if batches else 1
        source = f"gen:full:q={queries},k={keys},b={batch}"
        made = command(program, "apply", source, "-t", pipeline, "-o", "-")
        want = np.load(io.BytesIO(made.stdout))[:, 0]
        report = json.loads(command(program, "translate", "-t", pipeline, "--json").stdout)
        for entry in report["masks"][0]["libraries"]:
            name = entry["name"]
            said.setdefault(name, 0)
            if not entry["ok"]:
                continue
            said_in_note = any("XLA does" in note or "written for Q = K" in note
                               for note in entry["notes"])
            if queries != keys and said_in_note:
                continue
            if name == "hf" and queries > keys:
                continue  # transformers has no queries before the first key
            if any("batch entry" in note for note in entry["notes"]):
                continue  # the code is right only in rows of valid tokens
            wanted = want
            if "within" in pipeline and (name == "ck_tile" or any(
                    "documents: " in note for note in entry["notes"])):
                continue  # the code has one call for each document
            alone = any("documents: " in note for note in entry["notes"]) or name == "ck_tile"
            if lengths and alone:
                steps = [step for step in pipeline.split(" | ") if not step.startswith("doc:")]
                plain = " | ".join(steps) or "not | not"
                made = command(program, "apply", f"gen:full:n={keys}", "-t", plain, "-o", "-")
                wanted = np.load(io.BytesIO(made.stdout))[:, 0]
            done += 1
            said[name] += 1
            try:
                have = run(name, entry["code"], queries, keys, batch)
            except Exception as error:  # an exception in the printed code counts as a difference
                have = error
            if isinstance(have, Exception) or have.shape != wanted.shape or (have != wanted).any():
                if "sinks" in pipeline and name == "ck_tile":
                    continue  # the stand-in leaves out ck_tile's third number, the sinks
                differ += 1
                print(f"{name}: {pipeline} on {queries}x{keys}: {entry['code']}\n{have}")
    few = [name for name, count in said.items() if count < 5]
    print(f"{done} translations, {differ} differ" + (f"; hardly any of {few}" if few else ""))
    sys.exit(1 if differ or few else 0)


if __name__ == "__main__":
    main()
