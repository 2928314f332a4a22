#!/usr/bin/env python3
"""Asks the libraries that are installed here what masks mean, and writes docs/stacks/matrix.md.

    kit_matrix.py [--page FILE] [--seconds N] [LIBRARY...]

A library that cannot be imported, refuses every case, or takes longer than N seconds (600) is named as not asked.
"""
import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/stacks/matrix.md"
# Library: the package whose version is said.
LIBRARIES = {"torch.sdpa": "torch", "torch.sdpa.math": "torch", "torch.sdpa.flash": "torch",
             "torch.sdpa.is_causal": "torch", "torch.mha": "torch", "torch.flex": "torch",
             "torch.flex.compiled": "torch", "jax.nn": "jax", "transformers.eager": "transformers",
             "transformers.sdpa": "transformers", "transformers.flex": "transformers",
             "xformers": "xformers", "keras": "keras", "onnxruntime": "onnxruntime"}
MARKS = {"obeys": "yes", "another mask": "other", "wrong numbers": "wrong", "refuses": "no",
         "undecided": "?", "skipped": "-"}
WORST = ["another mask", "wrong numbers", "undecided", "refuses", "skipped", "obeys"]


def asked(library, seconds):
    """The fields of maskctl.kit/1, or why there are none."""
    command = [sys.executable, "-m", "maskctl.kit", "run", "--library", library, "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"it took more than {seconds} s"
    if done.returncode == 2 and not done.stdout.strip():
        return done.stderr.strip().splitlines()[-1]
    answer = json.loads(done.stdout)
    if answer["counts"]["refuses"] == answer["counts"]["cases"]:
        return f"it refuses every case: {answer['cases'][0]['text'].rstrip(':')}"
    return answer


def version(library):
    try:
        return importlib.metadata.version(LIBRARIES[library])
    except importlib.metadata.PackageNotFoundError:
        return None


def worst(cases):
    return min((case["outcome"] for case in cases), key=WORST.index)


def of_rule(answer, rule):
    return [case for case in answer["cases"] if case["rule"] == rule]


def page(answers, missing):
    names = list(answers)
    rules = next(iter(answers.values()))["rules"]
    text = ["# What libraries do with a mask", "",
            "You want to know what a library does with your mask before you run it. Each was asked for each "
            "sentence of [semantics.md](../semantics.md), on a CPU in float32, by an adapter that gives it a dense "
            "mask (`torch.sdpa.is_causal`: the argument of that name). `tests/peers/kit_matrix.py` writes this page; "
            "`python -m maskctl.kit run --library torch.sdpa` prints all of a column.", "",
            "yes: obeys in all cases. other: applies another mask in one. wrong: wrong numbers. no: refuses. "
            "-: gives no lse or gradients, so that it was not asked.", "",
            "| library | version | obeys | other | wrong | refuses | not asked |",
            "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, answer in answers.items():
        counts = answer["counts"]
        text.append(f"| `{name}` | {version(name)} | {counts['obeys']} of {counts['cases']} | {counts['another']} | "
                    f"{counts['wrong'] + counts['undecided']} | {counts['refuses']} | {counts['skipped']} |")
    text += [""] + [f"`{name}` was not asked: {why}." for name, why in missing.items()]
    text += ["", "## By sentence", "", "| | " + " | ".join(f"`{name}`" for name in names) + " |",
             "| --- |" + " --- |" * len(names)]
    for rule in rules:
        marks = [MARKS[worst(of_rule(answer, rule["id"]))] for answer in answers.values()]
        if set(marks) != {"yes"}:
            text.append(f"| `{rule['id']}` | " + " | ".join(marks) + " |")
    whole = [rule["id"] for rule in rules
             if all(worst(of_rule(answer, rule["id"])) == "obeys" for answer in answers.values())]
    text += ["", f"All others obey everywhere: {', '.join(f'`{one}`' for one in whole) or 'none'}.", "",
             "## Other masks and wrong numbers", "", "The first case of each sentence.", "",
             "| library | case | is |", "| --- | --- | --- |"]
    for name, answer in answers.items():
        seen = set()
        for case in answer["cases"]:
            bad = case["outcome"] in ("another mask", "wrong numbers", "undecided")
            if bad and case["rule"] not in seen:
                seen.add(case["rule"])
                said = case["text"].replace("|", "\\|")
                text.append(f"| `{name}` | `{case['id']}` | {case['outcome']}: {said} |")
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("libraries", nargs="*", default=list(LIBRARIES))
    options = parser.parse_args()
    answers, missing = {}, {}
    for library in options.libraries:
        answer = asked(library, options.seconds) if version(library) else "it is not installed"
        print(library, answer if isinstance(answer, str) else answer["counts"], flush=True)
        (missing if isinstance(answer, str) else answers)[library] = answer
        if answers:
            options.page.write_text(page(answers, missing))


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main()
