"""Changes a copy of deploy/compose/compose.yaml for a machine without GPUs: the image IMAGE as server, and the machine's network in place of
one with names.

    without_gpu.py FILE IMAGE
"""

import sys
from pathlib import Path

from ruamel.yaml import YAML

file, image = Path(sys.argv[1]), sys.argv[2]
yaml = YAML()
compose = yaml.load(file.read_text(encoding="utf-8"))
server, node = compose["services"]["server"], compose["services"]["node"]
server["image"] = image
del server["deploy"], node["build"], node["ports"]
for service in (server, node):
    service["network_mode"] = "host"
node["extra_hosts"] = ["server:127.0.0.1"]
yaml.dump(compose, file)
