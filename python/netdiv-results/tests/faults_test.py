"""Errors of files that are missing, damaged or newer: each names the file and says what to do."""

import json
import tempfile
import unittest

from cases import DATA, copy

from netdiv_results import ResultsError, read_fabric, read_run, read_runs, read_sweep

DAMAGED = "damaged, or written by a newer netdiv: "


def key(name, value):
    return lambda text: json.dumps(json.loads(text) | {name: value})


def replaced(old, new):
    return lambda text: text.replace(old, new, 1)


FAULTS = [
    (read_run, "server/result.json", lambda text: text[:-9], "line 46 column"),
    (read_run, "server/result.json", lambda text: "[]", "it is not a JSON object"),
    (read_run, "server/result.json", lambda text: "[" * 100_000, "recursion"),
    (read_run, "server/result.json", replaced('"verdict"', '"outcome"'), "it lacks the key 'verdict'"),
    (read_run, "server/result.json", key("nodes", 3), "the value of 'nodes' is invalid: 3"),
    (read_run, "server/result.json", key("nodes", [3]), "3 is not an object"),
    (read_run, "server/result.json", replaced('"name": "slow"', '"name": 7'), "the name of a node is invalid: 7"),
    (read_run, "server/result.json", replaced('"name": "slow"', '"title": "slow"'), "it lacks the key 'name'"),
    (read_run, "server/series.csv", replaced("start_seconds", "begin"), "it lacks the columns.*start_seconds"),
    (read_run, "server/series.csv", replaced("0.0,", "x,"), "could not convert.*x"),
    (read_run, "server/series.csv", replaced("0.0,", "5.0,"), "an interval ends before it starts"),
    (read_run, "server/histograms.hlog", replaced("0/latency", "latency"), "line [0-9]+ is not a histogram"),
    (read_run, "server/histograms.hlog", replaced("0/latency", "2/latency"), "it has more nodes than result.json"),
    (read_run, "server/histograms.hlog", replaced("HIST", "HISU"), "not in HdrHistogram's compressed format"),
    (read_run, "server/histograms.hlog", replaced("HIST", "="), "."),
    (read_run, "server/histograms.hlog", replaced("HISTF", "HISTFAAAAAF42g"), "."),
    (read_sweep, "sweep/sweep.json", key("version", 2), "version 2 is unknown; this package reads version 1"),
    (read_sweep, "sweep/sweep.json", key("version", 0), "version 0 is unknown; this package reads version 1"),
    (read_sweep, "sweep/sweep.json", replaced('"latency_source"', '"source"'), "it lacks the key 'latency_source'"),
    (read_sweep, "sweep/sweep.json", key("latency_source", "other"), "latency_source 'other' is unknown; this package reads loadgen"),
    (read_sweep, "sweep/sweep.json", replaced('"verdict"', '"outcome"'), r"a step lacks the keys \['verdict'\]"),
    (read_fabric, "fabric/fabric.json", key("form", 2), "form 2 is unknown; this package reads form 1"),
    (read_fabric, "fabric/fabric.json", key("form", "one"), "the value of 'form' is invalid: 'one'"),
    (read_fabric, "fabric/fabric.json", key("bandwidth", [{}]), "it lacks the key 'part'|'nodes'|'message_bytes'"),
    (read_fabric, "matrix/fabric.json", replaced('"from": "here"', '"from": "there"'), "."),
]


class FaultTest(unittest.TestCase):
    def test_each_fault_of_a_file_is_named_with_the_file(self):
        for read, file, edit, words in FAULTS:
            with self.subTest(file=file, words=words):
                name, file = file.split("/")
                folder = copy(self, name)
                path = folder / file
                text = path.read_text()
                path.write_text(edit(text))
                self.assertNotEqual(path.read_text(), text)
                with self.assertRaisesRegex(ResultsError, words) as error:
                    read(folder).histogram()
                self.assertTrue(str(error.exception).startswith(f"{path}: {DAMAGED}"), error.exception)
                self.assertRegex(str(error.exception), "copy the file again, or install")

    def test_a_folder_of_another_kind_is_refused_with_its_reader(self):
        for read, folder, words in [
            (read_run, "fabric", "it has no result.json, but a fabric.json; read it with read_fabric"),
            (read_run, "sweep", "it has no result.json, but a sweep.json; read it with read_sweep"),
            (read_sweep, "server", "it has no sweep.json, but a result.json; read it with read_run"),
            (read_fabric, "server", "it has no fabric.json, but a result.json; read it with read_run"),
            (read_run, ".", "it has no result.json; pass the folder that `loadgen-node run` wrote.*; read_runs reads"),
            (read_run, "nowhere", "it is not a folder; pass the folder that `loadgen-node run` wrote"),
            (read_run, "server/result.json", "it is not a folder; pass the folder that `loadgen-node run` wrote"),
            (read_runs, "fabric", "it contains no runs; pass a folder that contains folders of `loadgen-node run`"),
            (read_runs, "nowhere", "it contains no runs; pass a folder"),
        ]:
            with self.assertRaisesRegex(ResultsError, words) as error:
                read(DATA / folder)
            self.assertTrue(str(error.exception).startswith(str(DATA / folder)))

    def test_a_damaged_run_is_left_out_with_a_warning(self):
        folder = copy(self, "server").parent
        copy(self, "tokens").rename(folder / "tokens")
        (folder / "server/result.json").write_text("{")
        with self.assertWarnsRegex(UserWarning, f"a run is left out: {folder}/server/result.json: {DAMAGED}"):
            self.assertEqual(list(read_runs(folder).index), ["tokens"])
        (folder / "tokens/result.json").write_text("[]")
        with self.assertWarns(UserWarning), self.assertRaisesRegex(ResultsError, f"tokens/result.json: {DAMAGED}"):
            read_runs(folder)

    def test_a_file_that_cannot_be_read_is_named(self):
        folder = copy(self, "server")
        (folder / "series.csv").unlink()
        (folder / "series.csv").mkdir()
        with self.assertRaisesRegex(ResultsError, "series.csv: Is a directory; check the path"):
            read_run(folder)

    def test_unknown_nodes_measures_and_percentiles_are_refused(self):
        run = read_run(DATA / "server")
        for arguments, words in [
            (("latency", "b"), r"the run has no node 'b'; pass one of \['a', 'slow'\]"),
            (("latency", 2), "the run has no node 2"),
            (("latency", -1), "the run has no node -1"),
            (("first_token",), r"it has no histogram 'first_token'.*pass one of \['latency', "),
        ]:
            with self.assertRaisesRegex(ResultsError, words):
                run.histogram(*arguments)
        with self.assertRaisesRegex(ValueError, "percentile 101 is invalid; pass a number from 0 to 100"):
            run.histogram().percentile(101)

    def test_damaged_bytes_of_a_histogram_never_escape_as_another_error(self):
        folder = copy(self, "server")
        (folder / "series.csv").unlink()
        path = folder / "histograms.hlog"
        text = path.read_text()
        start = text.index("HISTF")
        for place in range(start, text.index("\n", start), 37):
            for letter in "A=":
                path.write_text(text[:place] + letter + text[place + 1 :])
                try:
                    read_run(folder).histogram("latency", 0)
                except ResultsError:
                    continue

    def test_an_empty_folder_is_no_run(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(ResultsError):
            read_run(folder)


if __name__ == "__main__":
    unittest.main()
