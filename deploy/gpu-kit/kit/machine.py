"""Facts of the machine, and checks that the kit can run on it."""

import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from kit.settings import KIT, own_python

VERSION = "2.11."  # version of torch that the plug-in is built for
IMPORTING = 300  # maximum time for the import of torch, in seconds
ANSWER = 10  # maximum time for the answer of a small program, such as nvidia-smi, in seconds
DRIVER = 580  # minimum version for CUDA 13.0, with which PyPI builds torch 2.11


class Unsuitable(Exception):
    """The kit cannot run here; the text says what to do."""


def pythons_torch() -> Path:
    """Returns the folder of Python's torch, without loading it."""
    return Path(importlib.util.find_spec("torch").submodule_search_locations[0])


def check_torch(folder: Path) -> str:
    """Returns the version of torch; fails if it is not the plug-in's."""
    try:
        text = (folder / "version.py").read_text()
    except OSError as error:
        raise Unsuitable(f"{folder} is not the folder of Python's torch: {error}; use --libtorch DIR") from error
    found = re.search(r"^__version__ = '([^']*)'", text, re.MULTILINE)
    version = found[1] if found else "unknown"
    if not version.startswith(VERSION):
        raise Unsuitable(f"torch in {folder} has the version {version}, but the plug-in needs {VERSION}x; "
                         "run `pip install torch==2.11.0`, or set PYTHON to a Python that has it")
    return version


