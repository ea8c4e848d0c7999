"""Puts README, CONTRIBUTING, SECURITY and docs/ together as the source of a book for mdBook: `python3 docs/book.py FOLDER`.

Keeps the files' relative places, so that links between them hold. A link to any other file becomes its text, because the
book does not contain sources. Fails if a page of docs/ is missing in CHAPTERS.
"""

import re
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
CHAPTERS = {
    "For users": ["docs/README", "docs/QUICKSTART", "docs/SCOPE", "docs/GLOSSARY", "docs/OPERATING", "docs/ENGINES", "docs/SWEEP", "docs/FABRIC",
                  "docs/SUBMISSION", "docs/DEPLOYMENT", "docs/RECORDS", "docs/RELIABILITY"],
    "For auditors and developers": ["docs/AUDITING", "docs/RULES", "docs/PROTOCOL", "docs/BENCHMARKING", "docs/ARCHITECTURE", "SECURITY", "CONTRIBUTING"],
}
FOLDERS = {"Generated tables": "generated", "Decisions": "adr"}
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def title(page):
    return next(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("# ")).removeprefix("# ")


def entry(page):
    return f"- [{title(page)}]({page.relative_to(REPOSITORY)})"


def summary():
    """Returns the table of contents that mdBook reads, and the pages that it names."""
    parts = [(name, [REPOSITORY / f"{page}.md" for page in pages]) for name, pages in CHAPTERS.items()]
    listed = {page for _, pages in parts for page in pages}
    if lacking := set((REPOSITORY / "docs").glob("*.md")) - listed:
        sys.exit(f"docs/book.py: add to CHAPTERS: {', '.join(sorted(page.name for page in lacking))}")
    parts += [(name, sorted((REPOSITORY / "docs" / folder).glob("*.md"))) for name, folder in FOLDERS.items()]
    lines = ["# Summary", "", "[netdiv](README.md)"]
    for name, pages in parts:
        lines += ["", f"# {name}", "", *map(entry, pages)]
    return "\n".join(lines) + "\n", [REPOSITORY / "README.md"] + [page for _, pages in parts for page in pages]


def main():
    book = Path(sys.argv[1])
    shutil.rmtree(book, ignore_errors=True)
    text, pages = summary()
    pictures = [path for path in (REPOSITORY / "docs").rglob("*") if path.suffix in (".svg", ".png")]
    known = {path.resolve() for path in pages + pictures}
    for path in pages + pictures:
        target = book / path.relative_to(REPOSITORY)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
        if path in pages:
            is_inside = lambda link: "://" in link or link.startswith("#") or (path.parent / link.split("#")[0]).resolve() in known
            content = LINK.sub(lambda found: found[0] if is_inside(found[2]) else found[1], path.read_text(encoding="utf-8"))
            target.write_text(content, encoding="utf-8")
    (book / "SUMMARY.md").write_text(text, encoding="utf-8")
    shutil.copy(REPOSITORY / "docs/book.toml", book)


if __name__ == "__main__":
    main()
