"""Fails if eval_accuracy.py, in the folder of the first argument, cannot judge a response. The script itself would judge code in
processes that hide errors, and count the response as wrong."""

import sys

# In place of the current folder, as when the script itself runs.
sys.path[0] = sys.argv[1]
import eval_accuracy  # noqa: E402

if not eval_accuracy.evaluate_math500("1", "1"):
    sys.exit("the grader of prm800k does not find that 1 is 1")
problems = eval_accuracy.load_lcb_benchmark()
if not problems:
    sys.exit("LiveCodeBench has no problems")
eval_accuracy.evaluate_livecodebench("pass", min(problems))