def check_python(*packages: str) -> None:
    """Fails if this Python lacks one of these packages."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        pinned = " ".join("torch==2.11.0" if name == "torch" else name for name in missing)
        raise Unsuitable(f"this Python has no {' and no '.join(missing)}; "
                         f"run `pip install {pinned}`, or set PYTHON to a Python that has it")


def check_work(folder: Path) -> None:
    """Fails if git would track the working folder.

    Tools that copy a checkout to another machine leave out only what git ignores: they would copy the models, or remove them.
    """
    there = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    try:
        words = ["git", "-C", str(there), "check-ignore", "--quiet", f"{folder}/"]
        asked = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=ANSWER, env=os.environ | {"LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return
    if asked.returncode not in (0, 1) and "not a git repository" not in asked.stderr:
        raise Unsuitable(f"git cannot check --work {folder}: {asked.stderr.strip() or asked.returncode}; choose another folder")
    if asked.returncode == 1:
        raise Unsuitable(f"--work {folder} is in a git repository that does not ignore it; choose an ignored folder, "
                         "or unpack the kit into one")


def driver() -> str:
    """Returns the driver's version, as nvidia-smi reports it."""
    if shutil.which("nvidia-smi") is None:
        return "unknown"
    words = ["nvidia-smi", "--id=0", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        asked = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    except OSError as error:
        return f"unknown: {error}"
    try:
        version = asked.communicate(timeout=ANSWER)[0].strip()
    except subprocess.TimeoutExpired:
        asked.kill()  # without a wait: a driver that hangs keeps the process
        return f"unknown: nvidia-smi did not answer within {ANSWER} s"
    return version if asked.returncode == 0 and version else "unknown"


ASK_TORCH = """
import json, torch
from torch.nn.attention import SDPBackend
number = {number}

def attention(heads, groups, masked):
    device = f"cuda:{{number}}"
    q = torch.zeros(8, groups, heads // groups, 64, dtype=torch.bfloat16, device=device)
    k = torch.zeros(8, groups, 256, 64, dtype=torch.bfloat16, device=device)
    mask = torch.zeros(8, 1, 1, 256, dtype=torch.bfloat16, device=device) if masked else None
    names = []
    for cudnn in (True, False):
        torch.backends.cuda.enable_cudnn_sdp(cudnn)
        try:
            names.append(SDPBackend(torch._fused_sdp_choice(q, k, k, mask)).name.lower())
        except Exception as error:
            names.append(f"unknown ({{str(error).splitlines()[0]}})")
    return f"{{names[0]}}; as a node sets it {{names[1]}}"

found = {{"cuda of torch": torch.version.cuda}}
try:
    torch.zeros(1, device=f"cuda:{{number}}")
    properties = torch.cuda.get_device_properties(number)
    found |= {{"gpu": properties.name, "gpu memory, GiB": round(properties.total_memory / 2**30, 1),
              "compute capability": f"{{properties.major}}.{{properties.minor}}",
              "cudnn": torch.backends.cudnn.version(),
              "attention with a mask, bf16": attention(32, 8, True), "attention without one": attention(32, 8, False)}}
except Exception as error:
    found["error"] = str(error).splitlines()[0]
print(json.dumps(found))
"""


def check_gpu(number: int) -> dict:
    """Returns torch's facts of the GPU. Asks in a separate process, which leaves no CUDA context behind."""
    asked = ask_python(ASK_TORCH.format(number=number), 120)
    found = json.loads(asked.stdout.splitlines()[-1])
    if error := found.pop("error", None):
        raise Unsuitable(f"torch cannot use cuda:{number}: {error}; torch has CUDA {found['cuda of torch']}, the NVIDIA driver is "
                         f"{driver()}, and CUDA 13.0 needs {DRIVER} or newer; to try the kit without a GPU, use "
                         "--device cpu --small")
    return found


def import_torch() -> None:
    """Reads torch from the disk once, before any clock runs. This may take a minute on a fresh machine."""
    ask_python("import torch, torchvision", IMPORTING)


def ask_python(code: str, seconds: float) -> subprocess.CompletedProcess:
    """Runs code that imports torch in a separate process."""
    try:
        asked = subprocess.run(own_python("-c", code), capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise Unsuitable(f"Python with torch did not answer within {seconds} s; check its disk, and nvidia-smi") from error
    if asked.returncode != 0:
        raise Unsuitable(f"torch cannot be imported: {(asked.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    return asked


def said(*words: str) -> str | None:
    """Returns a program's output, or None if it cannot be run."""
    path = os.environ.get("PATH", "") + ":/sbin:/usr/sbin"
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=ANSWER, env=os.environ | {"PATH": path}).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None


def host_facts() -> dict:
    """Returns facts of the host, including facts that affect the speed of exports and of compiled operations."""
    cpu = Path("/proc/cpuinfo").read_text()
    processor, flags = (re.search(rf"^{key}\s*:\s*(.*)$", cpu, re.MULTILINE) for key in ("model name", "flags"))
    half = sorted(flag for flag in (flags[1].split() if flags else ()) if flag.startswith(("avx512_fp16", "amx", "avx512_bf16")))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    known, compiler = said("ldconfig", "-p"), (said("g++", "--version") or "").splitlines()
    nvrtc = ", ".join(sorted(set(re.findall(r"libnvrtc\S*", known or "")))) or "missing"
    return {
        "half precision of the processor": ", ".join(half) or "missing",
        "nvrtc of ldconfig": "unknown" if known is None else nvrtc, "g++": compiler[0] if compiler else "missing",
        "processor": processor[1] if processor else platform.machine(), "cores": len(os.sched_getaffinity(0)),
        "memory, GiB": round(memory), "system": platform.release()}


def facts(device: str, libtorch: Path) -> dict:
    """Returns the report's facts of the machine. Raises `Unsuitable` if the kit cannot run on it."""
    version = check_torch(libtorch)
    import_torch()
    found = {"device": device, "kit": commit(), "torch": version, "python": platform.python_version()}
    if device.startswith("cuda"):
        found |= check_gpu(int(device.removeprefix("cuda:")))
        found["driver"] = driver()
    return found | host_facts()


def commit() -> str:
    """Returns the commit that the kit was built from."""
    try:
        return (KIT / "COMMIT").read_text().strip()
    except OSError:
        return "unknown"
