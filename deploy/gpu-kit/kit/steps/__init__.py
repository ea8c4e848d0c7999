"""The steps. Importing this package registers them; steps of a group run in the order of registration."""

from kit.steps import resnet50, tokens, networks, compiled, endurance, transport, switches, short  # noqa: F401, I001
