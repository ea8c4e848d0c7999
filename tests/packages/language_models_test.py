"""Tests of packages beside language models: their ids are those of TorchScript, in any company."""

import struct
import unittest
from pathlib import Path

from made import FIXTURES, PLUGIN, Node, accuracy, changed, language_model
from plugin import Engine

MODELS = ["tiny-llama", "tiny-llama-bf16", "tiny-gptj"]
LEAST, MOST = 4, 40


def ids(name: str) -> list[list[int]]:
    """Reads a file of ids (docs/ENGINES.md)."""
    data = (FIXTURES / name).read_bytes()
    count = struct.unpack_from("<Q", data, 8)[0]
    starts = struct.unpack_from(f"<{count + 1}Q", data, 16)
    flat = struct.unpack_from(f"<{starts[-1]}i", data, 16 + 8 * (count + 1))
    return [list(flat[a:b]) for a, b in zip(starts, starts[1:])]


def engine(path: Path, keys: dict, **tokens: int) -> Engine:
    return Engine(PLUGIN, path, keys["tokens"] | tokens, keys["precision"], 1)


def outputs(engine: Engine, prompts: list[list[int]], leaves: bool) -> dict[int, list[int]]:
    """Runs prompts, of which one joins in each step; with `leaves`, some are cancelled."""
    found, under, next_, step = {}, [], 0, 0
    while under or next_ < len(prompts):
        if len(under) < engine.room.slots and next_ < len(prompts):
            engine.submit(next_, prompts[next_], LEAST, MOST)
            under.append(next_)
            next_ += 1
        if leaves and step % 50 == 49 and under:
            sample = under.pop(step % len(under))
            engine.functions.cancel(engine.instance, sample)
            found.pop(sample, None)
        for sample, new, is_last in engine.step():
            found.setdefault(sample, []).extend(new)
            if is_last:
                under.remove(sample)
        step += 1
    return found


def in_batches(engine: Engine, prompts: list[list[int]], size: int) -> dict[int, list[int]]:
    """Runs prompts in batches of one size, of which all members begin together."""
    found = {}
    for start in range(0, len(prompts), size):
        for sample, prompt in enumerate(prompts[start:start + size], start):
            engine.submit(sample, prompt, LEAST, MOST)
        waiting = len(prompts[start:start + size])
        while waiting:
            for sample, new, is_last in engine.step():
                found.setdefault(sample, []).extend(new)
                waiting -= is_last
    return found


class LanguageModelsTest(unittest.TestCase):
    def test_ids_are_those_of_torchscript(self) -> None:
        for name in MODELS:
            path, keys = language_model(name)
            prompts = ids(f"{name.removesuffix('-bf16')}-prompts.ids")
            package = path.with_suffix(".pt2")
            if keys["precision"] != "fp32":  # a package rounds less often, so nearly tied choices differ
                starts = ids(f"{name}-outputs.ids")
                for size in (1, 32):
                    got = in_batches(engine(package, keys, slots=size), prompts, size)
                    self.assertEqual([got[sample][:len(start)] for sample, start in enumerate(starts)], starts, f"{name}, {size} rows")
                continue
            for size in (1, 32):
                self.assertEqual(in_batches(engine(package, keys), prompts, size), in_batches(engine(path, keys), prompts, size), name)
            for slots, chunk in ((7, 5), (32, 100)):
                got, wanted = (outputs(engine(file, keys, slots=slots, chunk=chunk), prompts, True) for file in (package, path))
                self.assertEqual(got, wanted, f"{name}, {slots} slots")

    def test_a_node_runs_the_package_beside_its_model_and_says_so(self) -> None:
        path, _ = language_model("tiny-llama")
        with Node(path.with_suffix(".toml")) as node:
            responses, result = accuracy(node, str(FIXTURES / "tiny-llama-prompts.ids"), "--benchmark", "x")
        self.assertEqual([list(struct.unpack(f"<{len(x) // 4}i", x)) for x in responses], ids("tiny-llama-outputs.ids"))
        self.assertRegex(result["evidence"]["nodes"]["node"]["framework"],
                         r"^torch libtorch 2\.11, AOTInductor \(package [0-9a-f]{64}\)$")

    def test_a_package_that_does_not_fit_is_left_out_with_a_warning(self) -> None:
        path, keys = language_model("tiny-llama")
        package, manifest = path.with_suffix(".pt2"), path.with_suffix(".toml")
        whole = package.read_bytes()
        for facts, why in (
            ({"netdiv_needs": "fancy"}, "needs fancy, which this machine lacks"),
            ({"netdiv_model": "7"}, "compiled for another file of tiny-llama than"),
            ({"netdiv_precision": "bf16"}, 'says precision = "fp32", but the package has bf16'),
        ):
            try:
                changed(package, "changed", facts).replace(package)
                with Node(manifest) as node:
                    _, result = accuracy(node, str(FIXTURES / "tiny-llama-prompts.ids"), "--benchmark", "x")
                    self.assertIn("running without the package", node.said())
                    self.assertIn(why, node.said().replace('\\"', '"'))
                self.assertEqual(result["evidence"]["nodes"]["node"]["framework"], "torch libtorch 2.11")
            finally:
                package.write_bytes(whole)

    def test_a_package_without_a_readable_model_file_is_refused(self) -> None:
        path, keys = language_model("tiny-llama")
        with self.assertRaisesRegex(RuntimeError, "cannot read .*lonely.pt: .*; export both together"):
            engine(changed(path.with_suffix(".pt2"), "lonely"), keys)

    def test_a_manifest_cannot_name_the_package(self) -> None:
        path, _ = language_model("tiny-llama")
        manifest = path.with_name("wrong.toml")
        manifest.write_text(path.with_suffix(".toml").read_text().replace("tiny-llama.pt", "tiny-llama.pt2"))
        with Node(manifest) as node:
            self.assertNotEqual(node.process.wait(60), 0)
            self.assertIn("a package cannot compute prompts; name the .pt file", node.said())


if __name__ == "__main__":
    unittest.main()
