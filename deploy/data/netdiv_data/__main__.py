"""The command: `deploy/data/prepare BENCHMARK --from FOLDER --output FOLDER`."""

import argparse
import os
import signal
import sys
from pathlib import Path

from . import captions, criteo, gpt_oss, igbh, igbh_graph, imagenet, kits19, openimages, prompts, squad, whisper
from .errors import DataError, WorkerError
from .facts import IGBH
from .preparation import Choice, Preparation, prepare

FORMS = {
    "resnet50": imagenet.FORMS, "retinanet": openimages.FORMS, "bert": squad.FORMS, "3d-unet": kits19.FORMS, "dlrm-v2": criteo.FORMS,
    "gptj": prompts.FORMS, "llama3.1-8b": prompts.FORMS, **{name: prompts.FORMS for name in prompts.PICKLED},
    gpt_oss.NAME: prompts.FORMS, "stable-diffusion-xl": captions.FORMS, "rgat": igbh.FORMS, "whisper": whisper.FORMS,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "prepare", description="Prepares the data set of an MLPerf Inference benchmark: samples as the reference makes them, "
        "with a manifest that `loadgen-node run` checks. docs/SUBMISSION.md describes the content of each FOLDER.")
    parser.add_argument("benchmark", choices=FORMS)
    parser.add_argument("--from", dest="source", type=Path, required=True, metavar="FOLDER", help="data set in its public form")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="folder to write samples and manifest to")
    parser.add_argument("--form", help="form of a sample (default: the first): " + "; ".join(
        f"{name}: {', '.join(forms)}" for name, forms in FORMS.items() if len(forms) > 1))
    parser.add_argument("--calibration", nargs="?", const=True, type=Path, metavar="LIST",
                        help="prepare the calibration subset instead; LIST is MLCommons' list, for data sets that have one")
    parser.add_argument("--tokenizer", type=Path, metavar="FOLDER", help="folder with the model's tokenizer, for gptj and stable-diffusion-xl")
    parser.add_argument("--first", type=int, metavar="N", help="prepare only the first N samples, for practice")
    parser.add_argument("--incomplete", action="store_true", help="accept a data set that differs from the published one, for practice")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="number of processes (default: one for each core)")
    args = parser.parse_args()
    forms = FORMS[args.benchmark]
    args.form = args.form or forms[0]
    if args.form not in forms:
        parser.error(f"--form {args.form}: {args.benchmark} supports {', '.join(forms)}")
    if args.jobs < 1 or (args.first is not None and args.first < 1):
        parser.error("--jobs and --first must be 1 or more")
    return args


def chosen(args: argparse.Namespace) -> Preparation:
    """Returns the preparation that the arguments select."""
    name, incomplete = args.benchmark, args.incomplete or args.first is not None
    lists = name not in ("gptj", "llama3.1-8b", *prompts.PICKLED)
    if lists and args.calibration is True:
        raise DataError(f"--calibration requires LIST for {name}: see calibration/ of mlcommons/inference")
    if not lists and args.calibration not in (None, True):
        raise DataError(f"--calibration accepts no LIST for {name}: the subset is a separate file in FOLDER")
    common = (args.source, args.form, incomplete, args.calibration)
    match name:
        case "resnet50":
            return imagenet.preparation(*common)
        case "retinanet":
            return openimages.preparation(*common)
        case "bert":
            return squad.preparation(*common)
        case "3d-unet":
            return kits19.preparation(*common)
        case "dlrm-v2":
            return criteo.preparation(*common)
        case "rgat":
            return igbh.preparation(*common)
        case "stable-diffusion-xl":
            return captions.preparation(*common, args.tokenizer)
        case "whisper":
            return whisper.preparation(*common[:3])
        case "gptj":
            return prompts.gptj(*common[:3], bool(args.calibration), args.tokenizer)
        case "llama3.1-8b":
            return prompts.llama_8b(*common[:3], bool(args.calibration))
        case _:
            return prompts.pickled(name, *common[:3], bool(args.calibration))


def graph(args: argparse.Namespace) -> int:
    """Prepares R-GAT's graph, which has no samples; returns the exit code."""
    if args.calibration is not None or args.first is not None:
        raise DataError(f"--form {args.form} makes no samples: remove --calibration and --first")
    print(f"{IGBH.name}: {IGBH.licence}", file=sys.stderr)
    path = igbh_graph.prepare_graph(args.source, args.form, args.incomplete, args.output)
    print(f"start the nodes in {path.parent}: the model maps {path.name}", file=sys.stderr)
    print(path)
    return 0


def main() -> int:
    # Only the package's tokenizers are used.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    args = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if not args.source.is_dir():
            raise DataError(f"{args.source} is not a folder")
        if args.benchmark == "rgat" and args.form != "nodes":
            return graph(args)
        choice = Choice(args.output, args.first, args.incomplete, args.jobs)
        if args.calibration is not None and args.benchmark in (gpt_oss.NAME, "whisper"):
            raise DataError(f"{args.benchmark} has no calibration subset: remove --calibration")
        if args.benchmark == gpt_oss.NAME:
            paths = [gpt_oss.prepare_sets(args.source, choice)]
        else:
            it = chosen(args)
            print(f"{it.facts.name}: {it.facts.licence}", file=sys.stderr)
            paths = prepare(it, choice)
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (OSError, WorkerError) as error:
        print(f"error: {error}. Run the same command again to continue", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: run the same command again to continue", file=sys.stderr)
        return 130
    print(f"--dataset {'+'.join(str(path) for path in paths)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
