"""Makes all steps of a submission, from the files that `loadgen-node init` wrote to a checked tree.

    deploy/submit.sh resnet50 --fabric-nodes 'rack[1-8]:50052' --reference inference --dry-run
    deploy/submit.sh resnet50 --fabric-nodes 'rack[1-8]:50052' --reference inference
    deploy/submit.sh llama2-70b-99 --reference inference -- ARGUMENTS OF THE OFFICIAL ACCURACY SCRIPT

The same command continues where it ended. It skips steps that were made with the same settings. Before a step is made again, its old
results are moved to the folder `old`.

Exit code 0: the tree is made and accepted; 1: a run is invalid, a test fails, or a rule is broken; 2: correct files, options or nodes;
3: a step failed or was stopped.
"""

import argparse
import os
import sys
from pathlib import Path

from submit import tree
from submit.campaign import Campaign
from submit.errors import Refused, Stopped
from submit.files import Files
from submit.programs import Program
from submit.steps import Script, Steps


# Steps in general, for --dry-run with files or options that have to be corrected first.
STEPS = """Once that is corrected, --dry-run lists the duration and state of each step:
  fabric, with --fabric-nodes
  of each scenario in submission.toml: accuracy, the official accuracy script, performance, digests, compliance tests
  submission, check, and the official checker"""


def command_line(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="submit.sh", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with run.toml, user.conf and submission.toml")
    parser.add_argument("--scenario", help="make only the runs of this scenario, and no tree; for nodes whose settings differ between scenarios")
    parser.add_argument("--fabric-nodes", metavar="NODES", help="nodes with the engine none, for measuring the fabric")
    parser.add_argument("--reference", type=Path, metavar="FOLDER",
                        help="checkout of mlcommons/inference for the round (docs/SUBMISSION.md), for its accuracy scripts and its checker")
    parser.add_argument("--accuracy-python", type=Path, metavar="DIR",
                        help="virtual environment with the packages of the official accuracy script")
    parser.add_argument("--test07-reference-data", type=Path, metavar="FILE", help="reference data of TEST07 (gpt-oss-120b)")
    parser.add_argument("--dry-run", action="store_true", help="list the steps and their durations, with the same other options")
    return parser.parse_args(words)


def prepared(args: argparse.Namespace, arguments: list[str]) -> Campaign:
    """Reads files and options, and finds all errors in them."""
    program = Program(args.folder)
    problems = []
    if args.reference and not (args.reference / "tools" / "submission").is_dir():
        problems.append(f"--reference {args.reference}: it contains no tools/submission; pass a checkout of mlcommons/inference")
    if args.accuracy_python and not args.accuracy_python.is_dir():
        problems.append(f"--accuracy-python {args.accuracy_python}: no such folder; pass a virtual environment")
    if args.test07_reference_data and not args.test07_reference_data.is_file():
        problems.append(f"--test07-reference-data {args.test07_reference_data}: no such file")
    try:
        files = Files(args.folder, program)
    except Refused as error:
        raise Refused(*error.problems, *problems) from error
    if problems:
        raise Refused(*problems)
    given = args.reference, args.accuracy_python, args.test07_reference_data
    reference, python, test07 = (path.absolute() if path else None for path in given)
    for result in files.results:
        program.config("--scenario", result.scenario)
    steps = Steps(files, program, args.fabric_nodes, Script(reference, python, arguments, test07))
    if args.scenario:
        named = [result.scenario for result in files.results]
        if args.scenario not in named:
            raise Refused(f"--scenario {args.scenario}: submission.toml has {' and '.join(named)}")
        steps.all = [step for step in steps.all if step.scenario in ("", args.scenario)]
    return Campaign(files, program, steps)


def main() -> int:
    words, _, arguments = (list(part) for part in partition(sys.argv[1:]))
    args = command_line(words)
    try:
        campaign = prepared(args, [absolute(word) for word in arguments])
        if not args.dry_run:
            campaign.lock()
        campaign.show()
        if not args.dry_run:
            campaign.make()
            if args.scenario:
                print(f"\nAll runs of {args.scenario} are made. To make the tree, run submit.sh without --scenario.")
            else:
                tree.make(campaign)
    except Refused as error:
        for problem in error.problems:
            print(f"submit.sh: {problem}", file=sys.stderr)
        if args.dry_run:
            print(STEPS)
        return 2
    except Stopped as error:
        print(f"\nsubmit.sh: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"submit.sh: {error}", file=sys.stderr)
        return 3
    except Exception as error:  # for example a file that changed during a step
        print(f"submit.sh: unexpected error, {type(error).__name__}: {error}", file=sys.stderr)
        return 3
    return 0


def partition(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Splits words at the first `--`."""
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place : place + 1], words[place + 1 :]


def absolute(word: str) -> str:
    """Makes a path in an argument absolute, since steps run in the folder of the files."""
    name, equals, value = word.partition("=")
    if word and os.path.exists(word):
        return os.path.abspath(word)
    return f"{name}={os.path.abspath(value)}" if equals and value and os.path.exists(value) else word


if __name__ == "__main__":
    sys.exit(main())
