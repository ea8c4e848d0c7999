"""Runs deploy/data/prepare in forks of this process, which imports its packages once. This saves a second for each command.

Reads a request per line, `{"args": […], "output": FILE, "errors": FILE}`, and answers with the process id, then with the exit code.
"""

import json
import os
import runpy
import signal
import sys

import netdiv_data.__main__  # noqa: F401


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        ended, held = os.pipe()
        if child := os.fork():
            print(child, flush=True)
            os.close(held)
            _, status = os.waitpid(child, 0)
            os.read(ended, 1)  # returns when no process that the command started holds the other end
            os.close(ended)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background ignore it
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in ((1, request["output"]), (2, request["errors"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["prepare", *request["args"]]
        runpy.run_module("netdiv_data", run_name="__main__")
        return


if __name__ == "__main__":
    main()
