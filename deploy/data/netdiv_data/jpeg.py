"""The headers of JPEG files, as far as a decoder's warnings about them would hide damage."""

from collections.abc import Iterator

BEGINNING = b"\xff\xd8"
APP0, APP14, SOS = 0xE0, 0xEE, 0xDA
BASELINE = (0xC0, 0xC1)
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
ALONE = frozenset(range(0xD0, 0xD8)) | {0x01}  # markers without a segment


def segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yields marker, start and end of each header segment, up to that of the first scan; nothing for another format."""
    at = 2 if data.startswith(BEGINNING) else len(data)
    while at + 4 <= len(data):
        if data[at] != 0xFF or data[at + 1] in (0x00, 0xFF) or data[at + 1] in ALONE:
            at += 1
            continue
        marker, end = data[at + 1], at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        yield marker, at + 4, min(end, len(data))
        if marker == SOS:
            return
        at = end


def frame(data: bytes) -> tuple[int | None, int]:
    """Returns the marker of the image's frame and its number of components; None and 0 without a whole frame."""
    found = ((marker, data[start + 5]) for marker, start, end in segments(data) if marker in FRAMES and end >= start + 6)
    return next(found, (None, 0))


def has_one_scan(data: bytes) -> bool:
    """Returns true if the first scan has all components of a sequential image."""
    marker, components = frame(data)
    scan = next((data[start] for one, start, end in segments(data) if one == SOS and end > start), None)
    return marker in BASELINE and scan == components


def with_usual_headers(data: bytes) -> bytes:
    """Replaces header values that libjpeg warns of and ignores: such a warning is its first, and it prints no other."""
    usual = bytearray(data)
    kind, components = frame(data)
    for marker, start, end in segments(data):
        if marker == APP0 and data[start : start + 5] == b"JFIF\0" and end >= start + 7:
            usual[start + 5] = 1
        elif marker == APP14 and data[start : start + 5] == b"Adobe" and end >= start + 12 and data[start + 11] > 2:
            # libjpeg assumes YCbCr, or YCCK of four components.
            usual[start + 11] = 2 if components == 4 else 1
        elif marker == SOS and kind in BASELINE and end >= start + 4:
            usual[end - 3 : end] = bytes((0, 63, 0))
    return bytes(usual)
