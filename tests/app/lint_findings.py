#!/usr/bin/python3
"""Provokes every finding of docs/lint.md with the command and reads it back from all four formats.
Prints "N findings, N wrong"; exits 1 when any is wrong. Run it in a folder of its own, with maskctl
on PATH.

    lint_findings.py PAGE
"""
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np

CASES = {
    "cu-shape": "cu_shape.npy --as cu_seqlens",
    "cu-start": "cu_start.npy --as cu_seqlens",
    "cu-falls": "cu_falls.npy --as cu_seqlens",
    "cu-total": "cu.npy --as cu_seqlens --shape 1+1+12+12",
    "cu-dtype": "cu_int64.npy --as cu_seqlens",
    "cu-empty-document": "cu_empty.npy --as cu_seqlens",
    "segments-return": "returns.npy --as segments",
    "segments-zero-tail": "zero_tail.npy --as segments",
    "positions-offset": "offset.npy --as positions",
    "positions-start": "start.npy --as positions",
    "positions-jump": "jump.npy --as positions",
    "positions-segments": "segments.npy --as segments --positions positions.npy",
    "noncanonical-bool": "odd.npy",
    "bias-mixed": "mixed.npy --as bias",
    "bias-and-mask": "causal.npy --as dense --bias zeros.npy",
    "mask-empty": "gen:empty:n=6",
    "mask-full": "gen:full:n=6",
    "polarity": "gen:causal:n=16 -t not",
    "anti-causal": "gen:full:n=16 -t window:left=0",
    "future-part": "gen:causal:n=32 -t open:q=3-5,k=20-22",
    "groups-joined": "joined.npy --as dense",
    "nearly": "one_cell.npy --as dense",
    "rows-opened": "row_opened.npy --as dense",
    "padding-rows-opened": "padding_opened.npy --as dense",
    "decode-first-key": "gen:full:q=1,k=6 -t causal:align=top-left",
    "decode-own-key": "gen:full:q=1,k=6 -t causal:align=bottom-right,offset=-1",
    "own-key-closed": "gen:full:q=2,k=6 -t causal:align=bottom-right,offset=-1",
    "axes-exchanged": "exchanged.npy --as dense",
    "plane-full": "gen:causal:n=16,b=4 -t 'batch:2{open:q=0-15}'",
    "plane-future": "gen:full:n=16,b=4 -t 'doc:lens=6+10 | batch:0-2{causal}'",
    "future-diagonal": "gen:causal:offset=1,n=32",
    "heads-documents": "gen:causal:n=32,h=2 -t 'heads:0{doc:lens=13+19}|heads:1{doc:lens=14+18}'",
    "plane-differs": "gen:window:keys=8,n=32,h=4 -t 'heads:1{window:keys=7}'",
    "head-differs": "gen:causal:n=16,h=4 -t 'heads:0+2+3{window:keys=3}'",
    "plane-empty": "entry_closed.npy --as dense",
    "left-padding-nan": "left_padded.npy --as dense",
    "top-left": "gen:full:q=2,k=6 -t causal:align=top-left",
    "empty-rows": "gen:causal:n=16 -t slice:q=4:8,k=6:16",
    "padding-rows-empty": "padded.npy --as segments",
    "first-block": "gen:window:keys=8,n=512",
    "document-leak": "causal.npy --as dense --segments segments.npy",
    "padding-attended": "gen:full:n=6 --segments padded.npy",
    "padding-rows-open": "causal.npy --as dense --segments padded.npy",
    "rows-only-padding": "only_padding.npy --as dense --segments padded.npy",
    "step-no-op": "gen:causal:n=6 -t causal",
    "step-reopens": "gen:full:n=6 -t 'doc:padded.npy | tokens:types.npy'",
    "step-reopens-order": "gen:causal:n=8 -t 'window:keys=2 | sinks:n=2'",
    "window-zero": "gen:causal:n=12 -t window:both=0",
}
# These findings are about a whole array or mask; all others name a place.
NOWHERE = {"cu-shape", "cu-dtype", "noncanonical-bool", "bias-mixed", "mask-empty", "mask-full"}


