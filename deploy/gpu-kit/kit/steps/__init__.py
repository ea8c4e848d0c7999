"""The steps, group by group; importing this package registers them, in the order in which they run."""

from kit.steps import resnet50, tokens, networks, endurance, transport, switches  # noqa: F401, I001
