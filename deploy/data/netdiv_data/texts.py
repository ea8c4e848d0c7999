"""Decodes text in any form that editors write: with a byte order mark, other line ends, or in UTF-16."""

import codecs


def decode(content: bytes) -> str:
    """Returns the text with LF line ends and ordinary spaces. Raises UnicodeDecodeError for bytes that are not text."""
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(dict.fromkeys((0xA0, 0x2007, 0x202F), " "))
