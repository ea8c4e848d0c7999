"""Pages of docs/ that messages, comments and settings files name."""

import re
import unittest

from sources import REPOSITORY, sources

PAGE = re.compile(r"(?<![\w/.-])docs/(?!NAME)([A-Z]+\.md)(?:#([\w-]+))?")


def anchors(page):
    """Returns the anchors of a page's headings."""
    headings = [line.lstrip("#").strip().lower() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}


class Pages(unittest.TestCase):
    def test_each_page_and_heading_exists(self):
        named = {}
        for path in sources(".rs", ".toml", ".j2", ".py", ".sh", ".yaml", ".service"):
            for page, heading in PAGE.findall((REPOSITORY / path).read_text(encoding="utf-8")):
                named.setdefault((page, heading), path)
        self.assertGreater(len(named), 10)
        for (name, heading), path in named.items():
            page = REPOSITORY / "docs" / name
            with self.subTest(path=path, page=name, heading=heading):
                self.assertTrue(page.exists())
                self.assertIn(heading, anchors(page) | {""})


if __name__ == "__main__":
    unittest.main()
