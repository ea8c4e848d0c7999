"""Runs, sweeps and network measurements of every version, and the figures in their tables."""

import base64
import json
import shutil
import struct
import tempfile
import unittest
import zlib
from pathlib import Path

from cases import DATA, REPOSITORY, RUNS, STEPS, copy, load, older_forms

from netdiv_results import read_fabric, read_run, read_runs, read_sweep
from netdiv_results.histograms import decoded
from netdiv_results.sweeps import BEST, STEP

PLACES = {
    "latency": ["latency_ns"],
    "first_token": ["tokens", "first_ns"],
    "further_token": ["tokens", "further_ns"],
    "tokens_per_answer": ["tokens", "per_answer"],
    "prefill": ["tokens", "prefill_ns"],
    "decode": ["tokens", "decode_ns"],
}


class RunTest(unittest.TestCase):
    def test_tables_have_the_figures_of_the_files(self):
        run = read_run(DATA / "server")
        self.assertEqual(run.figures["metric.value"], run.result["metric"]["value"])
        self.assertEqual(run.figures["loadgen_latency_ns.99.00"], run.result["loadgen_latency_ns"]["99.00"])
        self.assertEqual(list(run.nodes["name"]), ["a", "slow"])
        self.assertGreater(run.nodes["latency_ns.p50"][1], run.nodes["latency_ns.p50"][0])
        for node, of in run.series.groupby("node"):
            counted = run.nodes.set_index("name")["answered"].get(node, run.result["samples"]["completed"])
            self.assertEqual(of["completed"].sum(), counted, node)
        self.assertTrue(run.series["tokens"].isna().all())
        self.assertGreater(read_run(DATA / "tokens").series["tokens"].sum(), 0)

    def test_histograms_have_the_percentiles_of_the_record(self):
        for name, measures in ("server", 5), ("tokens", 10):
            run = read_run(DATA / name)
            self.assertEqual(len(run.measures), measures)
            for measure in run.measures:
                for place, node in enumerate(run.result["nodes"]):
                    of = node
                    for key in PLACES.get(measure, ["stages_ns", measure]):
                        of = of[key]
                    histogram = run.histogram(measure, node["name"])
                    self.assertEqual(histogram, run.histogram(measure, place))
                    found = [histogram.percentile(percent) for percent in (50, 90, 99, 99.9, 100)]
                    self.assertEqual(found, [of[key] for key in ("p50", "p90", "p99", "p99_9", "max")], measure)
                    self.assertAlmostEqual(histogram.mean / (of["mean"] or 1), float(of["mean"] > 0), 9)
                both = run.histogram(measure)
                self.assertEqual(both.count, sum(run.histogram(measure, place).count for place in range(2)))
                frame = both.to_frame()
                self.assertEqual((frame["count"].sum(), frame["percentile"].iloc[-1]), (both.count, 100))
                self.assertEqual(frame.columns[1], "highest_tokens" if measure == "tokens_per_answer" else "highest_ns")

    def test_histograms_have_all_values(self):
        # At two digits 255 is the last value with a bucket of its own, and 1 << 40 is the 33rd time that buckets double.
        counts = {0: 3, 255: 1 << 56, 256: 2, 34 * 128: 5}
        buckets = ((0, 0, 3), (255, 255, 1 << 56), (256, 257, 2), (1 << 40, (1 << 40) + (1 << 33) - 1, 5))
        self.assertEqual(decoded("latency", [encoded(counts, 2)]).buckets, buckets)

    def test_records_of_every_version_are_read(self):
        folder = copy(self, "tokens")
        (folder / "series.csv").unlink()
        forms = list(older_forms("tokens", "result.json"))
        self.assertGreater(len(forms), 15)
        for record in forms:
            (folder / "result.json").write_text(json.dumps(record))
            run = read_run(folder)
            self.assertEqual(run.figures["verdict"], "VALID")
            self.assertEqual(run.histogram("latency", 1).max, run.nodes["latency_ns.max"][1])

    def test_a_run_of_the_first_version_has_neither_series_nor_histograms(self):
        with tempfile.TemporaryDirectory() as folder:
            record = (REPOSITORY / "tests/fuzz/corpus/run_folders/result").read_text()
            Path(folder, "result.json").write_text(record[record.index("{") :])
            run = read_run(folder)
            self.assertEqual((len(run.series), run.measures), (0, []))
            self.assertEqual(list(run.series), list(read_run(DATA / "server").series))
            self.assertEqual(run.nodes["name"][0], "node-a")

    def test_a_killed_run_keeps_its_whole_lines(self):
        folder = copy(self, "server")
        rows = len(read_run(folder).series)
        path = folder / "series.csv"
        path.write_text(path.read_text()[:-5].replace(",a,", ",NA,"))
        series = read_run(folder).series
        self.assertEqual((len(series), set(series["node"])), (rows - 1, {"", "NA", "slow"}))
        path.write_text("")
        self.assertEqual(len(read_run(folder).series), 0)

    def test_all_runs_below_a_folder_are_rows(self):
        runs = read_runs(DATA)
        self.assertEqual(list(runs.index), RUNS)
        self.assertEqual(runs["token_metric.unit"]["tokens"], "tokens/s")
        self.assertEqual(runs["metric.value"].dtype, float)

    def test_runs_that_a_sweep_has_set_aside_are_left_out(self):
        folder = copy(self, "sweep")
        step = folder / STEPS["sweep"]
        for number in 1, 12:
            shutil.copytree(step, f"{step}.unfinished-{number}")
        self.assertEqual(list(read_runs(folder).index), [STEPS["sweep"]])
        self.assertEqual(len(read_runs(f"{step}.unfinished-1")), 1)