def write_arrays():
    def ids(name, *values, dtype=np.int32):
        np.save(name + ".npy", np.array(values, dtype))

    causal = np.tril(np.ones((6, 6), bool))
    bias = np.where(causal, 0, -np.inf).astype(np.float32)
    only_padding = causal.copy()
    only_padding[2:4] = False
    only_padding[2:4, 4] = True
    ids("cu_shape", [0, 3], [0, 4])
    ids("cu_start", 3, 6, 9)
    ids("cu_falls", 0, 6, 4, 9)
    ids("cu", 0, 3, 9)
    ids("cu_int64", 0, 3, 9, dtype=np.int64)
    ids("cu_empty", 0, 3, 3, 9)
    ids("returns", [0, 0, 1, 1, 0, 0])
    ids("zero_tail", [1, 1, 2, 2, 0, 0])
    ids("offset", [3, 4, 5, 0, 1, 2])
    ids("start", [0, 1, 2, -1, 3, 4])
    ids("jump", [0, 1, 5, 6, 6, 7])
    ids("segments", [0, 0, 1, 1, 2, 2])
    ids("positions", [0, 1, 2, 3, 0, 1])
    ids("padded", [0, 0, 1, 1, -1, -1])
    ids("types", [0, 1, 1, 0, 0, 1])
    np.save("causal.npy", causal)
    np.save("only_padding.npy", only_padding)
    np.save("zeros.npy", np.zeros((6, 6), np.float32))
    hole = np.tril(np.ones((32, 32), bool))
    hole[20, 5] = False
    np.save("one_cell.npy", hole)
    np.save("exchanged.npy", causal[None, :, None])
    image = np.isin(np.arange(32), [4, 5, 6, 7, 20, 21, 22])
    np.save("joined.npy", np.tril(np.ones((32, 32), bool)) | np.outer(image, image))
    np.save("row_opened.npy", causal | (np.arange(6)[:, None] == 2))
    left = causal & (np.arange(6)[None] >= 2)
    np.save("left_padded.npy", left)
    np.save("padding_opened.npy", left | (np.arange(6)[:, None] < 2))
    np.save("entry_closed.npy", np.stack([causal, causal & False])[:, None])
    bias[0, 5] = np.finfo(np.float32).min
    np.save("mixed.npy", bias)
    np.save("odd.npy", causal)
    with open("odd.npy", "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\2")


def run(arguments, form):
    done = subprocess.run(f"maskctl -q check {arguments} --format {form}", shell=True,
                          stdout=subprocess.PIPE, timeout=60, encoding="utf-8")
    return done.returncode, done.stdout


def mistakes(name, severity, arguments):
    """What is wrong with the reports of one finding."""
    status, text = run(arguments, "json")
    found = {finding["id"]: finding for finding in json.loads(text)["findings"]}
    if name not in found:
        yield f"not found, but {sorted(found)}"
        return
    one = found[name]
    if one["severity"] != severity or not (one["message"] and one["why"] and one["fix"]):
        yield f"incomplete: {one}"
    if not one["where"] and name not in NOWHERE:
        yield "does not say where"
    bad = any(finding["severity"] != "note" for finding in found.values())
    if status != (1 if bad else 0):
        yield f"exit status {status}"
    text = run(arguments, "text")[1]
    if not all(part in text for part in (f"{severity}: {name}: ", one["message"], one["why"],
                                         one["fix"])):
        yield "missing in the text"
    cases = [case.get("name") for case in xml.fromstring(run(arguments, "junit")[1]).iter("testcase")]
    if name not in cases:
        yield "missing in JUnit"
    yield from sarif_mistakes(name, severity, json.loads(run(arguments, "sarif")[1]))


def sarif_mistakes(name, severity, report):
    """The parts that SARIF 2.1.0 requires, and those that code scanning reads."""
    if report["version"] != "2.1.0" or not report["$schema"].endswith("sarif-2.1.0.json"):
        yield "SARIF of another version"
    driver, results = report["runs"][0]["tool"]["driver"], report["runs"][0]["results"]
    if driver["name"] != "maskctl" or name not in [rule["id"] for rule in driver["rules"]]:
        yield "SARIF does not list the rule"
    result = next((one for one in results if one["ruleId"] == name), None)
    if not result:
        yield "missing in SARIF"
    elif result["level"] != severity or not result["message"]["text"] or not result["locations"]:
        yield f"incomplete in SARIF: {result}"
    artifacts = report["runs"][0].get("artifacts", [])
    for result in results:
        yield from place_mistakes(result, artifacts)


def place_mistakes(result, artifacts):
    """Each place is in a file or in a text that the report contains, and has a region of it."""
    for place in result["locations"] + result.get("relatedLocations", []):
        physical = place["physicalLocation"]
        where, region = physical["artifactLocation"], physical["region"]
        if "uri" in where:
            if region["startLine"] != 1 or ("byteOffset" in region) != ("byteLength" in region):
                yield f"no region of a file: {physical}"
        elif region["startLine"] > artifacts[where["index"]]["contents"]["text"].count("\n"):
            yield f"no line of a pipeline: {physical}"
    if not result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]:
        yield f"no logical place: {result}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        listed = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (error|warning|note) \|", file.read(), re.M))
    write_arrays()
    wrong = 0
    for name in sorted(listed.keys() | CASES.keys()):
        found = (list(mistakes(name, listed[name], CASES[name]))
                 if name in listed and name in CASES else ["has no case, or is not documented"])
        wrong += bool(found)
        for what in found:
            print(f"{name}: {what}")
    print(f"{len(listed)} findings, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
