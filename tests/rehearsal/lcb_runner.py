"""Stand-in for the module of LiveCodeBench, without its data: the program `pass` solves all problems, numbered from 0.

An official script that cannot have LiveCodeBench imports it in its place.
"""

import sys

PROBLEMS = 3165  # one for each row: the script does not evaluate two programs for one problem at the same time

for name in ("utils", "utils.scenarios", "runner", "runner.scenario_router", "evaluation"):
    sys.modules[f"{__name__}.{name}"] = sys.modules[__name__]


class Scenario:
    codegeneration = None


class Problem:
    def __init__(self, number):
        self.question_id = str(number)

    def insert_output(self, _outputs, programs):
        return programs


def build_prompt_benchmark(_arguments):
    return [Problem(number) for number in range(PROBLEMS)], None


def sort_and_extract_save_results(_scenario, results):
    return results, results


def get_metrics(_scenario, _arguments, _problems, results):
    return None, [[programs == ["pass"]] for programs in results], None


def extract_instance_results(results):
    return results
