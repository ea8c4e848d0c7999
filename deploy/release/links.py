"""Turns the links of documents that lead nowhere into text: a release does not have all of the sources.

    python3 links.py FOLDER
"""

import re
import sys
from pathlib import Path

# Web addresses have a colon, links within a page begin with "#".
LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")


def main(folder):
    for page in folder.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        kept = LINK.sub(lambda link: link[0] if (page.parent / link[2]).exists() else link[1], text)
        if kept != text:
            page.write_text(kept, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
