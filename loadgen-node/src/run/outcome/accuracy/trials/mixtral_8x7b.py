"""Fails if evaluate_mbxp.py, in the folder of the first argument, cannot run a program. The script itself would count it as wrong."""

import sys

# In place of the current folder, as when the script itself runs.
sys.path[0] = sys.argv[1]
import evaluate_mbxp  # noqa: E402

# A program per language that passes. The TypeScript one must have a type error: mxeval counts others as wrong.
PROGRAMS = {
    "cpp": "int main() {}",
    "javascript": "",
    "php": "",
    "python": "def check(candidate): pass",
    "ruby": "",
    "typescript": "let number: number = '';",
}
for language, program in PROGRAMS.items():
    problem = {"task_id": language, "prompt": "", "test": program, "entry_point": "print"}
    judged = getattr(evaluate_mbxp, f"check_correctness_{language}")(problem, "", timeout=20.0)
    if not judged["passed"]:
        sys.exit(f"mxeval cannot run {language}: {' '.join(judged['result'].split())}")
