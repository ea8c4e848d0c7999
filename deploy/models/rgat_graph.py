"""Graph of IGBH as a folder of raw files that a TorchScript file maps, and the sampling of R-GAT's neighbourhoods.

The files are little-endian. `sizes` is int64 [FORM, width, bytes of a feature, six numbers of nodes, six lengths of headers in bytes,
eleven numbers of edges]. Each type of node has `TYPE.features`, [nodes, width] after the header. Each relation has `RELATION.starts`,
int64 [targets + 1], and `RELATION.sources`, int32; the sources of target i are at starts[i] to starts[i + 1]. deploy/data/prepare
writes the files.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

FORM = 1  # repeated as a number in `open`
TYPES = ["paper", "author", "conference", "fos", "institute", "journal"]
# Name, type of sources, type of targets. Papers cite in both directions, and each cites itself.
RELATIONS = [
    ("cites", "paper", "paper"), ("written_by", "paper", "author"), ("affiliated_to", "author", "institute"),
    ("topic", "paper", "fos"), ("published", "paper", "journal"), ("venue", "paper", "conference"),
    ("rev_written_by", "author", "paper"), ("rev_affiliated_to", "institute", "author"), ("rev_topic", "fos", "paper"),
    ("rev_published", "journal", "paper"), ("rev_venue", "conference", "paper"),
]
FANOUTS = [15, 10, 5]  # maximum number of neighbours in each relation, by hop
SEED = 1
Edges = dict[str, tuple[np.ndarray, np.ndarray]]  # sources and targets, by relation


def mix(x: Tensor) -> Tensor:
    """Applies splitmix64's last steps (Steele et al. 2014): every bit of the result depends on every bit of `x`."""
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * -4658895280553007687
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * -7723592293110705685
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


def draw(keys: Tensor, degrees: Tensor, count: int) -> Tensor:
    """Draws `count` different numbers below the degree for each row, [rows, count]; 0, 1, … if the degree is at most `count`.

    Floyd's algorithm takes `count` steps, whatever the degree, and makes all subsets equally likely. Its random numbers are hashes
    of the row's key.
    """
    picked = torch.arange(count).expand(keys.size(0), -1)
    large = (degrees > count).nonzero()[:, 0]
    if large.size(0) == 0:
        return picked
    keys, degrees = keys[large], degrees[large]
    chosen = torch.empty(large.size(0), 0, dtype=torch.int64)
    for i in range(count):
        last = degrees - count + i
        number = torch.remainder(mix(keys + i) & 0x7FFFFFFFFFFFFFFF, last + 1)
        number = torch.where((chosen == number.unsqueeze(1)).any(1), last, number)
        chosen = torch.cat([chosen, number.unsqueeze(1)], 1)
    return picked.index_copy(0, large, chosen)


class Graph(nn.Module):
    """Mapped files of the graph. `open` maps them once, and so does loading a TorchScript file with this module.

    Pages are read on first use. Threads may share the module, since the files do not change.
    """

    counts: list[int]  # numbers of nodes
    starts: list[Tensor]
    sources: list[Tensor]
    tables: list[Tensor]

    def __init__(self, folder: str, width: int) -> None:
        super().__init__()
        self.folder, self.width = folder, width
        self.types, self.relations = TYPES, [name for name, _, _ in RELATIONS]
        self.targets = [TYPES.index(target) for _, _, target in RELATIONS]
        self.counts, self.starts, self.sources, self.tables = [], [], [], []

    @torch.jit.export
    def __getstate__(self) -> tuple[str, int, list[str], list[str], list[int], bool]:
        return self.folder, self.width, self.types, self.relations, self.targets, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[str, int, list[str], list[str], list[int], bool]) -> None:
        self.folder, self.width, self.types, self.relations, self.targets, self.training = state
        self.open()

    @torch.jit.export
    def open(self) -> None:
        """Maps the files."""
        types, relations, folder = len(self.types), len(self.relations), self.folder
        head = torch.from_file(folder + "/sizes", False, 3 + 2 * types + relations, dtype=torch.int64)
        sizes: list[int] = head.tolist()
        if sizes[0] != 1:
            raise ValueError(folder + "/sizes has another form: prepare the graph again")
        if sizes[1] != self.width:
            raise ValueError(f"{folder}: nodes have {sizes[1]} features, this model takes {self.width}")
        counts = sizes[3:3 + types]
        starts: list[Tensor] = []
        sources: list[Tensor] = []
        tables: list[Tensor] = []
        for i, name in enumerate(self.types):
            path, header = folder + "/" + name + ".features", sizes[3 + types + i] // sizes[2]
            if sizes[2] == 2:
                table = torch.from_file(path, False, header + counts[i] * self.width, dtype=torch.float16)
            else:
                table = torch.from_file(path, False, header + counts[i] * self.width, dtype=torch.float32)
            tables.append(table[header:].view(counts[i], self.width))
        for i, name in enumerate(self.relations):
            path, edges = folder + "/" + name, sizes[3 + 2 * types + i]
            starts.append(torch.from_file(path + ".starts", False, counts[self.targets[i]] + 1, dtype=torch.int64))
            if edges == 0:  # an empty file cannot be mapped
                sources.append(torch.empty(0, dtype=torch.int32))
            else:
                sources.append(torch.from_file(path + ".sources", False, edges, dtype=torch.int32))
        self.counts, self.starts, self.sources, self.tables = counts, starts, sources, tables


