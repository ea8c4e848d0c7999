"""Tests of complete data sets: fully read, identical to what MLCommons publishes, and with valid labels."""

import contextlib
import dataclasses
import gzip
import hashlib
import io
import json
import os
import pickle
import tomllib
import unittest
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import cv2
import numpy as np
import sets
from preparing import CASES, Case

from netdiv_data import captions, criteo, facts, gpt_oss, igbh, igbh_graph, images, imagenet, jpeg, kits19, openimages, preparation, prompts, sources, squad, tensors, whisper
from netdiv_data.errors import DataError

TABLE = Path(__file__).parents[2] / "loadgen-node/rules/src/book/table.toml"


class InThisProcess(Case):
    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch.dict(sources.STAMPS, clear=True))
        self.said = self.enterContext(contextlib.redirect_stderr(io.StringIO()))

    def fails(self, words: str, call: Callable, *args: object) -> None:
        with self.assertRaises(DataError) as caught:
            call(*args)
        self.assertIn(words, str(caught.exception))


class Complete(InThisProcess):
    def prepare(self, made: preparation.Preparation) -> dict:
        """Prepares the data set in this process; returns its manifest."""
        (path, *_) = preparation.prepare(made, preparation.Choice(self.output))
        return self.manifest(path)

    def test_an_image_is_whole(self) -> None:
        jpeg = sets.JPEGS[0].read_bytes()
        half = len(jpeg) // 2
        path = self.root / "image.jpg"
        for data in (jpeg[:half], jpeg[:-1], jpeg[:half] + bytes(half), jpeg[:200], b"", b"no picture"):
            path.write_bytes(data)
            self.fails(f"{path}: OpenCV cannot decode it", images.read, path)
        for data in (jpeg[:half] + b"\xff\xd9", jpeg[:half] + bytes(1000) + jpeg[half + 1000 :]):
            path.write_bytes(data)
            self.fails(f"{path}: part of the image is damaged", images.read, path)
        path.write_bytes(jpeg + b"behind its end")
        data, image = images.read(path)
        self.assertEqual(data, jpeg + b"behind its end")
        self.assertTrue((image == images.read(sets.JPEGS[0])[1]).all())
        path.write_bytes(jpeg[:-2] + b"\0\0" + jpeg[-2:])
        self.assertTrue((image == images.read(path)[1]).all(), "bytes before its end are harmless")
        # A decoder that warns of the header reports no later fault.
        version = jpeg.index(b"JFIF\0") + 5
        odd = jpeg[:version] + b"\3" + jpeg[version + 1 :]
        path.write_bytes(odd)
        self.assertTrue((image == images.read(path)[1]).all(), "an odd version is harmless")
        path.write_bytes(odd[:half] + odd[-2:])
        self.fails(f"{path}: part of the image is damaged", images.read, path)
        _, progressive = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])
        progressive = progressive.tobytes()
        path.write_bytes(progressive)
        images.read(path)
        last = progressive.rindex(b"\xff\xda")
        path.write_bytes(progressive[:last] + b"\0" + progressive[last + 1 :])
        self.fails(f"{path}: part of the image is damaged", images.read, path)

    def test_odd_headers_become_what_a_decoder_takes_them_for(self) -> None:
        for components, transform in ((3, 1), (4, 2)):
            adobe = b"\xff\xee\0\x0eAdobe\0d\0\0\0\0\7"
            frame = b"\xff\xc0\0\x08\x08\0\1\0\1" + bytes((components,))
            scan = b"\xff\xda\0\6" + bytes((components, 5, 6, 7))
            usual = jpeg.with_usual_headers(b"\xff\xd8" + adobe + frame + scan)
            self.assertEqual(usual, b"\xff\xd8" + adobe[:-1] + bytes((transform,)) + frame + scan[:-3] + b"\0\x3f\0")

    def test_texts_are_read_as_other_editors_write_them(self) -> None:
        path = self.root / "text"
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            for end in ("\n", "\r\n", "\r"):
                path.write_bytes(f"a{end}{end}b\u2028c d{end}".replace(" ", "\u00a0").encode(encoding))
                self.assertEqual(sources.numbered_lines(path), [(1, "a"), (3, "b\u2028c d")], (encoding, end))
                path.write_bytes(f'{{{end}"a": 1}}'.encode(encoding))
                self.assertEqual(sources.read_json(path), {"a": 1})
                path.write_bytes(f"id\tcaption{end}7\ta cat{end}".encode(encoding))
                self.assertEqual(captions.read(path), (["7"], ["a cat"]))
        path.write_bytes(b"a\xff")
        self.fails("not a text file: invalid start byte at byte 1", sources.read_json, path)

    def test_truncated_images_are_in_no_form(self) -> None:
        sets.imagenet(self.source)
        sets.openimages(self.root / "open")
        for module, path in ((imagenet, self.source / "ILSVRC2012_val_00000000.JPEG"), (openimages, self.root / "open/validation/data/00f.jpg")):
            path.write_bytes(path.read_bytes()[:-100])
            for form in module.FORMS:
                self.fails("OpenCV cannot decode it", module.make, form, path)
        self.fails("00f.jpg: OpenCV cannot decode it", openimages.preparation, self.root / "open", "jpeg", True, None)

    def few(self, module: object, known: facts.Facts, **changes: object) -> None:
        """Replaces the published facts, so that the test's data set is complete."""
        name = next(name for name, value in vars(facts).items() if value is known)
        self.enterContext(mock.patch.object(module, name, dataclasses.replace(known, **changes)))

    def test_a_source_that_changes_while_it_is_read_makes_no_data_set(self) -> None:
        sets.imagenet(self.source)
        self.few(imagenet, facts.IMAGENET, samples=8)
        changed = self.source / "ILSVRC2012_val_00000000.JPEG"
        make = imagenet.make

        def slowly(form: str, path: Path) -> list:
            made = make(form, path)
            if path == changed:
                path.write_bytes(path.read_bytes() + b"more")
            return made

        with mock.patch.object(imagenet, "make", slowly):
            made = imagenet.preparation(self.source, "jpeg", False, None)
        self.fails(f"1 sources changed while they were read, the first is {changed}", self.prepare, made)
        self.assertEqual([path.name for path in self.output.glob("*.manifest.json")], [])
        sources.STAMPS.clear()
        self.assertTrue(self.prepare(imagenet.preparation(self.source, "jpeg", False, None))["complete"])
        self.assertEqual((self.output / "imagenet-jpeg/0.jpg").read_bytes(), changed.read_bytes())

    def test_samples_are_there_once(self) -> None:
        sets.imagenet(self.source)
        val_map = self.source / "val_map.txt"
        val_map.write_text(val_map.read_text().splitlines()[0] + "\n" + val_map.read_text())
        self.few(imagenet, facts.IMAGENET, samples=9)
        self.fails("ILSVRC2012_val_00000000.JPEG occurs 2 times", self.prepare, imagenet.preparation(self.source, "jpeg", False, None))

    def test_lists_for_calibration_are_those_of_mlcommons(self) -> None:
        sets.imagenet(self.source)
        chosen = self.root / "cal.txt"
        chosen.write_text("ILSVRC2012_val_00000005.JPEG\n")
        self.fails("MLCommons publishes f09719174af3553119e2c621157773a6 for cal_image_list_option_1.txt or",
                   imagenet.preparation, self.source, "jpeg", False, chosen)
        sets.squad(self.root / "squad")
        for module, args in ((openimages, ("jpeg",)), (captions, ("text",)), (igbh, ("nodes",))):
            (self.root / "igbh/full/processed/paper").mkdir(parents=True, exist_ok=True)
            with mock.patch.object(sources, "published", lambda path, *_: path), mock.patch.object(sources, "file", lambda folder, *names: folder / names[0]):
                with mock.patch.object(igbh, "table"):
                    more = (None,) if module is captions else ()
                    self.fails("its MD5 is", module.preparation, self.root / "igbh", *args, False, chosen, *more)
        with mock.patch.object(sources, "published", lambda path, *_: path):
            self.fails("for bert_calibration_features.txt", squad.preparation, self.root / "squad", "ids", False, chosen)

    def test_captions_of_another_name_are_compared_too(self) -> None:
        sets.captions(self.source)
        os.rename(self.source / "captions_source.tsv", self.source / "captions.tsv")
        self.fails("MLCommons publishes 24ba91c1e0fc04e70895385b4a57dca1", captions.preparation, self.source, "text", False, None, None)

    def test_a_volume_is_as_long_as_it_says(self) -> None:
        sets.kits19(self.source, CASES["inference"][:1])
        path = next(self.source.glob("*/imaging.nii.gz"))
        packed = path.read_bytes()
        data = gzip.decompress(packed)
        fewer = data[:42] + (29).to_bytes(2, "little") + data[44:]  # the first of its sides
        more = data[:42] + (51).to_bytes(2, "little") + data[44:]
        not_a_number = data[:-4] + np.float32(np.nan).tobytes()
        for damaged, words in ((packed[:-100], "not a NIfTI volume"), (packed[:-9], "not a NIfTI volume"), (gzip.compress(data[:-4]), "it has"),
                               (gzip.compress(fewer), "it has"), (gzip.compress(more), "it has"), (gzip.compress(not_a_number), "not numbers")):
            path.write_bytes(damaged)
            self.fails(words, kits19.make, path)

    def test_numbers_of_papers_are_read_with_their_checksum(self) -> None:
        path = self.root / "val_idx.pt"
        whole = sets.saved_by_torch(np.arange(1000, dtype=np.int64), 100, 800)
        path.write_bytes(whole)
        self.assertEqual(tensors.vector(path).tolist(), list(range(100, 900)))
        with zipfile.ZipFile(path) as archive, open(path, "rb") as raw:
            at = sources.place(raw, archive.getinfo("val_idx/data/0")) + 8 * 200
        path.write_bytes(whole[:at] + b"\1" + whole[at + 1 :])
        self.fails("val_idx/data/0 is damaged", tensors.vector, path)

    def test_entries_of_json_are_all_there(self) -> None:
        entries = sets.cnn(self.source)
        path = self.source / "cnn_eval.json"
        for key, value, benchmark in (("input", None, prompts.gptj), ("tok_input", "1 2", prompts.llama_8b)):
            path.write_text(json.dumps([entries[0], entries[1] | {key: value}]))
            self.fails(f"{path}: not a list of objects with {key}: see entry 1", benchmark, self.source, "ids", True, False, *[None] * (benchmark is prompts.gptj))

    def test_bad_tables_of_gpt_oss_are_refused(self) -> None:
        sets.gpt_oss(self.source)
        path = self.source / "acc/acc_eval_ref.parquet"
        for ids, changes, words in (
            ([[1]], {"input_tokens": None}, "has no column input_tokens, only num_tokens, text_input, dataset, ground_truth"),
            ([[1]], {"num_tokens": None}, "has no column num_tokens, only"),
            ([[1]], {"dataset": None, "ground_truth": None}, "has no column dataset, ground_truth, only"),
            ([[1], [2, 201088, -1]], {}, "row 1 has the token id 201088, and those of gpt-oss-120b are 0 to 201087"),
            ([[1, -1]], {}, "row 0 has the token id -1, and"),
            ([[1], [2, 3]], {"num_tokens": [1, 3]}, "row 1 has 2 token ids, but its num_tokens is 3"),
            ([[1]], {"num_tokens": [None]}, "row 0 has 1 token ids, but its num_tokens is None"),
            ([[1], []], {}, "row 1 has no list of token ids"),
            ([[1], None], {}, "row 1 has no list of token ids"),
            ([[1, None]], {}, "row 0 has no list of token ids"),
            ([["a"]], {}, "row 0 has no list of token ids"),
            ([[[1]]], {}, "row 0 has no list of token ids"),
            ([[1]], {"dataset": [None]}, "row 0 has the dataset None, expected a name"),
        ):
            sets.parquet(path, ids, **changes)
            self.fails(f"{path}{':' * ('row' in words)} {words}", gpt_oss.preparation, "accuracy", self.source)
        content = path.read_bytes()
        for damaged in (b"", b"no table", content[:-20], content[20:], pickle.dumps({})):
            path.write_bytes(damaged)
            self.fails(f"{path}: not a Parquet file", gpt_oss.preparation, "accuracy", self.source)
        path.unlink()
        self.fails("has no acc/acc_eval_ref.parquet", gpt_oss.prepare_sets, self.source, preparation.Choice(self.output, incomplete=True))
        self.assertFalse(self.output.exists())

    def test_bad_clips_are_refused(self) -> None:
        entries, _ = sets.librispeech(self.source)
        args = (whisper.preparation, self.source, "int16")
        path = self.source / "dev-all-repack.json"
        for order, words in (((1, 0, 2), "entry 0, 84-121123_1.wav, is not where the reference puts it"),
                             ((0, 2, 1), "entry 2, 84-121123_1.wav, is not where"), ((0, 1, 2, 0), "entry 3, 84-121123_0.wav, is not where"),
                             ((0, 0), "entry 1, 84-121123_0.wav, is not where")):
            path.write_text(json.dumps([entries[place] for place in order]))
            self.fails(words, *args, False)
        for change in ({"transcript": None}, {"original_duration": "7"}, {"original_duration": 0}, {"original_duration": float("nan")},
                       {"original_duration": 3e-5}, {"files": []}, {"files": entries[0]["files"] * 2}, {"files": [{}]}):
            path.write_text(json.dumps([entries[0], entries[1] | change]))
            self.fails(f"{path}: entry 1 lacks a transcript, an original_duration or one file", *args, True)
        for name in ("../84-121123_1.wav", "/data/../84-121123_1.wav", "dev-all-repack/.."):
            path.write_text(json.dumps([entries[0], entries[1] | {"files": [{"fname": name}]}]))
            self.fails(f"{path}: entry 1: {name} is outside the folder", *args, True)
        path.write_text(json.dumps({"a": 1}))
        self.fails("entry 0 lacks", *args, True)
        path.write_text(json.dumps(entries))
        clip = self.source / "dev-all-repack/84-121123_1.wav"
        content = clip.read_bytes()
        floats = content[:20] + b"\3" + content[21:]  # the format IEEE float
        for write, words in ((lambda: sets.wav(clip, np.zeros(7, "<i2"), rate=8000), "8000 Hz, expected 16000"),
                             (lambda: sets.wav(clip, np.zeros(14, "<i2"), channels=2), "2 channels, expected 1"),
                             (lambda: sets.wav(clip, np.zeros(7, np.uint8)), "8 bits, expected 16"),
                             (lambda: sets.wav(clip, np.zeros(8, "<i2")), "0.0005 s, but dev-all-repack.json states 0.0004375 s"),
                             (lambda: clip.write_bytes(content[:-2]), "0.000375 s, but dev-all-repack.json states 0.0004375 s"),
                             (lambda: clip.write_bytes(floats), "not a WAV file in PCM: unknown format: 3"),
                             (lambda: clip.write_bytes(b"fLaC"), "not a WAV file in PCM"), (lambda: clip.write_bytes(b""), "not a WAV file in PCM: it ends early")):
            write()
            self.fails(f"{clip}: {words}", whisper.make, {clip: 7 / 16000}, clip)
        clip.unlink()
        self.fails(f"1 of 3 files that dev-all-repack.json names are missing, the first is {clip}", *args, True)

    def test_boxes_have_all_values(self) -> None:
        sets.openimages(self.source)
        boxes = self.source / "annotations/validation-annotations-bbox.csv"
        boxes.write_text(boxes.read_text()[:-6])
        self.fails(f"{boxes}: line 10 lacks values", openimages.preparation, self.source, "jpeg", True, None)

    def test_labels_are_numbers_of_classes(self) -> None:
        sets.imagenet(self.source)
        val_map = self.source / "val_map.txt"
        val_map.write_text("\n" + val_map.read_text() + "x.JPEG 1000\n")
        self.fails(f"{val_map}: line 10 is not `NAME CLASS` with a class from 0 to 999: x.JPEG 1000", imagenet.read_map, val_map)
        path = self.root / "openimages-mlperf.json"
        for label in (264, -1, 1.5, None):
            path.write_text(json.dumps({"images": [], "annotations": [{"category_id": 263}, {"category_id": label}]}))
            self.fails(f"{path}: the category_id of annotations[1] is {label}, and classes are 0 to 263", openimages.names_of, path)
        sets.criteo(self.root / "criteo", 301)
        labels = self.root / "criteo/day_23_labels.npy"
        for label, is_read in ((2, True), (np.nan, True), (2, False)):
            values = np.zeros((301, 1), np.float32)
            values[150 if is_read else 151] = label
            np.save(labels, values)
            args = (criteo.preparation, self.root / "criteo", "tensors", True, None)
            if is_read:
                self.fails(f"{labels}: the label of row 150 is {values[150, 0]}, and classes are 0 to 1", *args)
            else:
                args[0](*args[1:])
        papers = sets.igbh(self.root / "igbh")
        labels = self.root / "igbh/tiny/processed/paper/node_label_2K.npy"
        for label in (2983, -1, 3.5):
            values = np.zeros(sets.PAPERS, np.float32)
            values[papers[4]] = label
            values.tofile(labels)
            self.fails(f"{labels}: the label of paper {papers[4]} is {np.float32(label)}, and classes", igbh.preparation, self.root / "igbh", "nodes", True, None)

    def test_dense_features_are_numbers(self) -> None:
        dense = np.zeros((10, 13), np.float32)
        dense[3, 5] = np.inf
        self.fails("day_23_dense.npy: rows 2 to 4 contain values that are not finite", criteo.make, dense, [], (2, 5))

    def test_the_facts_are_those_of_the_table(self) -> None:
        table = tomllib.loads(TABLE.read_text())
        known = {name: (one.get("classes"), one["dataset_samples"]) for one in table["benchmarks"] if "dataset_samples" in one
                 for name in [one.get("name") or one.get("loadgen_model")]}
        for name, one in (("resnet50", facts.IMAGENET), ("retinanet", facts.OPENIMAGES), ("dlrm-v2", facts.CRITEO), ("rgat", facts.IGBH),
                          ("bert", facts.SQUAD), ("3d-unet", facts.KITS19), ("stable-diffusion-xl", facts.CAPTIONS), ("whisper", facts.LIBRISPEECH)):
            self.assertEqual(known[name], (one.classes, one.samples), name)
        one = next(one for one in table["benchmarks"] if one["model"] == "GPT-OSS-120B")
        self.assertEqual([facts.GPT_OSS_PERFORMANCE.samples, facts.GPT_OSS_ACCURACY.samples, gpt_oss.VOCABULARY, str(gpt_oss.SETS["accuracy"][2])],
                         [one["qsl_size"], one["dataset_samples"], one["vocabulary"], one["parameters"]["max_new_tokens"]])
        self.assertEqual(len(sources.lines(openimages.NAMES)), facts.OPENIMAGES.classes)


