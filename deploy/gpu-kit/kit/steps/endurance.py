"""Group 6: growth of memory, full memory, several instances, a lost device, and SIGTERM."""

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kit import answers, models, programs
from kit.settings import Settings, own_python
from kit.step import Failed, Result, step
from kit.steps.networks import pairs
from kit.steps.resnet50 import fixed, precision_of

GROWTH_MIB = 64  # maximum growth of the memory of the process and of the device


def taken(s: Settings, node: programs.Node) -> dict[str, float]:
    """Returns memory in use in MiB: of the node's process, and of the GPU by all processes."""
    found = {"process": node.resident_mib()}
    if s.cuda:
        import torch

        free, total = torch.cuda.mem_get_info(s.device)
        found["device"] = (total - free) / 2**20
    return found


@step(group=6, seconds=120)
def memory(s: Settings, r: Result) -> None:
    """Checks that the memory of the process, and of a GPU, does not grow over 1,000 batches."""
    precision, batch = precision_of(s), s.pick(32, 4)
    manifest = models.manifest_of(s, "resnet50", precision)
    size = models.size_of(manifest)
    data = f"synthetic:{batch * 8}x{size * size * 3}"
    with programs.Node(s, fixed(s, manifest, batch, "memory")) as node:
        before = {}
        for batches in (200, 1000):
            result, _ = programs.run(s, node.address, "offline", data, f"memory-{batches}",
                                     offline_expected_qps=batches * batch, min_duration_ms=1000)
            r.expect(result["samples"]["completed"] >= batches * batch, f"the node answers {batches} batches of {batch}")
            now = taken(s, node)
            for whose, mib in now.items():
                r.figure(f"after {batches} batches: {whose}, MiB", mib)
            grown = {whose: mib - before.get(whose, mib) for whose, mib in now.items()}
            before = now
    for whose, mib in grown.items():
        r.expect(mib <= GROWTH_MIB, f"the memory of the {whose} grows by at most {GROWTH_MIB} MiB in the last 1,000 batches")


@step(group=6, seconds=120)
def many_answers(s: Settings, r: Result) -> None:
    """Compares the answers of 1, 2 and 4 instances with Python's, for a thousand batches of different images."""
    precision = precision_of(s)
    manifest = models.manifest_of(s, "resnet50", precision)
    data, images = models.pixels(s, "many", manifest, s.pick(8_192, 64))
    logits = models.Reference(s, manifest, precision).each(s.pick(256, 8), images)[0]
    for instances in (1, 2, 4):
        settings = programs.config(s, manifest, "many", max_batch=8, instances=instances)
        with programs.Node(s, settings) as node:
            got = programs.responses(s, node, data, "many")
        answers.same_labels(r, f"{instances} instances", got, logits, precision)


def without_warm_up(manifest: Path) -> Path:
    """Returns DLRM's manifest for a node that reserves no memory for long samples in advance."""
    text = manifest.read_text()
    file = manifest.with_name("dlrm-cold.toml")
    file.write_text(text + "\n[parameters]\nwarm_up_pairs = 1\n")
    return file


@contextlib.contextmanager
def filled(s: Settings) -> Iterator[int]:
    """Starts a process that holds almost all of the device's memory during the `with` block. Yields its memory in MiB."""
    words = own_python("-m", "kit.filler", s.device, str(s.pick(3000, 0)))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as filler:
        try:
            held = filler.stdout.readline()
            if not held:
                raise Failed(f"the filler ended: {programs.last_lines(filler.communicate()[1])}")
            yield int(held)
        finally:
            filler.kill()


@step(group=6, seconds=120)
def out_of_memory(s: Settings, r: Result) -> None:
    """Checks that a node runs batches in halves while another process fills the device's memory, and whole ones afterwards."""
    manifest = without_warm_up(models.manifest_of(s, "dlrm", "fp32"))
    count = s.pick(4000, 20)
    samples = pairs(32, (count, count + 1))
    dense, sparse = (models.saved(s, f"full-{name}", np.stack([sample[place] for sample in samples]))
                     for place, name in enumerate(("dense", "sparse")))
    reference = models.Reference(s, manifest, "fp32")
    want = [reference(*sample)[0] for sample in samples]
    del reference
    halves = "is run again in halves"
    with programs.Node(s, programs.config(s, manifest, "full", max_batch=32, batch_timeout="200ms")) as node:
        with filled(s) as mib:
            r.figure("filled, MiB", mib)
            got = programs.responses(s, node, f"{dense}+{sparse}", "dlrm-full")
        answers.same_tensors(r, "while memory is full", answers.floats(got), want, "fp32")
        times = node.said().count(halves)
        r.figure("batches run again in halves", times)
        if s.cuda:
            r.expect(times > 0, "memory was full: the node ran a batch again in halves")
        got = programs.responses(s, node, f"{dense}+{sparse}", "dlrm-free")
        answers.same_tensors(r, "afterwards", answers.floats(got), want, "fp32")
        r.expect(node.said().count(halves) == times, "with free memory, the node runs no batch in halves")


