#!/usr/bin/env python3
"""How many wrong kernels the cases of the kit find: mutants of the mask and call of each case, judged as the kit
judges. A kind of mistake is found by the kit if a mutant of it, made of any case, is not obeyed.

    kit_mutants.py PROGRAM [COUNT]

COUNT mutants of each case (5). Prints what was accepted, by kind, with the weight that it moved."""

import collections
import json
import os
import subprocess
import sys
import tempfile


def mutants_of(program, case, folder, count, seed):
    batch, heads, queries, keys = case["shape"]
    words = ["mutants", f"gen:full:q={queries},k={keys},b={batch},h={heads}", "-t", case["steps"], "--heads", heads,
             "--kv-heads", case["kv_heads"], "--dim", case["dim"], "--batch", batch, "--dtype", "f32",
             "--count", count, "--seed", seed, "--rule", "verify", "--json"]
    for name, option in ("scale", "--scale"), ("soft_cap", "--cap"), ("sinks", "--sinks"):
        words += [option, case[name]] if case[name] else []
    words += ["--bias"] if case["bias"] else []
    done = subprocess.run([program, "-q", *map(str, words)], capture_output=True, text=True, cwd=folder)
    if done.returncode > 1:
        return None, done.stderr.strip()
    return json.loads(done.stdout)["rules"][0], ""


def main():
    program, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    made, found, passed, above = (collections.Counter() for _ in range(4))
    wrongly_refused, skipped = 0, 0
    listed = json.loads(subprocess.run([program, "kit", "list", "--json"], capture_output=True, check=True).stdout)
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(listed["cases"]):
            if case["asks"] == "gradients" or case["nan_keys"]:
                continue
            rule, why = mutants_of(program, case, folder, count, number)
            if rule is None:  # its steps name an array
                skipped += 1
                continue
            wrongly_refused += rule["right_refused"] + rule["coarse_refused"]
            for kind in rule["kinds"]:
                if kind["group"] in ("right", "coarse"):
                    continue
                made[kind["kind"]] += kind["made"]
                found[kind["kind"]] += kind["refused"]
                passed[kind["kind"]] += kind["accepted"] + kind["undecided"]
                above[kind["kind"]] += kind["above_bound"]
    for kind in sorted(made, key=lambda kind: -passed[kind]):
        if passed[kind]:
            print(f"{kind:<22}{made[kind]:>6} made, {passed[kind]:>4} not refused, {above[kind]:>3} above the stated weight")
    kinds = [kind for kind in made if made[kind]]
    print(f"{sum(made.values())} wrong kernels, {sum(found.values())} refused, {sum(passed.values())} not; "
          f"{sum(above.values())} accepted above the stated weight; {wrongly_refused} right ones refused")
    print(f"{len(kinds)} kinds, {sum(found[kind] > 0 for kind in kinds)} found; {skipped} cases with arrays left out")


if __name__ == "__main__":
    main()
