#!/usr/bin/python3
"""`maskctl check` on sound masks, for which it must have no warning, and on masks with a planted
fault, for which it must have the finding that is named, with all its cells where their number is
known. Prints a line for each wrong answer, with --kinds one for each kind of mask, and "N masks, N
wrong"; exits 1 when any is wrong. Run it in a folder of its own, with maskctl on PATH.

    check_faults.py [--rounds N] [--seed N] [--sizes N,N,...] [--kinds]
"""
import argparse
import json
import subprocess
import sys

sys.dont_write_bytecode = True

import lint_faults
import lint_sound
import numpy as np
import sound_parts

# Findings that are only notes, because they are faults in some programs but not in others: a cache with one empty slot
# is right, and so is a library that gives 0 for rows without keys.
NOTES = ("own-key-closed", "left-padding-nan", "padding-rows-empty")


def reports(arguments):
    """One report for each array."""
    done = subprocess.run(["maskctl", "-q", "check", "--json", *arguments], stdout=subprocess.PIPE,
                          timeout=600, encoding="utf-8")
    return json.loads(done.stdout)["reports"]


def draw(module, prefix, rounds, seed):
    """(file, what must be found or None) of `rounds` arrays of each maker."""
    for name, make in sorted(vars(module).items()):
        if not name.startswith(prefix):
            continue
        rng = np.random.default_rng([seed, *name.encode()])
        for number in range(rounds):
            mask, *wanted = make(rng) if prefix == "fault_" else (make(rng),)
            path = f"{name}{number}.npy"
            np.save(path, mask)
            yield name, path, wanted, "bias" if mask.dtype == np.float32 else "dense"


def is_right(wanted, found):
    alarms = {name for name, one in found.items() if one["severity"] != "note" or name in NOTES}
    if not wanted:
        return not alarms - set(NOTES)
    names, cells = wanted
    return any(name in alarms and cells in (None, found[name]["count"]) for name in names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", help="tokens of the masks, instead of some from 6 to 100")
    parser.add_argument("--kinds", action="store_true", help="count the wrong ones of each kind")
    args = parser.parse_args()
    if args.sizes:
        sound_parts.SIZES[:] = [int(one) for one in args.sizes.split(",")]
    made = [*draw(lint_sound, "valid_", args.rounds, args.seed),
            *draw(lint_faults, "fault_", args.rounds, args.seed)]
    wrong = dict.fromkeys((one[0] for one in made), 0)
    for kind in ("dense", "bias"):
        chosen = [one for one in made if one[3] == kind]
        if not chosen:
            continue
        answers = reports(["--as", kind, *(one[1] for one in chosen)])
        for (name, path, wanted, _), report in zip(chosen, answers, strict=True):
            found = {one["id"]: one for one in report.get("findings", [])}
            if "error" not in report and is_right(wanted, found):
                continue
            wrong[name] += 1
            said = [f"{id} {one['count']}: {one['message']}" for id, one in found.items()]
            print(f"{path}: {f'wanted {wanted}, ' if wanted else ''}found {said}")
    for name, count in wrong.items() if args.kinds else ():
        print(f"{name.replace('_', ' ')}: {args.rounds} masks, {count} wrong")
    print(f"{len(made)} masks, {sum(wrong.values())} wrong")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
