"""Validates an SBOM by CycloneDX's schema, and that each dependency has its entry: sbom.py FILE."""

import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

text = Path(sys.argv[1]).read_text()
if error := JsonStrictValidator(SchemaVersion.V1_5).validate_str(text):
    sys.exit(f"{sys.argv[1]}: {error}")
sbom = json.loads(text)
components = {component["bom-ref"]: component["name"] for component in sbom["components"]}
references = {reference for entry in sbom["dependencies"] for reference in [entry["ref"], *entry["dependsOn"]]}
if unknown := references - components.keys() - {sbom["metadata"]["component"]["bom-ref"]}:
    sys.exit(f"{sys.argv[1]}: no component for {sorted(unknown)}")
if missing := {"loadgen-node", "sut-node", "mlcommons-loadgen", "tch", "rten"} - set(components.values()):
    sys.exit(f"{sys.argv[1]}: {sorted(missing)} are missing")
print(f"{len(components)} components")
