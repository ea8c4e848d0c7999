"""Tests that the rotary embedding is read from all forms of config.json that transformers writes."""

import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from hugging_face import Shape, read_shape
from torchscript import ExportError

CONFIG = json.loads(Path("deploy/models/configurations/llama3.1-8b.json").read_text())
PLAIN = {key: value for key, value in CONFIG.items() if not key.startswith("rope_")}


def shape(config: dict) -> Shape:
    """Returns the shape of a configuration."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        return read_shape(path)


class HuggingFaceTest(unittest.TestCase):
    def test_both_forms_are_read_alike(self) -> None:
        old = shape(CONFIG)
        self.assertEqual((old.theta, old.scaling["factor"]), (500000.0, 8.0))
        rope = CONFIG["rope_scaling"] | {"rope_theta": CONFIG["rope_theta"]}
        self.assertEqual(shape(PLAIN | {"rope_parameters": rope}), old)
        for rope in ({"rope_type": "default", "rope_theta": 7.0}, {"rope_theta": 7.0}):
            new = shape(PLAIN | {"rope_parameters": rope})
            self.assertEqual((new.theta, new.scaling), (7.0, None))

    def test_what_is_missing_or_not_supported_is_named(self) -> None:
        for key in ("rope_scaling", "rope_parameters"):
            for rope, words in (({"type": "llama3", "factor": 8}, "low_freq_factor"), ({"rope_type": "yarn"}, "yarn"),
                                ({"rope_type": "llama3", "factor": None}, "float"), ("llama3", "not a configuration")):
                with self.subTest(key=key, rope=rope), self.assertRaisesRegex(ExportError, words):
                    shape(PLAIN | {key: rope})


if __name__ == "__main__":
    unittest.main()
