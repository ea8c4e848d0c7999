"""Fails if eval_accuracy.py, in the folder of the first argument, cannot run a program. The script itself would count it as wrong."""

import sys

# In place of the current folder, as when the script itself runs.
sys.path[0] = sys.argv[1]
import eval_accuracy  # noqa: E402

problems = eval_accuracy.load_lcb_benchmark()
if not problems:
    sys.exit("LiveCodeBench has no problems")
_, reason = eval_accuracy.evaluate_livecodebench_detailed("pass", min(problems))
# Of a program that ran, the reason is the outcome of its tests.
if reason.startswith(("Evaluation error", "Failed to load")):
    sys.exit(reason)
