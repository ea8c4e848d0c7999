"""Recorded folders, copies of them with changes, and the forms that a schema allows.

The records are of loadgen-node over loopback, without evidence and logs: `server` with the engine echo, `tokens` with the engine tokens,
`fabric`, `matrix` and `rate` with the engine none; `sweep` (rates) and `sweep-concurrency` with the engine echo, and `sweep-tokens` (rates) with
the engine tokens, each with the run of one step.
"""

import json
import shutil
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
DATA = Path(__file__).parent / "data"
SCHEMAS = {
    "result.json": REPOSITORY / "loadgen-node/rules/result.schema.json",
    "fabric.json": REPOSITORY / "loadgen-node/fabric.schema.json",
}


# Run of each sweep that is recorded.
STEPS = {
    "sweep": "nodes-1/rate-400",
    "sweep-tokens": "nodes-1/rate-40",
    "sweep-concurrency": "nodes-2/concurrency-16",
}
RUNS = ["server", *(f"{sweep}/{step}" for sweep, step in sorted(STEPS.items())), "tokens"]


def copy(test, name):
    """Returns a copy of a recorded folder, which the test removes."""
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    return Path(shutil.copytree(DATA / name, Path(folder.name) / name))


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def older_forms(name, file):
    """Yields a record as earlier versions wrote it: without each key that its schema does not require, then without all of them."""
    root, record = load(SCHEMAS[file]), load(DATA / name / file)
    types = {"": root} | root["$defs"]
    optional = {(kind, key) for kind, of in types.items() for key in of.get("properties", {}) if key not in of.get("required", [])}
    yield from (without({one}, record, "", root) for one in sorted(optional))
    yield without(optional, record, "", root)


def without(keys, value, kind, root):
    """Returns a value of a type in a schema without keys of its types. Fails if the value does not have the type's keys."""
    schema = root["$defs"][kind] if kind else root
    properties = schema.get("properties")
    if properties is None or not isinstance(value, dict):
        return value
    assert set(schema["required"]) <= set(value) <= set(properties), (kind, set(value) ^ set(properties))
    kept = {}
    for key in value:
        if (kind, key) not in keys:
            inner = kind_of(properties[key])
            items = inner and isinstance(value[key], list)
            kept[key] = [without(keys, item, inner, root) for item in value[key]] if items else value[key]
            if inner and isinstance(value[key], dict):
                kept[key] = without(keys, value[key], inner, root)
    return kept


def kind_of(schema):
    """Returns the name of the type that a schema refers to, itself or for its items; None for others."""
    for one in [schema, schema.get("items", {}), *schema.get("anyOf", [])]:
        if isinstance(one, dict) and "$ref" in one:
            return one["$ref"].rpartition("/")[2]
    return None
