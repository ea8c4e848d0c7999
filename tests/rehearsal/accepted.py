"""Whether the official checker finds fault with a rehearsal for what a rehearsal is, and for nothing else: accepted.py [--language] CHECKER.TXT"""

import re
import sys
from pathlib import Path

# Why each is no fault of netdiv's; all of them have to be found.
CAUSES = {
    r"accuracy not valid$": "the accuracy target is missed: the weights are random",
    r"Test duration less than 600s in user config": "the runs are short",
    r"Required minimum samples per query not met by user config": "Offline has few samples",
    r"Latency constraint with early stopping not met, expected=15000000, found=60000000000$": "the bound of Server is a minute, for any processor",
}
# Of a language model, whose bounds the engine keeps and whose data set is whole.
LANGUAGE = {
    r"accuracy not valid$|Some accuracy checks Checks failed for": "the accuracy target is missed: there is no model",
    r"Test duration less than 600s in user config": "the runs are short",
}
SUMMARY = r"^SUMMARY: submission has errors$"
# What the checker says in their wake.
CONSEQUENCES = (
    SUMMARY, r"/performance/run_1 has issues$", r"^compliance dir \S+ has issues$", r"does not have all required scenarios, (missing|one of \[Server, Interactive\] is required)",
    r"^NoResults ", r"^Some performance checks Checks failed for", r"is OK but accuracy has issues$",
)


def main() -> int:
    causes = LANGUAGE if "--language" in sys.argv else CAUSES
    errors = [line.partition("ERROR")[2].lstrip("] ") for line in Path(sys.argv[-1]).read_text().splitlines() if "ERROR" in line]
    errors = [re.sub(r"^:\w+:", "", error) for error in errors]  # the name of Python's logger
    other = [error for error in errors if not any(re.search(kind, error) for kind in (*causes, *CONSEQUENCES))]
    missing = [f"not found: {kind}" for kind in (*causes, SUMMARY) if not any(re.search(kind, error) for error in errors)]
    for kind, why in causes.items():
        print(f"{sum(bool(re.search(kind, error)) for error in errors):>3} x {why}")
    for line in other + missing:
        print(f"UNEXPECTED: {line}")
    print("The official checker finds something else" if other or missing else "The official checker finds nothing else")
    return int(bool(other or missing))


if __name__ == "__main__":
    sys.exit(main())
