#!/usr/bin/python3
"""Writes a JSON Schema for each --json from the tables of docs/json.md and from what commands print, or compares
them with those in a folder, and holds every answer among the golden cases to its schema. Prints "N schemas, N
answers, N wrong"; exits 1 when any is wrong. Run it in a folder that sees samples/, with maskctl on PATH.

    json_schemas.py PAGE SCHEMAS GOLDEN [--write]
"""
import json
import re
import sys
from pathlib import Path

from json_fields import answers, named

TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object",
         type(None): "null"}


class Node:
    """What is known of the values of a field: their types, and the fields or items below."""

    def __init__(self):
        self.types, self.fields, self.item = set(), {}, None

    def see(self, value):
        self.types.add(TYPES[type(value)])
        if isinstance(value, dict):
            for name, below in value.items():
                self.fields.setdefault(name, Node()).see(below)
        if isinstance(value, list):
            self.item = self.item or Node()
            for below in value:
                self.item.see(below)

    def schema(self, meanings, path=()):
        out = {}
        meaning = meanings.get(".".join(path))
        if meaning:
            out["description"] = meaning
        types = self.types - ({"integer"} if "number" in self.types else set())
        if meaning and re.search(r"\bnull\b", meaning):
            types = types | {"null"}
        if types - {"null"}:  # a field that was never seen may hold anything
            out["type"] = sorted(types)[0] if len(types) == 1 else sorted(types)
        if self.fields:
            out["properties"] = {name: node.schema(meanings, path + (name,)) for name, node in self.fields.items()}
        if self.item and self.item.types:
            out["items"] = self.item.schema(meanings, path)
            out["items"].pop("description", None)
        return out


def meanings_of(page):
    """Title of a section: {field: its meaning}."""
    out = {}
    for part in page.split("\n## ")[1:]:
        rows = re.findall(r"^\| (`.+?) \| (.+) \|$", part, re.M)
        plain = {name: re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", meaning) for names, meaning in rows for name in named(names)}
        for title in part.split("\n", 1)[0].split(", "):
            out[title] = plain
    return out


def golden_answers(folder):
    for path in sorted(Path(folder).glob("*/stdout")):
        text = path.read_text(encoding="utf-8")
        try:
            data = json.loads(text)
        except ValueError:
            continue
        if isinstance(data, dict) and "schema" in data:
            yield data


def fits(value, schema):
    """Whether a value is one of a schema of those that are written here; "" or the first place that is not."""
    types = schema.get("type", list(TYPES.values()))
    types = [types] if isinstance(types, str) else types
    if TYPES[type(value)] not in types and not (type(value) is int and "number" in types):
        return f": {TYPES[type(value)]} instead of {types}"
    below = value.items() if isinstance(value, dict) else ((i, item) for i, item in enumerate(value)) \
        if isinstance(value, list) else ()
    for name, item in below:
        part = schema.get("properties", {}).get(name) if isinstance(value, dict) else schema.get("items")
        wrong = fits(item, part) if part is not None else ""
        if wrong:
            return f".{name}{wrong}"
    return ""


def made(page, samples):
    """File name: schema."""
    meanings, nodes = meanings_of(page), {}
    for data in samples:
        nodes.setdefault(data["schema"], Node()).see(data)
    out = {}
    for name, node in sorted(nodes.items()):
        schema = node.schema(meanings.get(name, {}))
        schema["properties"]["schema"] = {"const": name}
        out[name.replace("/", "-") + ".json"] = {"$schema": "https://json-schema.org/draft/2020-12/schema",
                                                 "title": name, **schema, "required": ["schema"]}
    return out


SHAPE = r"^\[(\d+, ?){3}\d+\]$"
METADATA = {"format": {"const": "maskctl.mask/1"}, "shape": {"pattern": SHAPE}, "start": {"pattern": SHAPE},
            "digest": {"pattern": "^[0-9a-f]{64}$"}}


def of_mask_files(page):
    """The schema of the metadata of files of masks, from the table of docs/formats.md."""
    section = page.split("\n## Files of masks\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.M)
    fields = {key: {"description": re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", meaning), "type": "string",
                    **METADATA.get(key, {})} for key, meaning in rows}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "maskctl.mask/1", "type": "object",
            "properties": fields, "required": ["format", "shape", "pipeline", "digest"]}


def main():
    page, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
    goldens = list(golden_answers(sys.argv[3]))
    schemas = made(page, [*goldens, *answers()])
    schemas["maskctl.mask-1.json"] = of_mask_files(Path(sys.argv[1]).with_name("formats.md").read_text(encoding="utf-8"))
    texts = {name: json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}
    wrong = 0
    if "--write" in sys.argv:
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.json"):
            old.unlink()
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    stored = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    for name in sorted(set(stored) | set(texts)):
        if stored.get(name) != texts.get(name):
            print(f"{name} is not what the page and the commands give")
            wrong += 1
    for data in goldens:
        place = fits(data, json.loads(stored.get(data["schema"].replace("/", "-") + ".json", "{}")))
        if place:
            print(f"{data['schema']}: {place}")
            wrong += 1
    print(f"{len(texts)} schemas, {len(goldens)} answers, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
