"""Counts the hand-written words of the documents: README, CONTRIBUTING, SECURITY, and docs/ without adr/, upstream/ and generated/.

Blocks between `<!-- NAME: begin -->` and `<!-- NAME: end -->` are written by programs or equal their texts, and do not count. Prints a line for
each document; fails if there are more words than LIMIT, or more than README_LIMIT in README.md before its map, and if a term is
defined both for users (GLOSSARY.md) and for developers (ARCHITECTURE.md).
"""

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LIMIT = 33_000
README_LIMIT = 650
MAP = "\n## Where things are\n"
GENERATED = re.compile(r"<!-- (\S+): begin -->.*?<!-- \1: end -->", re.DOTALL)


def words(text):
    return len(GENERATED.sub("", text).split())


def terms(document, heading):
    """Returns the first cells of the tables below a heading, up to the next heading of its level."""
    _, _, text = (REPOSITORY / "docs" / document).read_text(encoding="utf-8").partition(heading)
    level = heading.partition(" ")[0] + " "
    section = text.partition(f"\n{level}")[0]
    if not section.strip():
        sys.exit(f"docs/{document} has no {heading.strip()!r}")
    cells = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    return {term for cell in cells for term in cell.split(", ")} - {"term"}


def main():
    names = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
    documents = [REPOSITORY / name for name in names] + sorted((REPOSITORY / "docs").glob("*.md"))
    counts = {document: words(document.read_text(encoding="utf-8")) for document in documents}
    for document, count in counts.items():
        print(f"{count:6} {document.relative_to(REPOSITORY)}")
    total = sum(counts.values())
    before_map, found, _ = documents[0].read_text(encoding="utf-8").partition(MAP)
    print(f"{total:6} of at most {LIMIT}; README.md before its map {words(before_map)} of at most {README_LIMIT}")
    if not found:
        sys.exit(f"README.md has no heading {MAP.strip()!r}")
    if twice := terms("GLOSSARY.md", "# Glossary\n") & terms("ARCHITECTURE.md", "## Terms of the code\n"):
        sys.exit(f"defined in GLOSSARY.md and in ARCHITECTURE.md: {', '.join(sorted(twice))}")
    if total > LIMIT or words(before_map) > README_LIMIT:
        sys.exit("too many words: shorten the documents")


if __name__ == "__main__":
    main()
