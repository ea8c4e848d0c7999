"""Completes the files of `loadgen-node init` for a language model and its interactive variant, or writes a run's accuracy.txt."""

import argparse
import json
import re
from pathlib import Path

from fill import HERE, LINKS, change, submission

DATA = "synthetic-ids:24576x4-1024"
SYSTEM = {
    "number_nic_loadgen": '"2"', "framework": '"none: the engine tokens"', "host_networking_topology": '"two pairs of virtual interfaces"',
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder that init made, or folder of an accuracy run")
    parser.add_argument("interactive", type=Path, nargs="?", help="folder that init made for the interactive variant")
    parser.add_argument("--rate", type=float, help="samples per second that both nodes answer together")
    parser.add_argument("--ms", type=int, help="minimum duration of a performance run")
    parser.add_argument("--accuracy", action="store_true", help="write accuracy.txt of a run without a model")
    args = parser.parse_args()
    if args.accuracy:
        accuracy(args.folder)
    else:
        settings(args.folder, args.interactive, args.rate, args.ms)


def accuracy(folder: Path) -> None:
    """Writes the official script's line, with accuracy 0 and the tokens that the nodes counted."""
    nodes = json.loads((folder / "result.json").read_text())["nodes"]
    total, answered = sum(node["tokens"]["total"] for node in nodes), sum(node["answered"] for node in nodes)
    line = {"rouge1": 0.0, "rouge2": 0.0, "rougeL": 0.0, "rougeLsum": 0.0, "gen_len": 0, "gen_num": answered, "gen_tok_len": total,
            "tokens_per_sample": round(total / answered, 1)}
    (folder / "accuracy.txt").write_text(f"\nResults\n\n{line}\n")


def settings(folder: Path, interactive: Path, rate: float, ms: int) -> None:
    change(folder / "run.toml", {"": {"dataset": f'"{DATA}"'}}, "rehearsal = true\n")
    conf = "".join((one / "user.conf").read_text() for one in (folder, interactive))
    conf = re.sub(r"(\.min_duration = ).*", rf"\g<1>{ms}", conf)
    (folder / "user.conf").write_text(re.sub(r"(\.target_qps = ).*", rf"\g<1>{rate:g}", conf))
    (folder / "calibration.md").write_text((HERE / "calibration.md").read_text())
    # One file has the results of both; the interactive result has other folders.
    chat = (interactive / "submission.toml").read_text()
    chat = re.search(r"^\[\[result\]\]\n(?:.+\n)*", chat, re.M)[0].replace("runs/server/", "runs/interactive/")
    written = (folder / "submission.toml").read_text()
    (folder / "submission.toml").write_text(written + "\n" + chat)
    values = submission()
    values["system"] |= SYSTEM
    values["architecture"]["measurement"] = '"By the kernel: more than 10 Gb/s between two namespaces."'
    closed = 'division = "closed"' in written
    if closed:
        network = ("net", "nic_", "number_nic_", "is_network", "network_")
        values["system"] = {key: value for key, value in values["system"].items() if not key.startswith(network)}
        del values["topology"]
    values["result"] |= {"starting_weights_filename": '"none: no model"', "weight_data_types": '"fp16"', "input_data_types": '"int32"'}
    change(folder / "submission.toml", values, "" if closed else LINKS)


if __name__ == "__main__":
    main()
