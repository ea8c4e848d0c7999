"""Engines in Python for a netdiv SUT node: `sut-node --engine python --model my_engine.py`.

The file has one class with `load` and either `infer` (tensors) or `generate` (tokens). docs/ENGINES.md of netdiv describes
them; `python -m netdiv_engine my_engine.py --check` tries a file without a node, and the node itself at its start.
"""

from .declaration import Tensor
from .engine import Context, Request

__all__ = ["Context", "Request", "Tensor"]
