"""Completes the files of `loadgen-node init` for a benchmark without a model, or writes a run's accuracy.txt."""

import argparse
import json
import re
from pathlib import Path

from fill import HERE, LINKS, change, submission

SYSTEM = {
    "number_nic_loadgen": '"2"', "framework": '"none: the engine tokens"', "host_networking_topology": '"two pairs of virtual interfaces"',
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder that init made, or folder of an accuracy run")
    parser.add_argument("--ms", type=int, help="minimum duration of a performance run")
    parser.add_argument("--accuracy", action="store_true", help="write accuracy.txt of a run without a model")
    args = parser.parse_args()
    if args.accuracy:
        accuracy(args.folder)
    else:
        print("\n".join(settings(args.folder, args.ms)))


def accuracy(folder: Path) -> None:
    """Writes the official script's line, with accuracy 0 and the tokens that the nodes counted."""
    nodes = json.loads((folder / "result.json").read_text())["nodes"]
    total, answered = sum(node["tokens"]["total"] for node in nodes), sum(node["answered"] for node in nodes)
    line = {"rouge1": 0.0, "rouge2": 0.0, "rougeL": 0.0, "rougeLsum": 0.0, "gen_len": 0, "gen_num": answered, "gen_tok_len": total,
            "tokens_per_sample": round(total / answered, 1)}
    (folder / "accuracy.txt").write_text(f"\nResults\n\n{line}\n")


def settings(folder: Path, ms: int) -> list[str]:
    """Shortens the runs, and adds the results to the submission's settings in the folder above; returns their scenarios.

    The name of the folder is the benchmark's. An interactive variant is only run in Server.
    """
    conf = (folder / "user.conf").read_text()
    (folder / "user.conf").write_text(re.sub(r"(\.min_duration = ).*", rf"\g<1>{ms}", conf))
    inputs = "int16" if folder.name == "whisper" else "int32"
    change(folder / "submission.toml", {"result": {
        "starting_weights_filename": '"none: no model"', "weight_data_types": '"fp16"', "weight_transformations": '"none"',
        "input_data_types": f'"{inputs}"'}})
    written = (folder / "submission.toml").read_text().replace('"runs/', f'"{folder.name}/runs/')
    results = re.findall(r"^\[\[result\]\]\n(?:.+\n)*", written, re.M)
    if "interactive" in folder.name:
        results = [result for result in results if 'scenario = "server"' in result]
    whole = folder.parent / "submission.toml"
    if whole.exists():
        whole.write_text("\n".join([whole.read_text(), *results]))
    else:
        whole.write_text(written)
        complete(whole)
    return [re.search(r'^scenario = "(.*)"', result, re.M)[1] for result in results]


def complete(file: Path) -> None:
    """Fills in what describes the system and the submitter."""
    (file.parent / "calibration.md").write_text((HERE / "calibration.md").read_text())
    values = submission()
    del values["result"]
    values["system"] |= SYSTEM
    values["architecture"]["measurement"] = '"By the kernel: more than 10 Gb/s between two namespaces."'
    closed = 'division = "closed"' in file.read_text()
    if closed:
        network = ("net", "nic_", "number_nic_", "is_network", "network_")
        values["system"] = {key: value for key, value in values["system"].items() if not key.startswith(network)}
        del values["topology"]
    change(file, values, "" if closed else LINKS)


if __name__ == "__main__":
    main()
