"""Completes the files of `loadgen-node init resnet50` as a submitter would, for a rehearsal on one machine."""

import argparse
import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
OFFLINE_SAMPLES = 300
SERVER_QUERIES = 470  # early stopping requires 459
LATENCY_MS = 60_000  # a small processor does not meet ResNet50's 15 ms; accepted.py expects this value
MEASURED = ("framework",)  # key of submission.toml that does not apply, since the engine differs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder that init made")
    parser.add_argument("--data", type=Path, required=True, help="folder that deploy/data/prepare made")
    parser.add_argument("--model", type=Path, required=True, help="manifest of the model")
    parser.add_argument("--rate", type=float, required=True, help="pictures per second that both nodes classify together")
    parser.add_argument("--ms", type=int, required=True, help="minimum duration of a performance run")
    args = parser.parse_args()

    run = {"dataset": args.data / "imagenet-jpeg", "labels": args.data / "imagenet-jpeg-labels.npy"}
    change(args.folder / "run.toml", {"": {key: f'"{path.absolute()}"' for key, path in run.items()}}, "rehearsal = true\n")
    node = {"model": f'"{args.model.absolute()}"', "max_batch": "8", "scenario": None}
    change(args.folder / "node.toml", {"": node})
    conf = {"Offline": {"target_qps": args.rate, "min_duration": args.ms, "min_query_count": OFFLINE_SAMPLES},
            "Server": {"target_qps": args.rate / 2, "min_duration": args.ms, "min_query_count": SERVER_QUERIES, "target_latency": LATENCY_MS}}
    lines = [f"resnet50.{scenario}.{key} = {value:g}\n" for scenario, fields in conf.items() for key, value in fields.items()]
    (args.folder / "user.conf").write_text("".join(lines))
    (args.folder / "calibration.md").write_text((HERE / "calibration.md").read_text())
    change(args.folder / "submission.toml", submission(), LINKS)


def submission() -> dict[str, dict[str, str | None]]:
    """Returns values by table. The values of the table `system` are from the tests' submission.toml."""
    system = tomllib.loads((HERE / "submission.toml").read_text())["system"]
    weights = {"starting_weights_filename": "none: random weights, seed 1", "weight_data_types": "fp32",
               "weight_transformations": "none", "input_data_types": "uint8"}
    quoted = {
        "": {"submitter": "Rehearsal", "status": "rdi"},
        "system": {key: value for key, value in system.items() if key not in MEASURED} | {
            "id": "three-namespaces", "system_name": "Three network namespaces of one machine", "number_nic_loadgen": "2",
            "host_networking_topology": "two pairs of virtual interfaces", "net_software_stack_loadgen": "Linux TCP",
            "net_software_stack_sut": "Linux TCP"},
        "topology": {"text": "Three network namespaces of one kernel, joined by pairs of virtual interfaces."},
        "architecture": {"data_path": "Samples are answered by the processor that receives them."},
        "result": weights,
    }
    return {table: {key: f'"{value}"' for key, value in keys.items()} for table, keys in quoted.items()}


LINKS = "".join(f'''
[[topology.link]]
from = "loadgen:lg{number}"
to = "{node}:sut0"
media = "none: veth"
rate = "10 Gb/s"
''' for number, node in enumerate(("node-a", "node-b")))


def change(file: Path, tables: dict[str, dict[str, str | None]], more: str = "") -> None:
    """Sets keys in all tables of a name, also if commented out, and adds missing keys. None removes a key.

    Appends `more` to the file.
    """
    lines, table, left = [], "", {(name, key) for name, keys in tables.items() for key in keys}
    for line in file.read_text().splitlines():
        head = re.match(r"\[+([\w.]+)\]", line)
        table = head[1] if head else table
        key = re.match(r"#?([\w-]+) = ", line)
        if key and key[1] in tables.get(table, {}):
            left.discard((table, key[1]))
            value = tables[table][key[1]]
            line = f"# no {key[1]}" if value is None else f"{key[1]} = {value}"
        lines.append(line)
    for name, key in sorted(left):
        assert f"[{name}]" in lines, f"{file} has no {key}"
        lines.insert(lines.index(f"[{name}]") + 1, f"{key} = {tables[name][key]}")
    file.write_text("\n".join(lines) + "\n" + more)


if __name__ == "__main__":
    main()
