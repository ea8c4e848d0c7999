# Runs in any version of Python, to report one that is too old.
import json
import os
import struct
import sys


received = os.read(0, 1 << 20)


def fault(why):
    os.write(0, struct.pack("=IIQ", 13, 0, 0) + json.dumps({"why": why}).encode("utf-8"))
    sys.exit(3)


if sys.version_info < (3, 9):
    version = ".".join(str(part) for part in sys.version_info[:3])
    fault("%s is Python %s; expected 3.9 or later: name another interpreter with --python" % (sys.executable, version))
# Python adds the current folder, whose files must not hide packages.
sys.path[:] = [folder for folder in sys.path if folder]
try:
    import numpy
except ImportError as error:
    fault("%s cannot import numpy: %s; install it: %s -m pip install numpy" % (sys.executable, error, sys.executable))

import importlib.abc
import importlib.util
import socket

start = json.loads(received[16:].decode("utf-8"))
modules = start.pop("modules")


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name not in modules:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=name == "netdiv_engine")

    def exec_module(self, module):
        exec(compile(modules[module.__name__], "<%s>" % module.__name__, "exec"), module.__dict__)


sys.meta_path.insert(0, Sources())
node = socket.socket(fileno=os.dup(0))
null = os.open(os.devnull, os.O_RDONLY)
os.dup2(null, 0)
os.close(null)
from netdiv_engine.worker import main

main(start, node)
