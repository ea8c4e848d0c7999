"""Runs deploy/data/prepare in forks of this process, which imports its packages once. This saves a second for each command.

Reads a request per line, `{"args": […], "output": FILE, "errors": FILE}`, and answers with the process id, then with the exit code.
"""

import json
import os
import runpy
import sys

import netdiv_data.__main__  # noqa: F401


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if child := os.fork():
            print(child, flush=True)
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in ((1, request["output"]), (2, request["errors"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["prepare", *request["args"]]
        runpy.run_module("netdiv_data", run_name="__main__")
        return


if __name__ == "__main__":
    main()
