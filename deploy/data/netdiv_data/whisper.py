"""Whisper: LibriSpeech's clips as the reference packs them, at most 30 s each, in 16-bit PCM of the real length.

The reference's script packs LibriSpeech's own clips: the order of its list depends on the file system, so that another packing differs.
"""

import json
import re
import sys
import wave
from functools import partial
from pathlib import Path

import numpy as np

from . import sources
from .errors import DataError
from .facts import LIBRISPEECH
from .parts import Folder
from .preparation import Preparation

FORMS = ("int16",)
REFERENCE = "speech2text/utils/repackage_librispeech.py; speech2text/manifest.py: Manifest(max_duration=30.0) (b66003e1)"
LIST = "dev-all-repack.json"
RATE, LONGEST = 16000, 30.0
PACKED = re.compile(r"(.+)_(\d+)\.wav")  # a chapter, and the place of a clip in it


def preparation(folder: Path, form: str, incomplete: bool) -> Preparation:
    """Reads dev-all-repack.json in FOLDER, and the WAV files that it names, in a folder beside it."""
    path = sources.file(folder, LIST)
    entries = sources.read_json(path)
    clips = clips_of(entries, path)
    if not incomplete:
        check_order([file.name for file, _ in clips], path)
    kept = [number for number, (_, seconds) in enumerate(clips) if seconds <= LONGEST]
    if len(kept) < len(clips):
        dropped = len(clips) - len(kept)
        print(f"{dropped} of {len(clips)} entries are longer than {LONGEST:g} s: dropped, as the reference does", file=sys.stderr)
    files = [folder / file.parent.name / file.name for file, _ in (clips[number] for number in kept)]
    sources.all_there(files, path)
    names, seconds = [file.name for file in files], [clips[number][1] for number in kept]
    text = json.dumps([entries[number] for number in kept], indent=2)
    return Preparation(
        "whisper", LIBRISPEECH, form, REFERENCE, [Folder("librispeech")], names, files, partial(make, dict(zip(files, seconds))), [path],
        extra={LIST: lambda output: output.write_text(text, encoding="utf-8")})


def clips_of(entries: object, path: Path) -> list[tuple[Path, float]]:
    """Returns the file of each entry, as the list has it, and its duration in seconds."""
    clips = []
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries]):
        match entry:
            case {"transcript": str(), "original_duration": float() | int() as seconds, "files": [{"fname": str(file)}]} if seconds * RATE >= 1:
                if ".." in Path(file).parts[-2:]:
                    raise DataError(f"{path}: entry {number}: {file} is outside the folder. Fetch it again")
                clips.append((Path(file), seconds))
            case _:
                raise DataError(f"{path}: entry {number} lacks a transcript, an original_duration or one file with fname, or has no sample. "
                                "Fetch it again")
    return clips


def check_order(names: list[str], path: Path) -> None:
    """Fails if the clips of a chapter do not follow each other, numbered from 0, as the reference writes them."""
    expected, chapters = "", set()
    for number, name in enumerate(names):
        chapter, place = match.groups() if (match := PACKED.fullmatch(name)) else (name, "")
        if name != expected and (place != "0" or chapter in chapters):
            raise DataError(
                f"{path}: entry {number}, {name}, is not where the reference puts it: clips CHAPTER_0.wav, CHAPTER_1.wav … follow each other. "
                "Fetch the list again, or use --incomplete for practice")
        chapters.add(chapter)
        expected = f"{chapter}_{int(place) + 1}.wav"


def make(seconds: dict[Path, float], path: Path) -> list[np.ndarray]:
    """Returns a clip, int16 [length]."""
    try:
        with open(path, "rb") as raw, wave.open(raw) as file:
            found = {"Hz": file.getframerate(), "channels": file.getnchannels(), "bits": 8 * file.getsampwidth()}
            data = file.readframes(file.getnframes())
    except Exception as error:  # other files cause exceptions of many types
        raise DataError(f"{path}: not a WAV file in PCM: {str(error) or 'it ends early'}. Fetch it again") from error
    for unit, expected in (("Hz", RATE), ("channels", 1), ("bits", 16)):
        if found[unit] != expected:
            raise DataError(f"{path}: {found[unit]} {unit}, expected {expected}. Pack it again with the reference's repackage_librispeech.py")
    if len(data) != 2 * round(seconds[path] * RATE):
        raise DataError(f"{path}: {len(data) / 2 / RATE:g} s, but {LIST} states {seconds[path]:g} s. Fetch both again")
    return [np.frombuffer(data, "<i2")]
