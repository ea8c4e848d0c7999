"""Compiles networks ahead of time with AOTInductor, into packages (.pt2) for one kind of machine, and checks each one before it gets
its final name. Compiling needs g++; a node that runs a package needs neither a compiler nor Python.
"""

import argparse
import ctypes
import operator
import os
import re
import shutil
import subprocess
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch._inductor
from torch._inductor.constant_folding import replace_node_with_constant
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

from torchscript import ExportError

if TYPE_CHECKING:
    from torch.export.pt2_archive._package import AOTICompiledModel as Package


def add_ahead(parser: argparse.ArgumentParser) -> None:
    """Adds the option for packages."""
    parser.add_argument("--ahead", metavar="DEVICE",
                        help="compile for a device of this machine, such as cpu or cuda:0, into a package (.pt2)")


def needs(device: str) -> str:
    """Returns what compiled code needs of a machine: instruction sets by Linux's names, and the architecture of a GPU."""
    from torch._inductor.cpp_builder import get_cpp_compiler  # takes seconds

    command = [get_cpp_compiler(), "-march=native", "-dM", "-E", "-x", "c++", os.devnull]
    macros = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    defined = re.findall(r"^#define __(?:(\w+)__|ARM_FEATURE_(\w+)) 1$", macros, re.MULTILINE)
    used = {(word or arm).lower().replace("_", "") for word, arm in defined}
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)  # Features: Arm
    found = [flag for flag in flags[1].split() if flag.replace("_", "") in used] if flags else []
    if not found:
        raise ExportError("/proc/cpuinfo names no instruction set that the compiler uses, so that a node could not check the package; "
                          "export without --ahead")
    if device != "cpu":
        found.append("sm_{}{}".format(*torch.cuda.get_device_capability(device)))
    return " ".join(found)


def load(path: Path, device: str) -> "Package":
    """Loads a package as a node does: its library finds libtorch in the process."""
    for name in ("libtorch_cpu.so", "libtorch_cuda.so"):
        if (file := Path(torch.__file__).parent / "lib" / name).exists():
            ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
    index = torch.device(device).index
    return torch._inductor.aoti_load_package(str(path), run_single_threaded=True, device_index=-1 if index is None else index)


class PackConvolutions(CustomGraphPass):
    """Pass that stores weights of 2-d convolutions as oneDNN orders them. Inductor does so for a fixed batch only, else in each run."""

    def __call__(self, graph: torch.fx.Graph) -> None:
        for node in graph.find_nodes(op="call_function", target=torch.ops.mkldnn._convolution_pointwise.default):
            image, weight = node.args[0].meta["val"], node.args[1]
            value = operator.attrgetter(weight.target)(graph.owning_module)
            if image.dim() == 4 and image.stride(1) == 1 and not value.is_mkldnn:  # Inductor expects images channels last of such weights
                size = [n if isinstance(n, int) else n.node.hint for n in image.shape]  # another order would halve the speed
                packed = torch.ops.mkldnn._reorder_convolution_weight(value, *node.args[3:7], size)
                replace_node_with_constant(graph.owning_module, weight, packed)

    def uuid(self) -> str:
        return get_hash_for_files((__file__,))


def save(program: torch.export.ExportedProgram, path: Path, device: str, facts: dict[str, str], check: Callable[["Package"], None], *,
         with_weights: bool = True) -> None:
    """Compiles a program into a package with `facts` as metadata, and passes the loaded package to `check`.

    `with_weights` stores the weights in the package, in the order that the processor prefers. Otherwise a node passes them.
    """
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    compiler, header = os.environ.get("CXX", "g++"), Path(sysconfig.get_path("include"), "Python.h")
    if shutil.which(compiler) is None or not header.exists():
        raise ExportError(f"--ahead needs {compiler} and {header}; install them (on Debian: g++ and python3-dev)")
    pick_vec_isa()  # its trial needs `link_libtorch`; it remembers the result
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.stem}.part.pt2")
    options = {
        "freezing": with_weights, "aot_inductor.package_constants_in_so": with_weights,
        "cpp.enable_loop_tail_vec": False,  # masked loads of three channels are slower than single ones
        "scalar_asserts": False,  # the node checks sizes
        "cpp.dynamic_threads": True,  # an operation has the threads of the node, not of this machine
        "aot_inductor.link_libtorch": False,  # a small libtorch lacks libtorch.so
        "aot_inductor.check_lowerbound": False,  # with AOTI_RUNTIME_CHECK_INPUTS=1, a batch of 1 would be refused
        "aot_inductor.metadata": {f"netdiv_{key}": text for key, text in
                                  {"torch": torch.__version__, "needs": needs(device), **facts}.items()},
    }
    if device == "cpu":
        options["post_grad_custom_pre_pass"] = PackConvolutions()
    else:
        options["aot_inductor.embed_kernel_binary"] = True  # a node unpacks the library alone
    try:
        torch._inductor.aoti_compile_and_package(program, package_path=str(part), inductor_configs=options)
        with zipfile.ZipFile(part) as archive:
            if any(name.endswith(".wrapper.json") for name in archive.namelist()):
                raise ExportError(f"{path.name} would call operators that have no C interface; export it without --ahead")
        check(load(part, device))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
