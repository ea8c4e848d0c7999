"""From the runs to a checked tree."""

import shutil
import sys
from pathlib import Path

from submit.campaign import Campaign
from submit.errors import Stopped
from submit.files import digest
from submit.folders import NEW, TREE

CHECKED = "checker.txt"


def make(campaign: Campaign) -> None:
    """`submission`, `check` and the official checker, each time: they take seconds, and read what nobody stamps."""
    program, rehearsal = campaign.program, campaign.files.rehearsal
    tree, new = campaign.folder / TREE, campaign.folder / NEW
    if new.exists():
        shutil.rmtree(new)
    command = [program.path, "submission", "--settings", "submission.toml", "--output", NEW, *campaign.files.table,
               *(["--rehearsal"] if rehearsal else [])]
    campaign.say("submission", command)
    if code := program.run(command):
        raise Stopped(code, "submission: no new tree was made. Correct what is listed above; no run has to be made again for "
                            "submission.toml.")
    if contents(new) == contents(tree):
        shutil.rmtree(new)
    else:
        campaign.set_aside(tree)
        new.rename(tree)
    command = [program.path, "check", TREE, *campaign.files.table]
    campaign.say("check", command)
    if code := program.run(command):
        if not rehearsal:
            raise Stopped(code, "check: a rule is broken, see above. Correct it, then give the same command again.")
        print("This is a rehearsal: it goes on.")
    if reference := campaign.steps.reference:
        checker(campaign, reference / "tools" / "submission")
    print(f"\nThe submission is in {campaign.folder / TREE}.")


def contents(tree: Path) -> dict[str, str | None] | None:
    """Digests of all that is in a folder."""
    return {str(path.relative_to(tree)): digest(path) for path in tree.rglob("*")} if tree.is_dir() else None


def checker(campaign: Campaign, folder: Path) -> None:
    """A file in tags, a module on the main branch."""
    program = ["submission_checker.py"] if (folder / "submission_checker.py").exists() else ["-m", "submission_checker.main"]
    here = campaign.folder.absolute()
    command = [sys.executable, *program, "--input", str(here / TREE), "--version", campaign.files.submission.get("round", "v5.0"),
               "--csv", str(here / "summary.csv")]
    campaign.say("official checker", command)
    said = campaign.folder / CHECKED
    if code := campaign.program.run(command, folder, said):
        if "SUMMARY: " not in said.read_text():
            raise Stopped(3, f"official checker: it failed before it came to a verdict (exit code {code}); its words are above and in "
                             f"{CHECKED}. See that this Python has its packages, and that --reference is a checkout of the round's tag.")
        raise Stopped(1, f"official checker: it does not accept the tree; its words are above and in {CHECKED}.")
