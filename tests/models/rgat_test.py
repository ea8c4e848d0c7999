"""Tests that compare R-GAT with its formulas on whole graphs, and tests of its sampling."""

import contextlib
import io
import sys
import unittest
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import export
import rgat

from rgat_graph import RELATIONS, TYPES, Edges, draw, reversed_too, write_graph

sys.path.append(str(Path(__file__).parents[2] / "deploy" / "data"))
from netdiv_data.igbh_graph import prepare_graph
from netdiv_data.tensors import vector

torch.set_num_threads(1)
NODES = dict(zip(TYPES, [120, 90, 5, 60, 12, 8]))
WIDTH = 16
FANOUTS = (15, 10, 5)  # backend_dgl.py of the reference; the paper's fanout comes first


def random_edges(rng: np.random.Generator, count: int, most: int) -> Edges:
    """Returns different edges of the six relations; in each of the eleven relations a node has at most `most` neighbours."""
    edges = {}
    for name, source, target in RELATIONS[:6]:
        ends = [rng.integers(0, NODES[of], count) for of in (source, target)]
        whole = np.unique(np.stack(ends, 1), axis=0)
        out, back, kept = np.zeros(NODES[source], int), np.zeros(NODES[target], int), []
        for a, b in rng.permutation(whole):
            if name == "cites" and (a > b or max(out[a] + back[a], out[b] + back[b]) >= most - 1):
                continue  # leaves room for the paper itself, and for both directions
            if out[a] < most and back[b] < most:
                kept.append((a, b))
                out[a] += 1
                back[b] += 1
        edges[name] = (np.array(kept)[:, 0], np.array(kept)[:, 1])
    return edges


def dense(network: rgat.Network, features: dict[str, np.ndarray], edges: Edges) -> Tensor:
    """Computes the network for all papers of a graph with all neighbours of all nodes, with attention as a matrix."""
    state = {name: torch.from_numpy(x) for name, x in features.items()}
    for number, layer in enumerate(network.layers):
        sums = {name: 0 for name in TYPES}
        for name, source, target in RELATIONS:
            part, there = layer.mods[name], torch.zeros(NODES[target], NODES[source])
            there.index_put_((torch.from_numpy(edges[name][1]), torch.from_numpy(edges[name][0])), torch.ones(()), True)
            heads = part.attn_l.size(1)
            left, right = (F.linear(state[of], part.fc.weight).unflatten(1, (heads, -1)) for of in (source, target))
            scores = (left * part.attn_l).sum(2)[None] + (right * part.attn_r).sum(2)[:, None]
            shares = torch.where(scores > 0, scores, 0.2 * scores).exp() * there[:, :, None]
            shares = shares / shares.sum(1, keepdim=True).clamp(min=1e-30)
            sums[target] = sums[target] + torch.einsum("tsh,shf->thf", shares, left).flatten(1) + part.bias
        state = sums if number == 2 else {name: F.leaky_relu(x, 0.01) for name, x in sums.items()}
    return F.linear(state["paper"], network.linear.weight, network.linear.bias)


class RgatTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.enterContext(contextlib.chdir(folder.name))
        self.enterContext(torch.no_grad())
        self.rng = np.random.default_rng(1)
        torch.manual_seed(1)
        self.model = rgat.Rgat(NODES["paper"], WIDTH, 24, 30, 4).eval()
        for weight in self.model.network.parameters():
            weight.normal_(std=0.4)
        self.papers = torch.arange(NODES["paper"]).unsqueeze(1)

    def graph(self, count: int, most: int, data_type: type = np.float32) -> tuple[dict, dict]:
        """Writes a graph; returns its features, as float32, and its edges."""
        features = {name: self.rng.standard_normal((count, WIDTH)).astype(data_type) for name, count in NODES.items()}
        edges = reversed_too(random_edges(self.rng, count, most), NODES["paper"])
        write_graph(Path("igbh"), features, edges)
        self.model.graph.open()
        return {name: x.astype(np.float32) for name, x in features.items()}, edges

    def close(self, got: Tensor, wanted: Tensor) -> None:
        self.assertLess(float((got - wanted).abs().max() / wanted.abs().max()), 1e-5)

    def test_all_neighbours_give_what_the_formulas_give(self) -> None:
        for data_type in (np.float32, np.float16):
            features, edges = self.graph(500, min(FANOUTS), data_type)
            self.assertGreater(len(edges["cites"][0]), 300)
            self.close(self.model(self.papers), dense(self.model.network, features, edges))

    def test_many_neighbours_give_something_else(self) -> None:
        features, edges = self.graph(2000, 1000)
        wanted = dense(self.model.network, features, edges)
        self.assertGreater(float((self.model(self.papers) - wanted).abs().max() / wanted.abs().max()), 0.01)

    def test_a_paper_has_its_answer_whatever_its_batch(self) -> None:
        self.graph(2000, 1000)
        whole = self.model(self.papers)
        self.assertTrue(torch.equal(self.model(self.papers), whole))
        order = torch.randperm(len(whole))
        self.close(self.model(self.papers[order]), whole[order])
        twice = torch.cat([self.model(self.papers[[n, n, 5]])[:2] for n in range(20)])
        self.close(twice, whole[:20].repeat_interleave(2, 0))
        self.model.subgraphs.seed += 1
        self.assertGreater(float((self.model(self.papers) - whole).abs().max()), 0.1)

    def test_subgraphs_have_the_fanouts_and_only_neighbours(self) -> None:
        _, edges = self.graph(2000, 1000)
        hops = set()
        for paper in range(0, 120, 7):
            nodes, ends, neighbours, starts = self.model.subgraphs(torch.tensor([paper]))
            for (name, source, target), found, begin in zip(RELATIONS, neighbours, starts):
                sources, targets = nodes[TYPES.index(source)], nodes[TYPES.index(target)]
                hop_ends = ends[TYPES.index(target)]
                self.assertEqual(len(begin) - 1, hop_ends[2], "nodes of the last hop are not targets")
                self.assertEqual(len(sources.unique()), len(sources))
                for place in range(hop_ends[2]):
                    hop = sum(place >= end for end in hop_ends)
                    all_of_it = edges[name][0][edges[name][1] == int(targets[place])]
                    picked = sources[found[begin[place]:begin[place + 1]]].tolist()
                    self.assertEqual(len(picked), min(len(all_of_it), FANOUTS[hop]))
                    self.assertEqual(len(set(picked)), len(picked))
                    self.assertLessEqual(set(picked), set(all_of_it.tolist()))
                    hops |= {(hop, len(picked) < len(all_of_it))}
        self.assertEqual(hops, {(hop, part) for hop in range(3) for part in (False, True)})

    def test_subsets_are_all_as_likely(self) -> None:
        keys = torch.arange(60_000)
        for degree, count in ((4, 2), (6, 5), (40, 15)):
            picked = draw(keys, torch.full_like(keys, degree), count).sort(1).values
            self.assertTrue(bool((picked[:, 1:] > picked[:, :-1]).all()), "a neighbour is picked twice")
            self.assertTrue(0 <= int(picked.min()) and int(picked.max()) < degree)
            share = torch.bincount(picked.flatten(), minlength=degree) / len(keys)
            self.assertLess(float((share - count / degree).abs().max()), 0.01)
        pairs = draw(keys, torch.full_like(keys, 4), 2).sort(1).values @ torch.tensor([4, 1])
        pairs = torch.bincount(pairs) / len(keys)
        self.assertEqual(int((pairs > 0).sum()), 6)
        self.assertLess(float((pairs[pairs > 0] - 1 / 6).abs().max()), 0.01)
        few = draw(keys[:3], torch.tensor([0, 2, 1 << 40]), 3)
        self.assertEqual(few[:2].tolist(), [[0, 1, 2]] * 2)
        self.assertGreater(int(few[2].min()), 1000)

    def test_what_is_wrong_is_named(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "unable to open file <igbh/sizes>"):
            self.model.graph.open()
        self.graph(100, 5)
        for papers in (torch.tensor([[-1]]), torch.tensor([[NODES["paper"]]])):
            with self.assertRaisesRegex(ValueError, "not from 0 to 119"):
                self.model(papers)
        with open("igbh/author.features", "r+b") as file:
            file.truncate(100)
        with self.assertRaisesRegex(RuntimeError, "author.features> size <100> is smaller"):
            self.model.graph.open()
        self.model.graph.width = 17
        with self.assertRaisesRegex(ValueError, "nodes have 16 features, this model takes 17"):
            self.model.graph.open()

    def test_the_file_maps_the_graph_that_is_there(self) -> None:
        self.enterContext(warnings.catch_warnings(action="ignore"))
        export.write(rgat, self.model, Path("files"), "fp32", "random")
        with self.assertRaisesRegex(RuntimeError, "unable to open file <igbh/sizes>"):
            torch.jit.load("files/rgat.pt")
        for _ in range(2):
            self.graph(300, 8)
            file = torch.jit.load("files/rgat.pt")
            self.close(file(self.papers), self.model(self.papers))

    def test_a_prepared_graph_is_the_same(self) -> None:
        processed = Path("tiny/processed")
        edges = random_edges(self.rng, 2000, 1000)
        edges["cites"][1][::50] = edges["cites"][0][::50]  # papers that cite themselves
        features = {name: self.rng.standard_normal((count, WIDTH)).astype(np.float32) for name, count in NODES.items()}
        files = {f"{name}/node_feat.npy": x for name, x in features.items()}
        for name, source, target in RELATIONS[:6]:
            files[f"{source}__{name}__{target}/edge_index.npy"] = np.stack(edges[name], 1)
        for name, array in files.items():
            (processed / name).parent.mkdir(parents=True)
            np.save(processed / name, array)
        write_graph(Path("igbh"), features, reversed_too(edges, NODES["paper"]))
        self.model.graph.open()
        wanted = self.model(self.papers)
        for form, tolerance in (("graph", 0), ("graph-fp16", 0.01)):
            with contextlib.redirect_stderr(io.StringIO()):
                prepare_graph(Path(), form, True, Path(form))
            for name, _, _ in RELATIONS:
                for ending in ("starts", "sources"):
                    both = (Path(folder, f"{name}.{ending}") for folder in ("igbh", f"{form}/igbh"))
                    own, prepared = (file.read_bytes() for file in both)
                    self.assertEqual(own, prepared, name)
            self.model.graph.folder = f"{form}/igbh"
            self.model.graph.open()
            off = (self.model(self.papers) - wanted).abs().max() / wanted.abs().max()
            self.assertLessEqual(float(off), tolerance)

    def test_what_torch_saves_is_read_without_it(self) -> None:
        whole = torch.randperm(1000)
        for saved in (whole[600:605], whole, whole[999:]):
            torch.save(saved, "val_idx.pt")
            self.assertEqual(vector(Path("val_idx.pt")).tolist(), saved.tolist())

    def test_names_of_the_reference_are_read(self) -> None:
        own = self.model.network.state_dict()
        twice = {f"model.{name}": x for name, x in own.items()}
        twice |= {name: x for name, x in own.items() if name.startswith("layers")}
        torch.save({"model_state_dict": twice, "epoch": 1}, "RGAT.pt")
        other = rgat.Rgat(NODES["paper"], WIDTH, 24, 30, 4)
        export.load_weights(rgat, other, Path("RGAT.pt"))
        self.assertTrue(all(torch.equal(x, own[name]) for name, x in other.network.state_dict().items()))


if __name__ == "__main__":
    unittest.main()
