"""From the runs to a checked tree."""

import sys
from pathlib import Path

from submit.campaign import Campaign
from submit.errors import Stopped

TREE, CHECKED = "tree", "checker.txt"


def make(campaign: Campaign) -> None:
    """`submission`, `check` and the official checker, each time: they take seconds, and read what nobody stamps."""
    program, rehearsal = campaign.program, campaign.files.rehearsal
    campaign.set_aside(campaign.folder / TREE)
    command = [program.path, "submission", "--settings", "submission.toml", "--output", TREE, *campaign.files.table,
               *(["--rehearsal"] if rehearsal else [])]
    campaign.say("submission", command)
    if code := program.run(command):
        raise Stopped(code, "submission: no tree was made. Correct what is listed above; no run has to be made again for submission.toml.")
    command = [program.path, "check", TREE, *campaign.files.table]
    campaign.say("check", command)
    if code := program.run(command):
        if not rehearsal:
            raise Stopped(code, "check: a rule is broken, see above. Correct it, then give the same command again.")
        print("This is a rehearsal: it goes on.")
    if reference := campaign.steps.reference:
        checker(campaign, reference / "tools" / "submission")
    print(f"\nThe submission is in {campaign.folder / TREE}.")


def checker(campaign: Campaign, folder: Path) -> None:
    """A file in tags, a module on the main branch."""
    program = ["submission_checker.py"] if (folder / "submission_checker.py").exists() else ["-m", "submission_checker.main"]
    here = campaign.folder.absolute()
    command = [sys.executable, *program, "--input", str(here / TREE), "--version", campaign.files.submission.get("round", "v5.0"),
               "--csv", str(here / "summary.csv")]
    campaign.say("official checker", command)
    if campaign.program.run(command, folder, campaign.folder / CHECKED):
        raise Stopped(1, f"official checker: it does not accept the tree; its words are above and in {CHECKED}.")
