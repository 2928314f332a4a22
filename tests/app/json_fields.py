#!/usr/bin/python3
"""Runs commands with --json and compares the fields that they print with the tables of
docs/json.md: each field must be documented, and each documented one printed. Prints
"N fields, N wrong"; exits 1 when any is wrong. Run it in a folder that sees samples/, with
maskctl on PATH.

    json_fields.py PAGE
"""
import json
import re
import subprocess
import sys
from pathlib import Path

LIST = "maskctl.list/1"
CELL = ("batch", "head", "query", "key")
# docs/json.md does not repeat the fields below the names on the left: they are those below the
# names on the right.
SAME_AS = {"expectations.leaks": "leaks", "planes": "total", "leaks.b": "leaks.a",
           "lse": "out", "rules.refused": "rules.accepted", "parts.alternatives": "alternatives"}
SPREAD = {name: ("min", "mean", "max", "quantiles", "quantiles.p", "quantiles.value")
          for name in ("keys_per_row", "pairs_per_head", "planes.keys_per_row")}

INPUTS = ("query=samples/bugs/kernel_q.npy key=samples/bugs/kernel_k.npy "
          "value=samples/bugs/kernel_v.npy")
SETUP = f"""
maskctl -q attend attention causal=true --axes B=1+Hq=1+Hkv=1+Tq=8+Tk=8 -o w.npz
maskctl -q blockmap gen:full:n=64 --block 16 -o map.npz
maskctl -q attend flash_attention {INPUTS} causal=true -o c.npz
maskctl -q convert gen:causal:n=4 -t close:q=0 --to bias --fill min -o least.npy
maskctl -q convert gen:causal:n=4 -t close:q=0 --to bias -o inf.npy
maskctl -q convert gen:causal:n=4 --to mask -o m.safetensors
printf '[[golden]]\\nname = "a"\\nsource = "gen:causal:n=4"\\nexpect.sha256 = ""\\n' > m.toml
printf '{{"model_type": "llama", "num_hidden_layers": 2}}' > llama.json
maskctl kit run --rule pair.open --json > kit.json
maskctl -q convert gen:causal:n=9 --to runs -o a.npz:m.0.attn
maskctl -q convert gen:window:keys=4,n=9 --to runs -o a.npz:m.1.attn
maskctl -q convert gen:causal:n=9 --to runs -o a.npz:m.2.attn
maskctl -q convert gen:causal:n=9 --to runs -o b.npz:m.0.attn
maskctl -q convert gen:window:keys=5,n=9 --to runs -o b.npz:m.1.attn
maskctl -q convert gen:causal:n=3 --to runs -o b.npz:m.2.attn
maskctl -q convert gen:full:n=12 --to runs -o b.npz:m.3.attn
maskctl -q convert gen:full:n=9 --to runs -o a.npz:m.3.attn
maskctl -q convert gen:random:sparsity=0.5,n=64,seed=1 --to runs -o a.npz:m.4.attn
maskctl -q convert gen:dilated:stride=3,n=64 --to runs -o b.npz:m.4.attn
"""
TYPES = "-t 'causal | tokens:samples/bugs/types.npy'"
KERNEL = f"{INPUTS} --given samples/bugs/kernel_out.npy"
MERGE = " ".join(f"{part}{name}=c.npz:{name}" for part in ("part0_", "part1_", "") for name in ("out", "lse"))
COMMANDS = f"""
info samples/padded.npy
info m.safetensors
info samples/packed.npy --as segments --semantics ejkernel --mesh dp=2 -t causal
stats samples/heads.npy --block 4 --segments gen:segments:lens=8+8
stats gen:causal:n=4 missing.npy
cost gen:causal:n=256 --ranks 4
cost gen:causal:n=64 --beside gen:window:keys=8,n=64 --layers 1+5
check samples/bugs/documents.npy --as segments {TYPES}
check samples/bugs/documents.npy --as segments {TYPES} --expect no-leak:samples/bugs/documents.npy
check gen:causal:n=12 -t window:both=0
check gen:causal:n=8 --segments gen:segments:lens=3+5 --write-fixed fixed.npy
check gen:empty:n=4 --write-fixed empty.npy
diff gen:causal:n=8 gen:window:keys=4,n=8 --segments gen:segments:lens=4+4
diff gen:random:sparsity=0.5,n=64,seed=1 gen:dilated:stride=3,n=64
diff least.npy inf.npy
diff samples/hf_config.json llama.json
diff a.npz b.npz
recognise gen:causal:n=8
recognise gen:random:sparsity=0.5,n=64,seed=3
why samples/packed.npy --as segments -t causal 3 5
translate --from hf sliding_window=128
translate --table 128
translate --table all
audit gen:window:keys=101,n=512 samples/bugs/blocks_w100.npy --block 64
audit gen:causal:n=64 map.npz:block_mask --block 16
golden check m.toml
golden list m.toml
golden update m.toml --force
seq lens samples/padded.npy --as padding
blockmap gen:causal:n=64 --block 16
parts gen:causal:n=8 gen:full:q=4,k=8,b=2 --ranks 2
phases samples/hf_config.json --cache vllm --length 64
phases gen:causal:n=8 --cache StaticLayer:slots=9,one=open --ranks 2
phases gen:causal:n=24 --positions samples/padded.npy
phases --caches
ops
explain
attend flash_attention --axes Tq=8+Tk=8
verify gen:causal:n=8
verify gen:window:keys=32,n=64 {KERNEL}
verify gen:window:keys=32,n=64 {KERNEL} --solve
verify gen:window:keys=32,n=64 {KERNEL} --given lse=c.npz:lse
verify gen:causal:n=64 {INPUTS} --given samples/bugs/kernel_q.npy
mutants gen:window:keys=9,n=40 --count 20 --dim 8 --rule allclose:9,9 --rule allclose:0,0
kit run --rule pair.open
kit run --rule pair.open --baseline kit.json
kit list --rule nan
verify-merge {MERGE}
probe read gen:window:keys=4,n=8 w.npz:weights --weights
bench flash_attention --size 64 --repeat 1
backends flash_attention
"""


