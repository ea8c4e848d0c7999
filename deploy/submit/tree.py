"""Makes the tree of the runs, and has it checked."""

import shutil
import sys
from pathlib import Path

from submit.campaign import Campaign
from submit.errors import Stopped
from submit.files import digest
from submit.folders import NEW, TREE

CHECKED = "checker.txt"


def make(campaign: Campaign) -> None:
    """Runs `submission`, `check` and the official checker, every time: they take seconds, and read files that no stamp covers."""
    program, rehearsal = campaign.program, campaign.files.rehearsal
    tree, new = campaign.folder / TREE, campaign.folder / NEW
    if new.exists():
        shutil.rmtree(new)
    command = [program.path, "submission", "--settings", "submission.toml", "--output", NEW, *campaign.files.table,
               *(["--rehearsal"] if rehearsal else [])]
    campaign.say("submission", command)
    if code := program.run(command):
        raise Stopped(code, "submission: no new tree was made. Correct the errors above; a change of submission.toml requires no "
                            "new runs.")
    if contents(new) == contents(tree):
        shutil.rmtree(new)
    else:
        campaign.set_aside(tree)
        new.rename(tree)
    command = [program.path, "check", TREE, *campaign.files.table]
    campaign.say("check", command)
    if code := program.run(command):
        if not rehearsal:
            raise Stopped(code, "check: a rule is broken, see above. Correct it, then run the same command again.")
        print("This is a rehearsal: continuing.")
    if reference := campaign.steps.reference:
        checker(campaign, reference / "tools" / "submission")
    print(f"\nThe submission is in {campaign.folder / TREE}.")


def contents(tree: Path) -> dict[str, str | None] | None:
    """Returns the digests of all files in a folder; None if it is missing."""
    return {str(path.relative_to(tree)): digest(path) for path in tree.rglob("*")} if tree.is_dir() else None


def checker(campaign: Campaign, folder: Path) -> None:
    """Runs the official checker, which is a file in tags and a module on the main branch."""
    program = ["submission_checker.py"] if (folder / "submission_checker.py").exists() else ["-m", "submission_checker.main"]
    here = campaign.folder.absolute()
    command = [sys.executable, *program, "--input", str(here / TREE), "--version", campaign.files.submission.get("round", "v5.0"),
               "--csv", str(here / "summary.csv")]
    campaign.say("official checker", command)
    said = campaign.folder / CHECKED
    if code := campaign.program.run(command, folder, said):
        if "SUMMARY: " not in said.read_text():
            raise Stopped(3, f"official checker: it failed without a verdict (exit code {code}); its output is above and in {CHECKED}. "
                             "Check that this Python has its packages, and that --reference is a checkout of the round's tag.")
        raise Stopped(1, f"official checker: it rejected the tree; its output is above and in {CHECKED}.")
