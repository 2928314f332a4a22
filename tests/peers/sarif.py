"""What `maskctl check --format sarif` writes, against the published schema of SARIF 2.1.0.

    peers/bin/pip install jsonschema
    peers/bin/python tests/peers/sarif.py build/release/app/maskctl sarif-schema-2.1.0.json

The schema is that of docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/.
"""
import itertools
import json
import subprocess
import sys

import jsonschema

SOURCES = [["samples/leaked.npy"], ["samples/heads.npy"], ["samples/window_sinks.npy"], ["samples/cross.npy"],
           ["samples/padded.npy", "--as", "key-padding"], ["samples/batch.npz:attention_mask"],
           ["samples/batch.h5:/train/attention_mask"], ["samples/packed.npy", "--as", "segments"],
           ["gen:empty:n=4"], ["gen:causal:n=9", "-t", "not"], ["gen:full:n=64", "-t", "window:keys=8 | open:q=9,k=60"],
           ["samples/leaked.npy", "samples/padded.npy", "samples/heads.npy", "gen:empty:n=4"]]
QUESTIONS = [[], ["--expect", "causal"], ["--expect", "no-empty-rows", "--expect", "symmetric"],
             ["--segments", "samples/leaked_ids.npy"]]


def main(program, schema_file):
    with open(schema_file, encoding="utf-8") as file:
        schema = json.load(file)
    judge = jsonschema.validators.validator_for(schema)(schema)
    judge.check_schema(schema)
    reports = results = refused = 0
    for source, question in itertools.product(SOURCES, QUESTIONS):
        done = subprocess.run([program, "check", *source, *question, "--format", "sarif"],
                              capture_output=True, text=True, check=False)
        if done.returncode == 2 and not done.stdout.strip():  # the document lengths do not fit
            assert done.stderr.startswith("maskctl: error: "), done
            refused += 1
            continue
        report = json.loads(done.stdout)
        errors = list(judge.iter_errors(report))
        assert not errors, (source, question, errors[0].json_path, errors[0].message)
        reports += 1
        results += sum(len(one["results"]) for one in report["runs"])
    assert reports > 30 and results > 30
    print(f"{reports} reports with {results} results are valid; {refused} were refused in words")


if __name__ == "__main__":
    main(*sys.argv[1:])
