"""Calls a plug-in from Python, through `netdiv_engine.h`. libtorch is that of Python's torch."""

import ctypes as c
from pathlib import Path

import numpy as np
import torch

# Loads libtorch, which the plug-in is linked to, for libraries in packages too.
c.CDLL(str(Path(torch.__file__).parent / "lib/libtorch_cpu.so"), mode=c.RTLD_GLOBAL)
TYPES = {"uint8": 1, "int8": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "int16": 7}


class Text(c.Structure):
    _fields_ = [("at", c.c_char_p), ("room", c.c_uint64)]


class Settings(c.Structure):
    _fields_ = [("size", c.c_uint64), ("path", c.c_char_p), ("device", c.c_char_p), ("precision", c.c_char_p),
                *((name, c.c_uint32) for name in ("threads", "vocabulary", "longest_prompt", "longest_output", "slots", "chunk")),
                ("cache_bytes", c.c_uint64), ("beams", c.c_uint32), ("end_count", c.c_uint32), ("ends", c.POINTER(c.c_int32))]


class Room(c.Structure):
    _fields_ = [("slots", c.c_uint32), ("reserved", c.c_uint32), ("cache_bytes", c.c_uint64)]


class Event(c.Structure):
    _fields_ = [("sample", c.c_uint64), ("ids", c.POINTER(c.c_int32)), ("count", c.c_uint32), ("is_last", c.c_uint32)]


class Functions(c.Structure):
    _fields_ = [("size", c.c_uint32), ("event_size", c.c_uint32),
                ("load", c.CFUNCTYPE(c.c_uint32, c.POINTER(Settings), c.POINTER(c.c_void_p), Text)),
                ("unload", c.CFUNCTYPE(None, c.c_void_p)),
                ("open", c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.POINTER(c.c_void_p), c.POINTER(Room), Text)),
                ("close", c.CFUNCTYPE(None, c.c_void_p)),
                ("warm_up", c.CFUNCTYPE(c.c_uint32, c.c_void_p, Text)),
                ("submit", c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.c_uint64, c.POINTER(c.c_int32), c.c_uint32, c.c_uint32,
                                       c.c_uint32, Text)),
                ("step", c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.POINTER(Event), c.c_uint32, c.POINTER(c.c_uint32), Text)),
                ("cancel", c.CFUNCTYPE(None, c.c_void_p, c.c_uint64))]


class Spec(c.Structure):
    _fields_ = [("name", c.c_char_p), ("data_type", c.c_uint32), ("rank", c.c_uint32), ("shape", c.c_int64 * 9)]


class ModelSettings(c.Structure):
    _fields_ = [("size", c.c_uint64), ("path", c.c_char_p), ("device", c.c_char_p), ("precision", c.c_char_p),
                *((name, c.c_uint32) for name in ("threads", "fixed_shapes", "input_count", "output_count")),
                ("inputs", c.POINTER(Spec)), ("outputs", c.POINTER(Spec))]


class Tensor(c.Structure):
    _fields_ = [("data_type", c.c_uint32), ("rank", c.c_uint32), ("shape", c.c_int64 * 9), ("data", c.c_void_p),
                ("bytes", c.c_uint64)]


RUN = c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.c_uint32, c.POINTER(Tensor), c.c_uint32, c.POINTER(Tensor), c.c_uint32, Text)


class Table(c.Structure):
    _fields_ = [("abi", c.c_uint32), ("size", c.c_uint32), ("tensor_size", c.c_uint32), ("reserved", c.c_uint32),
                ("name", c.c_char_p), ("version", c.c_char_p), ("devices", c.c_void_p),
                ("load", c.CFUNCTYPE(c.c_uint32, c.POINTER(ModelSettings), c.POINTER(c.c_void_p), Text)),
                ("unload", c.CFUNCTYPE(None, c.c_void_p)),
                ("open", c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.POINTER(c.c_void_p), Text)),
                ("close", c.CFUNCTYPE(None, c.c_void_p)),
                *((name, c.c_void_p) for name in ("in_flight", "allocate", "release", "warm_up")), ("begin", RUN),
                ("finish", c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.c_uint32, Text)), ("tokens", c.POINTER(Functions)),
                ("wait", c.c_void_p)]


