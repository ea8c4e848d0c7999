"""Tests of deploy/data on small data sets in their public form.

`expected.json` holds the expected samples; `reference.py` writes it with the reference's own code.
"""

import fcntl
import hashlib
import json
import os
import pickle
import signal
import time
import tomllib
import unittest
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import sets
from preparing import CASES, Case, Running, end_of, has_ended, prepare, start

EXPECTED = json.loads((Path(__file__).with_name("expected.json")).read_text())


class Preparing(Case):
    def check(self, name: str, paths: list[Path]) -> None:
        """Checks that samples and manifest have the digests of the reference's samples."""
        for path, expected in zip(paths, EXPECTED[name], strict=True):
            self.assertEqual(self.digests(path), expected, f"{name}: {path}")

    def digests(self, path: Path) -> list[str]:
        """Returns the digests in the manifest; fails if the samples have others."""
        digests = [sample["sha256"] for sample in self.manifest(path)["samples"]]
        if path.suffix == ".npy":
            held = [sample.tobytes() for sample in np.load(path)]
        elif path.suffix == ".ids":
            held = [np.array(row, "<i4").tobytes() for row in sets.ids(path)]
        else:
            files = sorted(path.iterdir())
            held = [np.load(file).tobytes() if file.suffix == ".npy" else file.read_bytes() for file in files]
        self.assertEqual([hashlib.sha256(data).hexdigest() for data in held], digests, path)
        return digests

    def test_imagenet(self) -> None:
        sets.imagenet(self.source)
        for form in ("uint8", "fp32", "tensorflow", "jpeg"):
            paths = self.made("resnet50", "--form", form)
            self.check(f"resnet50-{form}", paths)
            labels = np.load(self.output / f"imagenet-{form}-labels.npy")
            self.assertEqual(labels.tolist(), [number * 111 for number in range(8)])
        about = self.manifest(paths[0])
        self.assertEqual((about["complete"], about["subset"], about["samples"][0]["name"]), (False, "validation", "ILSVRC2012_val_00000000.JPEG"))
        chosen = self.root / "list.txt"
        chosen.write_text("ILSVRC2012_val_00000005.JPEG\nILSVRC2012_val_00000000.JPEG\n")
        paths = self.made("resnet50", "--form", "jpeg", "--calibration", chosen)
        self.assertEqual([path.name for path in sorted(paths[0].iterdir())], ["0.jpg", "1.jpg"])
        self.assertEqual((paths[0] / "1.jpg").read_bytes(), (self.source / "ILSVRC2012_val_00000000.JPEG").read_bytes())

    def test_openimages(self) -> None:
        sets.openimages(self.source)
        for form in ("uint8", "jpeg"):
            self.check(f"retinanet-{form}", self.made("retinanet", "--form", form))
        # OpenCV resizes floats with Intel's IPP, which rounds differently on processors with and without AVX-512.
        (path,) = self.made("retinanet", "--form", "fp32")
        self.digests(path)
        for sample, expected in zip(np.load(path), EXPECTED["retinanet-fp32"], strict=True):
            np.testing.assert_allclose(sets.spread(sample), expected, rtol=0, atol=1e-6)
        annotations = json.loads((self.output / "openimages-mlperf.json").read_text())
        self.assertEqual(annotations, EXPECTED["openimages-mlperf.json"])

    def test_squad(self) -> None:
        sets.squad(self.source)
        self.check("bert", self.made("bert"))
        self.assertIn("/", self.manifest(self.output / "squad-ids.npy")["samples"][0]["name"])

    def test_kits19(self) -> None:
        sets.kits19(self.source, CASES["inference"])
        self.check("3d-unet", self.made("3d-unet"))

    def test_criteo(self) -> None:
        sets.criteo(self.source)
        self.check("dlrm-v2", self.made("dlrm-v2"))
        trace = (self.output / "dlrm_trace_of_aggregated_samples.txt").read_text()
        self.assertEqual(trace, EXPECTED["trace"])
        targets = (self.output / "criteo-targets.txt").read_text().splitlines()
        labels = np.load(self.source / "day_23_labels.npy")[: len(targets), 0]
        self.assertEqual((len(targets), [int(line.split("\t")[0]) for line in targets]), (4501, labels.tolist()))

    def test_lengths_are_those_of_the_published_trace(self) -> None:
        from netdiv_data import criteo, facts

        places = criteo.borders((criteo.ROWS + 1) // 2)
        lines = "".join(f"{start}, {end}, {end - start}\n" for start, end in zip(places, places[1:]))
        published = facts.CRITEO.md5["dlrm_trace_of_aggregated_samples.txt"]
        self.assertEqual((len(places) - 1, hashlib.md5(lines.encode()).hexdigest()), (facts.CRITEO.samples, published))

    def test_prompts(self) -> None:
        for benchmark, name in (("llama2-70b", "open_orca_gpt4_tokenized_llama.sampled_24576.pkl"),
                                ("mixtral-8x7b", "09292024_mixtral_15k_mintoken2_v1.pkl"),
                                ("llama3.1-405b", "mlperf_llama3.1_405b_dataset_8313_processed_fp16_eval.pkl"),
                                ("deepseek-r1", "mlperf_deepseek_r1_dataset_4388_fp8_eval.pkl")):
            self.source = self.root / benchmark
            rows = sets.prompts(self.source, name)
            self.assertEqual(sets.ids(self.made(benchmark)[0]), rows)

    def test_gpt_oss(self) -> None:
        rows = sets.gpt_oss(self.source)
        for args, kept in (((), 3), (("--first", 1), 1)):
            self.output = self.root / f"out{kept}"
            (path,) = self.made("gpt-oss-120b", *args)
            table = tomllib.loads(path.read_text())
            self.assertEqual((path.name, table.pop("form"), table.pop("benchmark")), ("gpt-oss-120b.toml", 1, "gpt-oss-120b"))
            self.assertEqual({section: part["max_output_tokens"] for section, part in table.items()},
                             {"performance": 10240, "accuracy": 32768, "TEST07": 10240})
            for section, part in table.items():
                file = self.output / part["file"]
                self.digests(file)
                self.assertEqual(sets.ids(file), rows[section][:kept])
                self.assertEqual((part["samples"], part["sha256"]), (len(rows[section][:kept]), hashlib.sha256(file.read_bytes()).hexdigest()))
            about = self.manifest(self.output / "gpt-oss-120b-accuracy.ids")
            self.assertEqual((about["benchmark"], about["complete"], about["samples"][-1]["name"]), ("gpt-oss-120b", False, f"aime25/{min(kept, 2) - 1}"))
        ran = prepare("gpt-oss-120b", "--from", self.source, "--output", self.output, "--first", 1)
        self.assertEqual(ran.stderr.count("already prepared"), 3)
        graded = f"the official script grades [TEST07] with --reference-data {self.source / 'acc/acc_eval_compliance_gpqa.parquet'}"
        self.assertIn(graded, ran.stderr)

    def test_librispeech(self) -> None:
        entries, clips = sets.librispeech(self.source)
        (path,) = self.made("whisper")
        self.digests(path)
        for number, samples in enumerate(clips):
            held = np.load(path / f"{number}.npy")
            self.assertEqual((held.dtype, held.tolist()), (np.int16, samples.tolist()))
        self.assertEqual((self.output / "dev-all-repack.json").read_text(), (self.source / "dev-all-repack.json").read_text())
        self.assertEqual([sample["name"] for sample in self.manifest(path)["samples"]], ["84-121123_0.wav", "84-121123_1.wav", "1272-128104_0.wav"])
        # The reference's reader drops longer clips, so that indices of later ones are smaller.
        entries[0]["original_duration"] = 30.5
        (self.source / "dev-all-repack.json").write_text(json.dumps(entries))
        ran = prepare("whisper", "--from", self.source, "--output", self.root / "fewer", "--first", 1)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("1 of 3 entries are longer than 30 s: dropped, as the reference does", ran.stderr)
        self.assertEqual(np.load(self.root / "fewer/librispeech/0.npy").tolist(), clips[1].tolist())
        self.assertEqual(json.loads((self.root / "fewer/dev-all-repack.json").read_text()), entries[1:])

    def test_articles(self) -> None:
        entries = sets.cnn(self.source)
        sets.tokenizer(self.root / "tokenizer")
        self.check("gptj", self.made("gptj", "--tokenizer", self.root / "tokenizer"))
        self.assertEqual(sets.ids(self.made("llama3.1-8b")[0]), [entry["tok_input"] for entry in entries])

    def test_captions(self) -> None:
        texts = sets.captions(self.source)
        for which in ("tokenizer", "tokenizer_2"):
            sets.clip_tokenizer(self.root / "pipe" / which)
        self.check("stable-diffusion-xl", self.made("stable-diffusion-xl", "--tokenizer", self.root / "pipe"))
        (path,) = self.made("stable-diffusion-xl", "--form", "text")
        self.assertEqual([file.read_text() for file in sorted(path.iterdir())], texts)
        annotations = [{"id": 30 - n, "image_id": n, "caption": f" text\n {n}"} for n in range(4)]
        (self.source / "captions_train2014.json").write_text(json.dumps({"annotations": annotations}))
        chosen = self.root / "list.txt"
        chosen.write_text("30\n28\n")
        (path,) = self.made("stable-diffusion-xl", "--form", "text", "--calibration", chosen)
        self.assertEqual([file.read_text() for file in sorted(path.iterdir())], ["text 2", "text 0"])
        chosen.write_text("30\n7\n")
        self.refused("1 of its 2 names are not in the data set, the first is 7", "stable-diffusion-xl", "--form", "text", "--incomplete", "--calibration", chosen)

    def test_igbh(self) -> None:
        numbers = sets.igbh(self.source)
        self.check("rgat", self.made("rgat"))
        self.assertEqual(np.load(self.output / "rgat.npy")[:, 0].tolist(), numbers)
        self.assertEqual(np.load(self.output / "rgat-labels.npy").tolist(), [number * 7 for number in numbers])
        chosen = self.root / "calibration.txt"
        chosen.write_text("7\n3\n")
        (path,) = self.made("rgat", "--calibration", chosen)
        self.assertEqual(np.load(path).tolist(), [[7], [3]])
        chosen.write_text("7\n60\n")
        self.refused("numbers from 7 to 60", "rgat", "--incomplete", "--calibration", chosen)

    def graph(self, form: str) -> Path:
        """Prepares the graph; returns its folder."""
        self.output = self.root / form
        ran = prepare("rgat", "--form", form, "--from", self.source, "--output", self.output, "--incomplete")
        self.assertEqual((ran.returncode, ran.stdout), (0, f"{self.output / 'igbh'}\n"), ran.stderr)
        return self.output / "igbh"

    def test_the_graph_is_that_of_the_reference(self) -> None:
        sets.igbh(self.source)
        for form, data_type in (("graph", np.float32), ("graph-fp16", np.float16)):
            folder = self.graph(form)
            for name, expected in EXPECTED["igbh"].items():
                starts = np.fromfile(folder / f"{name}.starts", "<i8")
                found = np.fromfile(folder / f"{name}.sources", "<i4")
                found = np.concatenate([np.sort(row) for row in np.split(found, starts[1:-1])])
                self.assertEqual([hashlib.sha256(data.tobytes()).hexdigest() for data in (starts, found)], expected, name)
            sizes = np.fromfile(folder / "sizes", "<i8").tolist()
            self.assertEqual(sizes[:9], [1, 1024, np.dtype(data_type).itemsize, *sets.IGBH.values()])
            for place, name in enumerate(sets.IGBH):
                data = (folder / f"{name}.features").read_bytes()[sizes[9 + place]:]
                source = (self.source / "tiny/processed" / name / "node_feat.npy").read_bytes()
                own = np.frombuffer(source[-4096 * sets.IGBH[name]:], "<f4")
                self.assertEqual(data, own.astype(data_type).tobytes(), name)
            counts = json.loads((folder / "graph.json").read_text())
            self.assertEqual([*counts["edges"].values()], sizes[15:])
        self.assertEqual(os.stat(self.root / "graph/igbh/fos.features").st_nlink, 2, "features are not copied")

    def test_a_graph_goes_on_where_it_was_interrupted(self) -> None:
        sets.igbh(self.source)
        self.output = self.root / "graph"
        args = ("rgat", "--form", "graph", "--from", self.source, "--output", self.output, "--incomplete")
        blocked = self.output / "igbh.partial/author.features.partial"
        blocked.mkdir(parents=True)
        ran = prepare(*args)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("Run the same command again to continue", ran.stderr)
        blocked.rmdir()
        self.refused("contains part of another graph", "rgat", "--form", "graph-fp16", "--incomplete")
        journal = self.output / "igbh.partial/journal.json"
        content = journal.read_bytes()
        journal.write_bytes(b"")
        self.refused(f"Remove {journal.parent} and run the same command again", "rgat", "--form", "graph", "--incomplete")
        journal.write_bytes(content)
        ran = prepare(*args)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertNotIn("sorting", ran.stderr)
        edges = np.load(self.source / "tiny/processed/paper__written_by__author/edge_index.npy")
        starts, found = (np.fromfile(self.output / f"igbh/written_by.{ending}", kind) for ending, kind in (("starts", "<i8"), ("sources", "<i4")))
        self.assertEqual(found[starts[7]:starts[8]].tolist(), edges[edges[:, 1] == 7, 0].tolist())
        ran = prepare(*args)
        self.assertIn("already prepared", ran.stderr)
        self.refused("was not made by this command", "rgat", "--form", "graph-fp16", "--incomplete")

    def test_bad_graphs_are_refused(self) -> None:
        self.source.mkdir()
        self.refused("has no full/processed, large/processed", "rgat", "--form", "graph")
        sets.igbh(self.source)
        processed = self.source / "tiny/processed"
        self.refused("has the size tiny, the benchmark needs full", "rgat", "--form", "graph")
        self.refused("has the size tiny, the benchmark needs full", "rgat")
        self.refused("remove --calibration and --first", "rgat", "--form", "graph", "--first", 3)
        features = processed / "author/node_feat.npy"
        content = features.read_bytes()
        for damaged, words in ((content[:-1], "bytes are not a whole number of rows of 1024 float32"), (b"", "0 bytes are not a whole number of rows")):
            features.write_bytes(damaged)
            self.refused(words, "rgat", "--form", "graph", "--incomplete")
        for wrong in (np.zeros((50, 7), np.float32), np.zeros((50, 1024))):
            np.save(features, wrong)
            self.refused("but papers have 1024 float32", "rgat", "--form", "graph", "--incomplete")
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1024)}".ljust(68) + b"\n"
        features.write_bytes(b"\x93NUMPY\1\0\x45\0" + header + bytes(4096))
        self.refused("its header ends at byte 79", "rgat", "--form", "graph", "--incomplete")
        features.write_bytes(content)
        edges = processed / "paper__topic__fos/edge_index.npy"
        for wrong, words in ((np.zeros((3, 3), int), "expected integers [edges, 2]"), (np.zeros((3, 2)), "float64 (3, 2), expected integers")):
            np.save(edges, wrong)
            self.refused(words, "rgat", "--form", "graph", "--incomplete")
        edges.unlink()
        self.refused("paper__topic__fos has no edge_index.npy", "rgat", "--form", "graph", "--incomplete")

    def test_a_tensor_runs_nothing(self) -> None:
        class Attack:
            def __reduce__(self) -> tuple:
                return os.system, (f"touch {self.target}",)

        Attack.target = self.root / "touched"
        sets.igbh(self.source)
        path = self.source / "tiny/processed/val_idx.pt"
        content = path.read_bytes()
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("val_idx/data.pkl", pickle.dumps(Attack()))
        self.refused("system, expected only a vector of int64; none of its code was run", "rgat", "--incomplete")
        self.assertFalse(Attack.target.exists())
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("val_idx/data.pkl", bytes((1 << 20) + 1))
        self.refused("val_idx/data.pkl is too large for one vector", "rgat", "--incomplete")
        for damaged in (b"", content[:100], content[:-30]):
            path.write_bytes(damaged)
            self.refused("val_idx.pt: not a tensor that torch.save wrote", "rgat", "--incomplete")
        path.write_bytes(sets.saved_by_torch(np.arange(10), 5, 6))
        self.refused("it is not a contiguous, uncompressed vector", "rgat", "--incomplete")
        path.write_bytes(sets.saved_by_torch(np.arange(55, 65), 0, 10))
        self.refused("numbers from 55 to 64", "rgat", "--incomplete")
        path.unlink()
        self.refused("has no val_idx.pt", "rgat", "--incomplete")

    def test_what_is_not_the_published_set_is_refused(self) -> None:
        sets.imagenet(self.source)
        self.refused("8 samples, but ImageNet 2012, validation has 50000", "resnet50")
        self.assertFalse(self.output.exists())
        self.source = self.root / "squad"
        sets.squad(self.source)
        self.refused("MLCommons publishes 3e85deb501d4e538b6bc56f786231552", "bert")

        sets.gpt_oss(self.root / "oss")
        sets.librispeech(self.root / "speech")
        for benchmark, folder, words in (("gpt-oss-120b", "oss", "3 samples, but summaries of PubMed, tokenized for gpt-oss (performance) has 6396"),
                                         ("whisper", "speech", "3 samples, but LibriSpeech, dev-clean and dev-other, packed into clips of at most 30 s has 1633")):
            self.source = self.root / folder
            self.refused(words, benchmark)
            self.refused(f"{benchmark} has no calibration subset: remove --calibration", benchmark, "--calibration")

    def test_bad_sources_are_refused(self) -> None:
        self.refused("is not a folder", "resnet50")
        sets.imagenet(self.source)
        val_map, text = self.source / "val_map.txt", (self.source / "val_map.txt").read_text()
        for content, words in ((text.replace("_00000007.JPEG", "_99.JPEG"), "1 of 8 files that val_map.txt names are missing"),
                               (text + "x.JPEG\n", "line 9 is not `NAME CLASS`"), (text + "x.JPEG ²\n", "line 9 is not"), (text + "x.JPEG 1000\n", "line 9 is not"),
                               ("\n", "is empty"), ("\udcff", "not a text file")):
            val_map.write_bytes(content.encode(errors="surrogateescape"))
            self.refused(words, "resnet50", "--incomplete")
        val_map.write_text(text)
        (self.source / "ILSVRC2012_val_00000005.JPEG").write_text("no picture")
        self.refused("ILSVRC2012_val_00000005.JPEG: OpenCV cannot decode it", "resnet50", "--incomplete")
        self.refused("OpenCV cannot decode it", "resnet50", "--form", "jpeg", "--incomplete")
        self.refused("resnet50 supports uint8, fp32, tensorflow, jpeg", "resnet50", "--form", "int4")
        self.refused("list.txt: No such file", "resnet50", "--calibration", self.root / "list.txt")

    def test_bad_texts_and_volumes_are_refused(self) -> None:
        self.source.mkdir()
        deep, captions = self.source / "cnn_eval.json", self.source / "captions_source.tsv"
        for content, words in (("[" * 200_000, "not JSON"), ('{"a": 1}', "not a list of objects with tok_input"), ("[1]", "not a list of objects")):
            deep.write_text(content)
            self.refused(words, "llama3.1-8b", "--incomplete")
        for content, words in (("id\tcaption\n1\n", "row 1 has no caption"), ("a\tb\n1\t2\n", "not a table with id and caption")):
            captions.write_text(content)
            self.refused(words, "stable-diffusion-xl", "--form", "text", "--incomplete")
        sets.kits19(self.source, CASES["inference"])
        volume = self.source / CASES["inference"][0] / "imaging.nii.gz"
        content = volume.read_bytes()
        for damaged in (content[:-2000] + b"\0" * 2000, b"nothing", b""):
            volume.write_bytes(damaged)
            self.refused("imaging.nii.gz: not a NIfTI volume", "3d-unet", "--incomplete")

    def test_a_pickle_runs_nothing(self) -> None:
        class Attack:
            def __reduce__(self) -> tuple:
                return os.system, (f"touch {self.target}",)

        Attack.target = self.root / "touched"
        self.source.mkdir()
        path = self.source / "open_orca_gpt4_tokenized_llama.sampled_24576.pkl"
        path.write_bytes(pickle.dumps(Attack()))
        self.refused("system, which a table of prompts does not contain; none of its code was run", "llama2-70b", "--incomplete")
        self.assertFalse(Attack.target.exists())
        path.write_bytes(b"\x80\x04nonsense")
        self.refused("not a pickled table", "llama2-70b", "--incomplete")
        for rows, words in (([[1], []], "sample 1: not a list of token ids"), ([[1, [2, 3]]], "sample 0"), ([[1 << 31]], "sample 0"), ([[-1]], "sample 0"), ([["a"]], "sample 0")):
            pd.DataFrame({"tok_input": rows}).to_pickle(path)
            self.refused(words, "llama2-70b", "--incomplete")

    def test_bad_arrays_are_refused(self) -> None:
        sets.criteo(self.source, 500)
        sparse = self.source / "day_23_sparse_multi_hot.npz"
        arrays = dict(np.load(sparse))
        for change, words in (({"3": arrays["3"][:-1]}, "an array has the shape (499, 2), expected (500, 2)"),
                              ({"3": arrays["3"].astype(np.int64)}, "3.npy is int64, not int32")):
            np.savez(sparse, **(arrays | change))
            self.refused(words, "dlrm-v2", "--incomplete")
        np.savez_compressed(sparse, **arrays)
        self.refused("0.npy is compressed", "dlrm-v2", "--incomplete")
        sparse.write_text("no archive")
        self.refused("not the archive of day 23's indices", "dlrm-v2", "--incomplete")

    def test_it_goes_on_where_it_was_interrupted(self) -> None:
        sets.imagenet(self.source)
        args = ("resnet50", "--from", self.source, "--output", self.output, "--incomplete", "--jobs", 1)
        blocked = self.source / "ILSVRC2012_val_00000003.JPEG"  # the sixth of eight
        content = blocked.read_bytes()
        blocked.write_text("no picture")
        self.assertEqual(prepare(*args).returncode, 2)
        blocked.write_bytes(content)
        partial = np.lib.format.open_memmap(self.output / "imagenet-uint8.npy.partial", mode="r+")
        partial[1] += 1  # damages a written sample
        partial.flush()
        ran = prepare(*args)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("continuing: 4 samples are already prepared", ran.stderr)
        self.check("resnet50-uint8", [self.output / "imagenet-uint8.npy"])
        self.assertEqual([path.name for path in self.output.glob(".*")], [])
        ran = prepare(*args)
        self.assertIn("already prepared", ran.stderr)
        self.refused("was not made by this command", "resnet50", "--first", "3")

    def started_in_earnest(self, *args: object) -> Running:
        """Starts a preparation of 2,000 images in two processes, and waits until it has made some."""
        journal = self.output / ".imagenet-jpeg.journal"
        lines = lambda: journal.read_text().count("\n") if journal.exists() else 0  # noqa: E731
        before = lines()
        running = start(*args)
        while not has_ended() and lines() < before + 5:
            time.sleep(0.001)
        return running

    def many_images(self) -> tuple[object, ...]:
        sets.imagenet(self.source)
        val_map = self.source / "val_map.txt"
        val_map.write_text(val_map.read_text() * 250)
        return "resnet50", "--form", "jpeg", "--from", self.source, "--output", self.output, "--incomplete", "--jobs", 2

    def test_ctrl_c_leaves_what_can_go_on(self) -> None:
        args = self.many_images()
        for number, end in ((signal.SIGINT, os.kill), (signal.SIGTERM, os.kill), (signal.SIGINT, os.killpg), (signal.SIGTERM, os.killpg)):
            running = self.started_in_earnest(*args)
            end(running.pid, number)
            ran = end_of(running)
            self.assertEqual(ran.returncode, 130, ran.stderr)
            self.assertIn("interrupted: run the same command again to continue", ran.stderr)
            self.assertNotIn("Traceback", ran.stderr)
        ran = prepare(*args)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("continuing: ", ran.stderr)
        digests = [sample["sha256"] for sample in self.manifest(self.output / "imagenet-jpeg")["samples"]]
        self.assertEqual(digests, EXPECTED["resnet50-jpeg"][0] * 250)

    def test_nothing_outlives_a_command_that_was_killed(self) -> None:
        args = self.many_images()
        running = self.started_in_earnest(*args)
        os.kill(running.pid, signal.SIGKILL)
        end_of(running)
        ran = prepare(*args)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("continuing: ", ran.stderr)

    def workers_of(self, running: Running) -> list[int]:
        """Returns the ids of the command's two processes that make samples."""
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        self.assertEqual(len(children), 2)
        return [int(child) for child in children]

    def test_a_process_that_dies_is_named_and_the_rest_ends(self) -> None:
        args = self.many_images()
        for number in (signal.SIGKILL, signal.SIGABRT):
            running = self.started_in_earnest(*args)
            os.kill(self.workers_of(running)[1], number)
            ran = end_of(running)
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertIn(f"a process that makes samples was ended by {number.name}", ran.stderr)
            self.assertIn("Run the same command again to continue", ran.stderr)
        self.assertEqual(prepare(*args).returncode, 0)

    def test_a_process_that_is_stopped_does_not_keep_the_command(self) -> None:
        running = self.started_in_earnest(*self.many_images())
        for worker in self.workers_of(running):
            os.kill(worker, signal.SIGSTOP)
        os.kill(running.pid, signal.SIGTERM)
        ran = end_of(running)
        self.assertEqual(ran.returncode, 130, ran.stderr)

    def test_several_processes_make_what_one_makes(self) -> None:
        from netdiv_data import workers

        items = list(range(50))
        uneven = lambda item: time.sleep(0.002 * (item % 7)) or bytes([item]) * (item * 5000)  # noqa: E731
        for jobs in (1, 2, 3, 50, 60):
            self.assertEqual(list(workers.made_in_order(uneven, items, jobs)), [uneven(item) for item in items])
            self.assertEqual(list(workers.made_in_order(uneven, [], jobs)), [])
        failing = workers.made_in_order(lambda item: 1 // item, [1, 0, 1], 2)
        self.assertEqual(next(failing), 1)
        with self.assertRaises(ZeroDivisionError):
            next(failing)

    def test_an_interruption_at_the_end_goes_on(self) -> None:
        sets.openimages(self.source)
        blocked = self.output / "openimages-mlperf.json"
        blocked.mkdir(parents=True)
        args = ("retinanet", "--form", "jpeg", "--from", self.source, "--output", self.output, "--incomplete")
        self.assertEqual(prepare(*args).returncode, 1)
        self.assertFalse((self.output / "openimages-jpeg").exists(), "without a manifest it does not have its final name")
        blocked.rmdir()
        self.check("retinanet-jpeg", self.made("retinanet", "--form", "jpeg"))
        (self.output / "openimages-mlperf.json").unlink()
        self.refused("contains part of the data set, but no openimages-mlperf.json", "retinanet", "--form", "jpeg", "--incomplete")

    def test_a_further_file_is_written_under_its_own_name(self) -> None:
        # The published MD5 of Criteo's trace is found by this name.
        from netdiv_data import facts, parts
        from netdiv_data.preparation import Choice, Preparation, prepare as prepare_here

        extra = {"further.txt": lambda path: path.write_text(path.name)}
        prepare_here(Preparation("x", facts.SQUAD, "ids", "", [parts.Ids("x")], ["0"], [[1]], lambda row: [row], [], extra=extra),
                     Choice(self.output, incomplete=True))
        self.assertEqual((self.output / "further.txt").read_text(), "further.txt")
        self.assertEqual([path.name for path in self.output.glob(".*")], [])

    def test_one_preparation_at_a_time(self) -> None:
        sets.imagenet(self.source)
        self.output.mkdir()
        handle = os.open(self.output, os.O_RDONLY)
        self.addCleanup(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_EX)
        self.refused("another preparation writes to", "resnet50", "--incomplete")

    def test_a_source_that_changed_is_prepared_again(self) -> None:
        sets.imagenet(self.source)
        blocked, changed = (self.source / f"ILSVRC2012_val_0000000{n}.JPEG" for n in (3, 0))
        content = blocked.read_bytes()
        blocked.write_text("no picture")
        self.refused("OpenCV cannot decode it", "resnet50", "--form", "jpeg", "--incomplete", "--jobs", 1)
        blocked.write_bytes(content)
        changed.write_bytes(content)
        (path,) = self.made("resnet50", "--form", "jpeg", "--jobs", 1)
        self.assertEqual((path / "0.jpg").read_bytes(), content)
        self.assertFalse(self.manifest(path)["complete"])

    def test_two_files_of_a_name_are_both_in_the_manifest(self) -> None:
        sets.captions(self.source)
        for which in ("tokenizer", "tokenizer_2"):
            sets.clip_tokenizer(self.root / "pipe" / which)
        path, _ = self.made("stable-diffusion-xl", "--tokenizer", self.root / "pipe")
        named = self.manifest(path)["sources"]
        self.assertIn("tokenizer/vocab.json", named)
        self.assertIn("tokenizer_2/vocab.json", named)

    def test_a_pickle_does_not_say_what_memory_holds(self) -> None:
        # A structure that contains an object, with flags that deny it.
        liar = np.dtype([("a", "O")]).__reduce__()[2]
        state = (*liar[:7], 0)

        class Type:
            def __reduce__(self) -> tuple:
                return np.dtype, ("V8", False, True), state

        self.source.mkdir()
        path = self.source / "open_orca_gpt4_tokenized_llama.sampled_24576.pkl"
        path.write_bytes(pickle.dumps(Type()))
        self.refused("an array of a compound type", "llama2-70b", "--incomplete")

    def test_tables_of_other_writers_are_read(self) -> None:
        self.source.mkdir()
        path = self.source / "open_orca_gpt4_tokenized_llama.sampled_24576.pkl"
        rows = [[1, 2], [3]]
        table = pd.DataFrame({
            "tok_input": rows, "text": pd.array(["a", None], dtype="string"), "number": pd.array([1, None], dtype="Int64"),
            "flag": pd.array([True, None], dtype="boolean"), "when": pd.to_datetime(["2024-01-01", "2024-01-02"]), "kind": pd.Categorical(["x", "y"]),
        })
        for made in (table, table.set_index(["number", "flag"]), table.iloc[::-1].sort_index(), table[table["kind"] != "z"]):
            for protocol in range(6):
                path.write_bytes(pickle.dumps(made, protocol=protocol))
                self.output = self.root / f"out{protocol}{id(made)}"
                self.assertEqual(sets.ids(self.made("llama2-70b")[0]), rows)


if __name__ == "__main__":
    unittest.main()
