"""The steps; importing this package registers them, those of a group in the order in which they run."""

from kit.steps import resnet50, tokens, networks, compiled, endurance, transport, switches  # noqa: F401, I001