class Graph(InThisProcess):
    def setUp(self) -> None:
        """Writes a small graph as the size full, and replaces the published digests with those of its files."""
        super().setUp()
        sets.igbh(self.source)
        os.rename(self.source / "tiny", self.source / "full")
        self.files = {f"{path.parent.name}/{path.name}": path for path in sorted((self.source / "full/processed").glob("*/*.npy"))}
        digests = {name: hashlib.md5(path.read_bytes()).hexdigest() for name, path in self.files.items()}
        self.assertEqual(digests.keys(), facts.IGBH.md5.keys())
        self.enterContext(mock.patch.dict(facts.IGBH.md5, digests))
        self.enterContext(mock.patch.dict(igbh_graph.NODES, {"full": tuple(sets.IGBH.values())}))

    def graph(self, incomplete: bool = False) -> dict:
        path = igbh_graph.prepare_graph(self.source, "graph", incomplete, self.output)
        return json.loads((path / "graph.json").read_text())

    def reported(self) -> list[str]:
        return [line for line in self.said.getvalue().splitlines() if "GB" in line]

    def test_every_file_of_the_graph_is_read(self) -> None:
        for name, path in self.files.items():
            if name == "paper/node_label_2K.npy":  # no part of the graph
                continue
            content = path.read_bytes()
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            self.fails(f"{path}: its MD5 is", self.graph)
            self.assertFalse((self.output / "igbh").exists())
            # Restore the file; sources are noted anew, since its time differs.
            sources.STAMPS.clear()
            path.write_bytes(content)
            for left in (self.output / "igbh.partial").iterdir():
                left.unlink()
        self.assertTrue(self.graph()["complete"])

    def test_a_check_that_ended_is_not_made_again(self) -> None:
        with mock.patch.object(sources, "check_md5", side_effect=[None] * 11 + [KeyboardInterrupt]), self.assertRaises(KeyboardInterrupt):
            self.graph()
        self.assertEqual((self.reported()[0], len(self.reported())), ("comparing MD5: 12 of 12 files, 0.0 GB to read", 13))
        self.assertTrue(self.graph()["complete"])
        self.assertEqual((self.reported()[13], len(self.reported())), ("comparing MD5: 1 of 12 files, 0.0 GB to read", 15))

    def test_an_incomplete_graph_is_not_read_for_its_digests(self) -> None:
        with mock.patch.object(sources, "check_md5") as check:
            self.assertFalse(self.graph(incomplete=True)["complete"])
        check.assert_not_called()

    def test_a_graph_whose_sources_change_is_not_made(self) -> None:
        features = igbh_graph.features
        changed = self.files["fos/node_feat.npy"]

        def slowly(*args: object) -> None:
            features(*args)
            os.utime(changed)

        with mock.patch.object(igbh_graph, "features", slowly):
            self.fails(f"1 sources changed while they were read, the first is {changed}", self.graph)
        self.assertFalse((self.output / "igbh").exists())

    def test_papers_of_another_size_are_not_complete(self) -> None:
        os.rename(self.source / "full", self.source / "medium")
        self.fails("has the size medium, the benchmark needs full", igbh.preparation, self.source, "nodes", False, None)


if __name__ == "__main__":
    unittest.main()
