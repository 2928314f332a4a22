"""What `maskctl check --format sarif` writes, against the published schema of SARIF 2.1.0.

    peers/bin/pip install jsonschema
    peers/bin/python tests/peers/sarif.py build/release/app/maskctl sarif-schema-2.1.0.json

The schema is that of docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/.
"""
import json
import subprocess
import sys

import jsonschema

SOURCES = ["samples/leaked.npy", "samples/padded.npy", "samples/heads.npy", "gen:empty:n=4"]


def main(program, schema):
    with open(schema, encoding="utf-8") as file:
        judge = jsonschema.Draft7Validator(json.load(file))
    count = 0
    for sources in [SOURCES, *[[source] for source in SOURCES]]:
        for more in ([], ["--expect", "causal"]):
            written = subprocess.run([program, "check", *sources, *more, "--format", "sarif"],
                                     capture_output=True, text=True, check=False).stdout
            errors = list(judge.iter_errors(json.loads(written)))
            assert not errors, (sources, more, errors[0].message)
            count += 1
    print(f"{count} reports are valid")


if __name__ == "__main__":
    main(*sys.argv[1:])