class Subgraphs(nn.Module):
    """Samples the neighbourhood of each paper of a batch, on the CPU, as a separate subgraph.

    A subgraph samples a node's neighbours once, as the reference's PyGSampler does. A hash of SEED, the paper, the relation and the
    node chooses them, so that a paper's subgraph does not depend on the rest of the batch.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.comes_from = [TYPES.index(source) for _, source, _ in RELATIONS]
        self.fanouts, self.seed = FANOUTS, SEED

    def forward(self, papers: Tensor) -> tuple[list[Tensor], list[list[int]], list[Tensor], list[Tensor]]:
        """Returns nodes, ends, neighbours and starts for papers, int64 [n].

        For each type: its nodes in the order of discovery, and their number before each hop and after the last one. For each
        relation: the indices of all neighbours among the nodes, and the first neighbour of each target; targets are the nodes that
        were known before the last hop.
        """
        counts, targets = self.graph.counts, self.graph.targets
        types, relations = len(counts), len(targets)
        if bool((papers < 0).any()) or bool((papers >= counts[0]).any()):
            raise ValueError(f"a number of a paper is not from 0 to {counts[0] - 1}")
        empty = torch.empty(0, dtype=torch.int64)
        # A node is encoded as its number plus the number of its sample times the number of nodes.
        known = [torch.arange(papers.size(0)) * counts[0] + papers] + [empty for _ in range(types - 1)]
        seeds = known.copy()
        ends = [[nodes.size(0)] for nodes in known]
        sources = [[empty] for _ in range(relations)]
        degrees = [[torch.zeros(1, dtype=torch.int64)] for _ in range(relations)]
        for fanout in self.fanouts:
            found = [[empty] for _ in range(types)]
            for relation in range(relations):
                target, source = targets[relation], self.comes_from[relation]
                nodes, sample = seeds[target] % counts[target], seeds[target] // counts[target]
                begin = self.graph.starts[relation][nodes]
                degree = self.graph.starts[relation][nodes + 1] - begin
                keys = mix(mix(mix(papers[sample] + self.seed) + relation) + nodes)
                places = begin.unsqueeze(1) + draw(keys, degree, fanout)
                there = torch.arange(fanout) < degree.unsqueeze(1)
                offsets = (sample * counts[source]).unsqueeze(1).expand(-1, fanout)
                picked = self.graph.sources[relation][places[there]].to(torch.int64) + offsets[there]
                sources[relation].append(picked)
                degrees[relation].append(degree.clamp(max=fanout))
                found[source].append(picked)
            for of in range(types):
                new = torch.unique(torch.cat(found[of]))
                seeds[of] = new[~torch.isin(new, known[of])]
                known[of] = torch.cat([known[of], seeds[of]])
                ends[of].append(known[of].size(0))
        ordered = [nodes.sort() for nodes in known]
        neighbours, begins = [empty for _ in range(relations)], [empty for _ in range(relations)]
        for relation in range(relations):
            values, order = ordered[self.comes_from[relation]]
            neighbours[relation] = order[torch.searchsorted(values, torch.cat(sources[relation]))]
            begins[relation] = torch.cat(degrees[relation]).cumsum(0)
        return [nodes % counts[of] for of, nodes in enumerate(known)], ends, neighbours, begins


def write_graph(folder: Path, features: dict[str, np.ndarray], edges: Edges) -> None:
    """Writes a small graph: features of each type, and sources and targets of each of the network's relations."""
    folder.mkdir(parents=True, exist_ok=True)
    table = features[TYPES[0]]
    sizes = [FORM, table.shape[1], table.itemsize, *(len(features[name]) for name in TYPES), *([0] * len(TYPES))]
    for name in TYPES:
        (folder / f"{name}.features").write_bytes(features[name].tobytes())
    for name, _, target in RELATIONS:
        sources, targets = edges[name]
        starts = np.zeros(len(features[target]) + 1, "<i8")
        np.cumsum(np.bincount(targets, minlength=len(features[target])), out=starts[1:])
        (folder / f"{name}.starts").write_bytes(starts.tobytes())
        (folder / f"{name}.sources").write_bytes(sources[np.argsort(targets, kind="stable")].astype("<i4").tobytes())
        sizes.append(len(sources))
    (folder / "sizes").write_bytes(np.array(sizes, "<i8").tobytes())


def reversed_too(edges: Edges, papers: int) -> Edges:
    """Converts IGBH's six relations, sources and targets, to the eleven of RELATIONS."""
    other, own = edges["cites"][0] != edges["cites"][1], np.arange(papers)
    sources, targets = (ends[other] for ends in edges["cites"])
    cites = np.concatenate([sources, targets, own]), np.concatenate([targets, sources, own])
    back = {f"rev_{name}": (targets, sources) for name, (sources, targets) in edges.items() if name != "cites"}
    return edges | back | {"cites": cites}


def write_random_graph(folder: Path, width: int, counts: list[int], edges: list[int], seed: int) -> None:
    """Writes a random graph with given numbers of nodes by type and of edges by IGBH's six relations, and normal features."""
    rng = np.random.default_rng(seed)
    number = dict(zip(TYPES, counts))
    drawn = {name: (rng.integers(0, number[source], count), rng.integers(0, number[target], count))
             for (name, source, target), count in zip(RELATIONS, edges)}
    features = {name: rng.standard_normal((number[name], width), np.float32) for name in TYPES}
    write_graph(folder, features, reversed_too(drawn, counts[0]))
