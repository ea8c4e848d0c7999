"""Calls the token engine of a plug-in from Python, through `netdiv_engine.h`. libtorch is that of Python's torch."""

import ctypes as c
from pathlib import Path

import torch  # noqa: F401  loads libtorch, which the plug-in is linked to


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


class Table(c.Structure):
    _fields_ = [("abi", c.c_uint32), ("size", c.c_uint32), ("tensor_size", c.c_uint32), ("reserved", c.c_uint32),
                ("name", c.c_char_p), ("version", c.c_char_p), *((f"function{i}", c.c_void_p) for i in range(11)),
                ("tokens", c.POINTER(Functions))]


class Engine:
    """Instance with a model, which lives as long as the process."""

    def __init__(self, plugin: Path, model: Path, tokens: dict, precision: str, threads: int, device: str = "cpu") -> None:
        entry = c.CDLL(str(plugin)).netdiv_engine_plugin
        entry.restype = c.POINTER(Table)
        self.functions = entry(3).contents.tokens.contents
        if (self.functions.size, self.functions.event_size) != (c.sizeof(Functions), c.sizeof(Event)):
            raise RuntimeError(f"{plugin}: its tables have another size than in tests/models/plugin.py")
        ends = tokens["eos"]
        self.settings = Settings(
            c.sizeof(Settings), str(model).encode(), device.encode(), precision.encode(), threads, tokens["vocabulary"],
            tokens["max_input_tokens"], tokens["max_tokens"], tokens["slots"], tokens["chunk"], 0, tokens["beams"], len(ends),
            (c.c_int32 * len(ends))(*ends))
        loaded, self.instance, self.room = c.c_void_p(), c.c_void_p(), Room()
        self.call(self.functions.load, self.settings, loaded)
        self.call(self.functions.open, loaded, self.instance, self.room)
        self.events, self.count = (Event * self.room.slots)(), c.c_uint32()
        self.call(self.functions.warm_up, self.instance)

    def call(self, function: object, *args: object) -> None:
        room = c.create_string_buffer(1024)
        if function(*args, Text(c.cast(room, c.c_char_p), 1024)) != 0:
            raise RuntimeError(room.value.decode())

    def submit(self, sample: int, ids: list[int], least: int, most: int) -> None:
        self.call(self.functions.submit, self.instance, sample, (c.c_int32 * len(ids))(*ids), len(ids), least, most)

    def step(self) -> list[tuple[int, list[int], bool]]:
        """Returns sample, ids, and a flag that is set for the sample's last ids, of each event."""
        self.call(self.functions.step, self.instance, self.events, self.room.slots, self.count)
        return [(event.sample, event.ids[:event.count], event.is_last == 1) for event in self.events[:self.count.value]]