def named(text):
    """The names in a cell: `leaks.{cross,first}` are two."""
    for name in re.findall(r"`([^`]+)`", text):
        stem, brace, ends = name.partition("{")
        yield from (stem + end for end in ends.rstrip("}").split(",")) if brace else [name]


def documented(page):
    """Section title to its fields, those of cells and spreads included."""
    sections = {}
    for part in page.split("\n## ")[1:]:
        title, fields = part.split("\n", 1)[0], set()
        for names, meaning in re.findall(r"^\| (`.+?) \| (.+) \|$", part, re.M):
            for name in named(names):
                steps = name.split(".")
                fields.update(".".join(steps[:n + 1]) for n in range(len(steps)))
                below = CELL if re.match(r"cell\b", meaning) else ()
                below += ("step", "entry") if name.endswith("where") else ()
                below += SPREAD.get(name, ()) if "quantiles" in meaning or "same" in meaning else ()
                fields.update(f"{name}.{field}" for field in below)
        for name, other in SAME_AS.items():
            if name in fields and other in fields:
                fields.update(name + field[len(other):] for field in list(fields)
                              if field.startswith(other + "."))
        sections[title] = fields
    return sections


def fields_of(value, path=""):
    if isinstance(value, list):
        return set().union(*(fields_of(item, path) for item in value))
    if not isinstance(value, dict):
        return set()
    out = set()
    for key, item in value.items():
        name = f"{path}.{key}" if path else key
        # The keys of mesh.devices are names of arrays, not names of fields.
        out |= {name} | (set() if name.endswith("mesh.devices") else fields_of(item, name))
    return out


def answers():
    """What the commands print, one after another."""
    subprocess.run(SETUP, shell=True, check=True, stdout=subprocess.DEVNULL)
    for line in COMMANDS.strip().splitlines():
        done = subprocess.run(f"maskctl -q {line} --json", shell=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL if "missing" in line else None,
                              timeout=60)
        if done.returncode > 1 and "golden" not in line and "missing" not in line:
            sys.exit(f"{line}: exit status {done.returncode}")
        data = json.loads(done.stdout)
        if data["schema"] == LIST:  # each report in a list is documented under its own schema
            data["reports"] = [each for each in data["reports"] if "schema" not in each]
        yield data
    # Answers of the Python package, which tests/python/test_see_json.py holds to what it gives.
    yield from json.loads((Path(__file__).parents[1] / "data" / "see_answers.json").read_text(encoding="utf-8"))


def printed():
    """Schema to the fields that its commands print."""
    out = {}
    for data in answers():
        out.setdefault(data.pop("schema"), set()).update(fields_of(data))
    return out


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sections = documented(file.read())
    found, wrong, count = printed(), 0, 0
    for title, fields in sections.items():
        shown = set().union(*(found.pop(schema, set()) for schema in title.split(", ")))
        count += len(fields | shown)
        # No finding names a batch, head, query, key, entry and step at once, and right mutants that are refused have no
        # cells.
        unseen = {field for field in fields - shown
                  if ".where." not in field and not field.startswith("rules.refused.cells.")}
        for field in sorted(shown - fields):
            print(f"{title}: {field} is not documented")
        for field in sorted(unseen):
            print(f"{title}: {field} is documented, but was not printed")
        wrong += len(shown - fields) + len(unseen)
    for schema in found:
        print(f"{schema} is not documented")
        wrong += 1
    print(f"{count} fields, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
