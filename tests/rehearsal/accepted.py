"""Fails unless the official checker reports exactly the errors that a rehearsal must have: accepted.py KIND CHECKER.TXT"""

import re
import sys
from pathlib import Path

DURATION = r"Test duration less than 600s in user config"
BOUND = r"Latency constraint with early stopping not met, expected=15000000, found=60000000000$"
# Expected errors, none of them a fault of netdiv, with their causes. All of them must be found.
CAUSES = {
    # Random weights and generated pictures.
    "pictures": {
        r"accuracy not valid$": "the accuracy target is missed: the weights are random",
        DURATION: "the runs are short",
        r"Required minimum samples per query not met by user config": "Offline has few samples",
        BOUND: "the bound of Server is a minute, for any processor",
    },
    # The newest checker also counts the samples of accuracy runs, and counts samples of Offline only in Closed.
    "pictures-newest-network": {
        r"accurcy run does not cover all dataset, accuracy samples: \d+, dataset size: 50000$": "the data set is incomplete",
        DURATION: "the runs are short",
        BOUND: "the bound of Server is a minute, for any processor",
    },
    # The engine meets the bounds, and the data set is complete.
    "language": {
        r"accuracy not valid$|Some accuracy checks Checks failed for": "the accuracy target is missed: there is no model",
        DURATION: "the runs are short",
    },
    # The official scripts find the made-up responses correct.
    "graded": {DURATION: "the runs are short"},
}
CAUSES["pictures-newest-closed"] = {**CAUSES["pictures"], **CAUSES["pictures-newest-network"]}
del CAUSES["pictures-newest-closed"][r"accuracy not valid$"]
SUMMARY = r"^SUMMARY: submission has errors$"
# Errors that follow from the expected ones.
CONSEQUENCES = (
    SUMMARY, r"/performance/run_1 has issues$", r"^compliance dir \S+ has issues$", r"does not have all required scenarios, (missing|one of \[Server, Interactive\] is required)",
    r"^NoResults ", r"^Some (performance checks|accuracy checks|compliance check) Checks failed for", r"is OK but accuracy has issues$",
)


def main() -> int:
    kind, report = sys.argv[1:]
    causes = CAUSES[kind]
    errors = [line.partition("ERROR")[2].lstrip("] ") for line in Path(report).read_text().splitlines() if "ERROR" in line]
    errors = [re.sub(r"^:\w+:", "", error) for error in errors]  # the name of Python's logger
    other = [error for error in errors if not any(re.search(pattern, error) for pattern in (*causes, *CONSEQUENCES))]
    missing = [f"not found: {pattern}" for pattern in (*causes, SUMMARY) if not any(re.search(pattern, error) for error in errors)]
    for pattern, why in causes.items():
        print(f"{sum(bool(re.search(pattern, error)) for error in errors):>3} x {why}")
    for line in other + missing:
        print(f"UNEXPECTED: {line}")
    print("The official checker reports other errors" if other or missing else "The official checker reports only the expected errors")
    return int(bool(other or missing))


if __name__ == "__main__":
    sys.exit(main())