class SweepTest(unittest.TestCase):
    def test_steps_are_rows_and_lead_to_their_runs(self):
        for name, step in STEPS.items():
            sweep = read_sweep(DATA / name)
            self.assertEqual(list(sweep.steps), list(STEP))
            of = sweep.steps.set_index("folder").loc[step]
            run = sweep.run(step)
            self.assertEqual((of["verdict"], of["samples"]), (run.figures["verdict"], run.figures["samples.completed"]))
            self.assertEqual(len(run.nodes), of["nodes"])
            p99 = run.histogram().percentile(99) if sweep.latency_source == "netdiv" else run.figures["loadgen_latency_ns.99.00"]
            self.assertEqual(of["latency_ns.p99"], p99)

    def test_each_number_of_nodes_has_a_highest_rate(self):
        sweep = read_sweep(DATA / "sweep")
        self.assertEqual(sweep.steps.groupby("nodes").size().to_dict(), {1: 4, 2: 4})
        top = sweep.steps.merge(sweep.best, on=["nodes", "load"])
        self.assertEqual((list(top["verdict"]), list(top["nodes"])), (["VALID"] * 2, [1, 2]))
        self.assertTrue((top["latency_ns.p99"] < sweep.record["bounds"]["latency_ns"]).all())
        self.assertEqual(list(read_sweep(DATA / "sweep-concurrency").best), list(BEST))

    def test_a_sweep_without_steps_has_all_columns(self):
        folder = copy(self, "sweep")
        record = load(folder / "sweep.json") | {"finished": False, "steps": [], "best": []}
        (folder / "sweep.json").write_text(json.dumps(record))
        sweep = read_sweep(folder)
        self.assertEqual((list(sweep.steps), list(sweep.best)), (list(STEP), list(BEST)))
        self.assertEqual((len(sweep.steps), len(sweep.best["load"])), (0, 0))


class FabricTest(unittest.TestCase):
    def test_a_measurement_by_sizes(self):
        fabric = read_fabric(DATA / "fabric")
        self.assertEqual(len(fabric.bandwidth), 6)
        shares = fabric.nodes.groupby(["message_bytes", "direction"])["bytes_per_second_to_nodes"].sum()
        total = fabric.bandwidth.set_index(["message_bytes", "direction"])["total.bytes_per_second_to_nodes"]
        self.assertLess((shares - total).abs().max(), 1)
        self.assertEqual(list(fabric.round_trips["node"]), ["f1", "f2"] * 2)
        self.assertTrue(fabric.matrix.empty and fabric.open_loop.empty)

    def test_a_matrix(self):
        fabric = read_fabric(DATA / "matrix")
        hosts = ["(here)", "f1", "f2"]
        self.assertEqual((list(fabric.matrix.index), list(fabric.matrix)), (hosts, hosts))
        self.assertEqual(fabric.matrix.notna().sum().sum(), 6)
        self.assertEqual(list(fabric.bandwidth["part"]), ["fan_out", "incast"])

    def test_a_rate_and_a_soak(self):
        folder = copy(self, "rate")
        self.assertEqual(read_fabric(folder).open_loop["rate_messages_per_second"][0], 500)
        record = load(folder / "fabric.json") | {"soak": load(DATA / "fabric/fabric.json")["bandwidth"][0]}
        (folder / "fabric.json").write_text(json.dumps(record))
        self.assertEqual(list(read_fabric(folder).bandwidth["part"]), ["soak"])

    def test_records_of_every_version_are_read(self):
        for name in "fabric", "matrix", "rate":
            folder = copy(self, name)
            forms = list(older_forms(name, "fabric.json"))
            # Earlier versions also measured in plaintext.
            forms.append(forms[0] | {"plaintext": {"bandwidth": [], "round_trips": []}})
            self.assertGreater(len(forms), 5)
            for record in forms:
                (folder / "fabric.json").write_text(json.dumps(record))
                self.assertEqual(list(read_fabric(folder).routes["node"]), ["f1", "f2"])


def encoded(counts, digits):
    """Returns a histogram as HdrHistogram's tools encode it, from the counts of its buckets by place."""
    numbers, place = [], 0
    for at, count in sorted(counts.items()):
        numbers += [place - at] * (at > place) + [count]
        place = at + 1
    data = b"".join(map(seven_bits, numbers))
    plain = struct.pack(">IIIIQQd", 0x1C849313, len(data), 0, digits, 1, 1 << 62, 1.0) + data
    packed = zlib.compress(plain)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed).decode()


def seven_bits(number):
    value, out = (number << 1) ^ (number >> 63), bytearray()
    while value >= 0x80 and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


if __name__ == "__main__":
    unittest.main()