def table(plugin: Path) -> Table:
    """Returns the table of a plug-in."""
    entry = c.CDLL(str(plugin)).netdiv_engine_plugin
    entry.restype = c.POINTER(Table)
    return entry(3).contents


def call(function: object, *args: object) -> None:
    """Calls a function that returns a status. Fails with its text."""
    room = c.create_string_buffer(1024)
    if function(*args, Text(c.cast(room, c.c_char_p), 1024)) != 0:
        raise RuntimeError(room.value.decode())


class Batches:
    """Model of tensors, which lives as long as the process. `manifest` is the manifest's TOML."""

    def __init__(self, plugin: Path, model: Path, manifest: dict, threads: int = 1, device: str = "cpu") -> None:
        self.table, self.manifest, self.model = table(plugin), manifest, c.c_void_p()
        self.settings = ModelSettings(
            c.sizeof(ModelSettings), str(model).encode(), device.encode(), manifest["precision"].encode(), threads, 0,
            len(manifest["inputs"]), len(manifest["outputs"]), specs(manifest["inputs"]), specs(manifest["outputs"]))
        call(self.table.load, self.settings, self.model)

    def open(self) -> c.c_void_p:
        """Opens an instance."""
        instance = c.c_void_p()
        call(self.table.open, self.model, instance)
        return instance

    def run(self, instance: c.c_void_p, inputs: list[np.ndarray], lengths: dict[str, int]) -> list[np.ndarray]:
        """Runs a batch. `lengths` are those of the free dimensions."""
        outputs = [np.empty([len(inputs[0]), *(lengths.get(n, n) for n in output["shape"])], output["data_type"])
                   for output in self.manifest["outputs"]]
        call(self.table.begin, instance, 0, tensors(inputs), len(inputs), tensors(outputs), len(outputs))
        call(self.table.finish, instance, 0)
        return outputs


def specs(entries: list[dict]) -> c.Array:
    found = [Spec(entry["name"].encode(), TYPES[entry["data_type"]], len(entry["shape"]) + 1,
                  (c.c_int64 * 9)(-1, *(-1 if isinstance(n, str) else n for n in entry["shape"]))) for entry in entries]
    return (Spec * len(found))(*found)


def tensors(arrays: list[np.ndarray]) -> c.Array:
    found = [Tensor(TYPES[str(a.dtype)], a.ndim, (c.c_int64 * 9)(*a.shape), a.ctypes.data, a.nbytes) for a in arrays]
    return (Tensor * len(found))(*found)


class Engine:
    """Instance with a model, which lives as long as the process."""

    def __init__(self, plugin: Path, model: Path, tokens: dict, precision: str, threads: int, device: str = "cpu") -> None:
        self.functions = table(plugin).tokens.contents
        if (self.functions.size, self.functions.event_size) != (c.sizeof(Functions), c.sizeof(Event)):
            raise RuntimeError(f"{plugin}: its tables have another size than in tests/models/plugin.py")
        ends = tokens["eos"]
        self.settings = Settings(
            c.sizeof(Settings), str(model).encode(), device.encode(), precision.encode(), threads, tokens["vocabulary"],
            tokens["max_input_tokens"], tokens["max_tokens"], tokens["slots"], tokens["chunk"], 0, tokens["beams"], len(ends),
            (c.c_int32 * len(ends))(*ends))
        loaded, self.instance, self.room = c.c_void_p(), c.c_void_p(), Room()
        call(self.functions.load, self.settings, loaded)
        call(self.functions.open, loaded, self.instance, self.room)
        self.events, self.count = (Event * self.room.slots)(), c.c_uint32()
        call(self.functions.warm_up, self.instance)

    def submit(self, sample: int, ids: list[int], least: int, most: int) -> None:
        call(self.functions.submit, self.instance, sample, (c.c_int32 * len(ids))(*ids), len(ids), least, most)

    def step(self) -> list[tuple[int, list[int], bool]]:
        """Returns sample, ids, and a flag that is set for the sample's last ids, of each event."""
        call(self.functions.step, self.instance, self.events, self.room.slots, self.count)
        return [(event.sample, event.ids[:event.count], event.is_last == 1) for event in self.events[:self.count.value]]
