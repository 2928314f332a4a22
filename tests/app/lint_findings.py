#!/usr/bin/python3
"""Provokes every finding with the command and reads it back from all four formats; what nearly has it
must not say it. Prints "N findings, N wrong"; exits 1 when any is wrong. Needs maskctl on PATH.

    lint_findings.py EXAMPLES

Each line of EXAMPLES has an id, the severity, the folder of the arrays, the arguments of check that have
the finding, those that nearly have it, if any, and "nowhere" if it is about a whole array or mask and
names no place, between tabs.
"""
import json
import subprocess
import sys
import xml.etree.ElementTree as xml


def mistakes(name, severity, folder, arguments, nearly, place):
    """What is wrong with the reports of one finding."""

    def run(arguments, form):
        done = subprocess.run(f"maskctl -q check {arguments} --format {form}", shell=True, cwd=folder,
                              stdout=subprocess.PIPE, timeout=60, encoding="utf-8")
        return done.returncode, done.stdout

    if nearly and name in [finding["id"] for finding in json.loads(run(nearly, "json")[1])["findings"]]:
        yield f"found by check {nearly}"
    status, text = run(arguments, "json")
    found = {finding["id"]: finding for finding in json.loads(text)["findings"]}
    if name not in found:
        yield f"not found, but {sorted(found)}"
        return
    one = found[name]
    if one["severity"] != severity or not (one["message"] and one["why"] and one["fix"]):
        yield f"incomplete: {one}"
    if not one["where"] and place != "nowhere":
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
        examples = [line.rstrip("\n").split("\t") for line in file]
    wrong = 0
    for example in examples:
        found = list(mistakes(*example))
        wrong += bool(found)
        for what in found:
            print(f"{example[0]}, check {example[3]}: {what}")
    print(f"{len(examples)} findings, {wrong} wrong")
    return 1 if wrong or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
