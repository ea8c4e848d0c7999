"""Tests of packages of tensor models: their answers, and refusals of what they were not compiled for."""

import threading
import unittest

import numpy as np
import torch

import export
from made import FIXTURES, LARGEST, NETWORKS, PLUGIN, Node, accuracy, changed, network
from plugin import Batches

SAMPLES = {
    "digits": "", "resnet50": "resnet50-uint8.npy", "retinanet": "retinanet-uint8.npy", "unet3d": "unet3d-volumes",
    "bert": "bert-ids+bert-mask+bert-segments", "dlrm": "dlrm-dense+dlrm-sparse",
}
BENCHMARKS = {"digits": "digits", "retinanet": "retinanet", "unet3d": "3d-unet-99", "bert": "bert-99"}


def examples(name: str, rows: int) -> list[np.ndarray]:
    torch.manual_seed(rows)
    module = export.NETWORKS[name]
    return [x.numpy() for x in module.examples(module.build(True), rows)]


def run(model: Batches, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return model.run(model.open(), inputs, {"tokens": inputs[0].shape[-1]})


def candidates(outputs: list[np.ndarray]) -> list[np.ndarray]:
    """Returns RetinaNet's boxes, scores and labels in an order that rounding does not change, without those below the threshold."""
    found = [np.concatenate([box, score[:, None], label[:, None]], 1)[score > 0] for box, score, label in zip(*outputs)]
    return [rows[np.lexsort(rows.round(1).T)] for rows in found]


def opened(name: str, ending: str = "pt2") -> Batches:
    return Batches(PLUGIN, *network(name, ending))


class BatchesTest(unittest.TestCase):
    def assert_close(self, got: list[np.ndarray], wanted: list[np.ndarray], what: str) -> None:
        for a, b in zip(got, wanted, strict=True):
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype), what)
            largest = max(1.0, float(np.abs(b.astype(np.float64)).max()))
            self.assertLess(float(np.abs(a.astype(np.float64) - b).max()), 1e-4 * largest, what)

    def test_batches_of_any_size_have_torchscripts_outputs_padded_or_not_in_two_instances(self) -> None:
        for name in NETWORKS:
            script, package = opened(name, "pt"), opened(name)
            same = candidates if name == "retinanet" else list
            for rows in (1, 2, LARGEST):
                inputs = examples(name, rows)
                wanted = same(run(script, inputs))
                self.assert_close(same(run(package, inputs)), wanted, f"{name}, {rows} rows")
                padded = [np.concatenate([x, np.zeros((LARGEST - rows, *x.shape[1:]), x.dtype)]) for x in inputs]
                self.assert_close(same([x[:rows] for x in run(package, padded)]), wanted, f"{name}, {rows} rows, padded")
            inputs, instances, found = examples(name, 3), [package.open() for _ in range(2)], {}
            wanted = same(run(script, inputs))

            def many(instance: int) -> None:
                found[instance] = [package.run(instances[instance], inputs, {"tokens": inputs[0].shape[-1]}) for _ in range(20)]

            threads = [threading.Thread(target=many, args=(instance,)) for instance in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for instance in range(2):
                for outputs in found[instance]:
                    self.assert_close(same(outputs), wanted, f"{name}, instance {instance}")

    def test_inputs_that_the_package_was_not_compiled_for_are_refused(self) -> None:
        image, bert = opened("resnet50"), opened("bert")
        pixels, ids = examples("resnet50", 2), examples("bert", 2)
        longer = [np.concatenate([x] * 3, 1) for x in ids]
        for model, inputs, why in (
            (image, [pixels[0].astype(np.float32)], "takes image uint8 .* it is Float"),
            (image, [pixels[0][:, :32].copy()], r"it is Uint8 \[2, 32, 64, 3\]"),
            (image, [np.concatenate([pixels[0]] * 5)], "a batch of 10 rows is not within 1 to 8.*--largest"),
            (image, [pixels[0][:0]], "a batch of 0 rows"),
            (image, pixels * 2, "takes 1 inputs, not 2"),
            (bert, [ids[0], ids[1][:1], ids[2]], "takes input_mask"),
            (bert, [ids[0], ids[1][:, :-1].copy(), ids[2]], r"takes input_mask .* equal free lengths up to 64; it is Int"),
            (bert, longer, r"free lengths up to 64; it is Int \[2, 72\]"),
        ):
            with self.assertRaisesRegex(RuntimeError, why):
                run(model, inputs)
        self.assertEqual(len(run(image, pixels)), 1, "the next batch runs")

    def test_each_value_of_the_metadata_has_to_fit(self) -> None:
        path, manifest = network("resnet50", "pt2")
        other = network("retinanet", "pt2")[1]
        for facts, keys, why in (
            ({}, {"precision": "fp16"}, 'says precision = "fp16", but the package has fp32'),
            ({}, {"inputs": other["inputs"]}, "contains resnet50 with the inputs image uint8"),
            ({}, {"outputs": other["outputs"]}, "contains resnet50 with the outputs logits"),
            ({"netdiv_torch": "2.12.0"}, {}, "compiled with torch 2.12.0, but this node has libtorch 2.11"),
            ({"netdiv_needs": "avx2 fancy"}, {}, "needs fancy, which this machine lacks; export it again"),
            ({"AOTI_DEVICE_KEY": "cuda"}, {}, "compiled for the device cuda, not for cpu"),
            ({"netdiv_torch": "2\0"}, {}, r'netdiv_torch is "2\\0", not a printable text; export it again'),
            ({"netdiv_network": "x" * (1 << 20)}, {}, "its metadata is too large; export it again"),
            ({"netdiv_largest": "0"}, {}, "netdiv_largest is .0., not a number"),
            *(({key: None}, {}, f"has no {key}") for key in ("netdiv_network", "netdiv_precision", "netdiv_largest", "netdiv_torch",
                                                             "netdiv_needs", "netdiv_inputs", "netdiv_outputs", "AOTI_DEVICE_KEY")),
        ):
            with self.assertRaisesRegex(RuntimeError, why):
                Batches(PLUGIN, changed(path, "resnet50-changed", facts), manifest | keys)
        with self.assertRaisesRegex(RuntimeError, "cannot load the package .*resnet50-cut.pt2.*export it again"):
            Batches(PLUGIN, changed(path, "resnet50-cut", library=20), manifest)

    def test_a_node_answers_with_a_package_as_with_torchscript(self) -> None:
        for name in NETWORKS:
            dataset = "+".join(str(FIXTURES / part) for part in SAMPLES[name].split("+") if part)
            benchmark = ["--benchmark", BENCHMARKS.get(name, "x")]
            found = {}
            for ending, options in (("pt", []), ("pt2", ["--max-batch", "1"]), ("pt2", ["--max-batch", "8", "--instances", "2"]),
                                    ("pt2", ["--max-batch", "8", "--batch-sizes", "3"])):
                if name in ("dlrm", "unet3d") and "--batch-sizes" in options:
                    continue  # their rows are not samples
                path, manifest = network(name, ending)
                with Node(path.with_suffix(".toml"), *options) as node:
                    responses, result = accuracy(node, dataset, *benchmark)
                wanted = found.setdefault("pt", responses)
                kind = np.int32 if manifest["workload"] == "image-classification" else np.uint8 if name == "unet3d" else np.float32
                got, want = ([np.frombuffer(x, kind) for x in each] for each in (responses, wanted))
                self.assert_close(got, want, f"{name} {options}")
                framework = result["evidence"]["nodes"]["node"]["framework"]
                self.assertEqual(framework, "torch libtorch 2.11" + ", AOTInductor" * (ending == "pt2"))

    def test_a_node_refuses_batches_above_the_packages_largest_when_it_starts(self) -> None:
        path, _ = network("resnet50", "pt2")
        with Node(path.with_suffix(".toml"), "--max-batch", "16", "--batch-sizes", "16") as node:
            self.assertNotEqual(node.process.wait(60), 0)
            self.assertIn("a batch of 16 rows is not within 1 to 8", node.said())


if __name__ == "__main__":
    unittest.main()