WIDTH = 8  # length of the lookup's rows


def lookup(s: Settings) -> Path:
    """Returns the manifest of a model that looks up rows of a table without bounds checks. A bad index is an assertion on a GPU."""
    import torch

    class Lookup(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(16, WIDTH)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.table(ids.to(torch.int64)).sum(1)

    torch.manual_seed(1)
    folder = s.folder("models/lookup")
    torch.jit.freeze(torch.jit.script(Lookup().eval())).save(str(folder / "lookup.pt"))
    manifest = folder / "lookup.toml"
    manifest.write_text("\n".join([
        'name = "lookup"', 'model = "lookup.pt"', 'workload = "tensors"', 'precision = "fp32"', 'weights = "random, seed 1"',
        "", "[[inputs]]", 'name = "ids"', 'data_type = "int32"', "shape = [4]",
        "", "[[outputs]]", 'name = "sums"', 'data_type = "float32"', f"shape = [{WIDTH}]", ""]))
    return manifest


@step(group=6, seconds=120)
def lost_device(s: Settings, r: Result) -> None:
    """Checks that a lost device fails the run and ends the node with a message. A CPU fails one sample and continues."""
    manifest = lookup(s)
    good = np.arange(32, dtype=np.int32).reshape(8, 4) % 16
    bad = good.copy()
    bad[3, 2] = 1_000_000
    right, wrong = models.saved(s, "lookup-right", good), models.saved(s, "lookup-wrong", bad)
    want = list(models.Reference(s, manifest, "fp32")(good)[0])
    with programs.Node(s, programs.config(s, manifest, "lost", max_batch=4)) as node:
        got = answers.floats(programs.responses(s, node, right, "lookup"))
        answers.same_tensors(r, "before", got, want, "fp32")
        result, _ = programs.run(s, node.address, "offline", wrong, "lost", "--mode", "accuracy", codes=(3,))
        r.figure("reasons of the run", " / ".join(result["reasons"])[:300])
        r.expect(result["verdict"].upper() == "FAILED", "the run has the verdict FAILED, with reasons")
        if not s.cuda:
            again = answers.floats(programs.responses(s, node, right, "lookup-again"))
            answers.same_tensors(r, "afterwards", again, want, "fp32")
            return
        code = node.wait(30)
        why = [line for line in node.said().splitlines() if "device is lost" in line]
        r.figure("exit code of the node", "none: it is still running" if code is None else code)
        r.figure("message of the node", why[-1][:300] if why else "none about a lost device")
        r.expect(code == 1, "the node ends, with exit code 1")
        r.expect(bool(why), "its log reports that the device is lost")
    with programs.Node(s, programs.config(s, manifest, "lost-again", max_batch=4)) as node:
        got = answers.floats(programs.responses(s, node, right, "lookup-anew"))
        answers.same_tensors(r, "after a restart", got, want, "fp32")


@step(group=6, seconds=60)
def told_to_end(s: Settings, r: Result) -> None:
    """Checks that the node ends after SIGTERM under load, and that the run names the lost node."""
    precision, batch = precision_of(s), s.pick(32, 4)
    manifest = models.manifest_of(s, "resnet50", precision)
    size = models.size_of(manifest)
    folder = programs.run_folder(s, "told-to-end")
    with programs.Node(s, fixed(s, manifest, batch, "told-to-end")) as node:
        words = [s.program("loadgen-node"), "run", "--nodes", node.address, "--output", str(folder),
                 *programs.run_words(s, "offline", f"synthetic:{batch * 4}x{size * size * 3}", "told-to-end",
                                     offline_expected_qps=1e6, min_duration_ms=1000)]
        run = subprocess.Popen(words, env=programs.environment(s), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(s.pick(3, 2))
        began = time.monotonic()
        code = node.end()
        r.figure("seconds until the node ended", time.monotonic() - began)
        r.figure("exit code of the node", "none: it is still running" if code is None else code)
        r.expect(code == 0, "the node ends with exit code 0")
        try:
            said, _ = run.communicate(timeout=30)
        except subprocess.TimeoutExpired as error:
            run.kill()
            raise Failed("the run did not end within 30 s of its node") from error
        print(said)
        r.expect(run.returncode == 3, "the run ends with exit code 3")
        r.expect(re.search(r"lost node|node .*lost", said) is not None, "the run names the lost node")
