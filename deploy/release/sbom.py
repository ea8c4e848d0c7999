"""Writes the SBOM of the programs and of the plug-in torch, in CycloneDX's format, with cargo-cyclonedx.

    python3 sbom.py VERSION TOOL OUTPUT

TOOL is the program cargo-cyclonedx. It writes an SBOM into each crate's folder, of a copy of the commit; OUTPUT has those of the files that
are released, and LoadGen, which no lock file names. SOURCE_DATE_EPOCH is its time.
"""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
# Folders of the crates that are released, by the options that deploy/release/build.sh has for their features.
CRATES = {(): ["sut-node/program", "loadgen-node", "sut-node/engine-torch"], ("--no-default-features",): ["tools"]}


def documents(tool, copy):
    """Returns the SBOM of each crate, with the place of a clone instead of the copy's."""
    archive = subprocess.run(["git", "-C", HOME, "archive", "HEAD"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", copy], input=archive, check=True)
    command = [tool, "cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--no-build-deps"]
    command += ["--target", f"{platform.machine()}-unknown-linux-gnu"]
    for options, folders in CRATES.items():
        subprocess.run([*command, *options], cwd=copy, check=True)
        for folder in folders:
            [file] = Path(copy, folder).glob("*.cdx.json")
            yield json.loads(file.read_text().replace(f"file://{copy}", "file:///netdiv"))


def loadgen():
    """Returns the component LoadGen: the pinned release that the build script of loadgen-sys takes."""
    pins = (HOME / "loadgen-node/loadgen-sys/build.rs").read_text()
    releases = dict(re.findall(r'version: "(.+)",\s+commit: ".+",\s+sha256: "(.+)"', pins))
    version = os.environ.get("NETDIV_LOADGEN_RELEASE") or list(releases)[-1]
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/mlcommons-loadgen@{version}",
        "name": "mlcommons-loadgen",
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": releases[version]}],
        "purl": f"pkg:pypi/mlcommons-loadgen@{version}",
    }


def main(version, tool, output):
    with tempfile.TemporaryDirectory() as copy:
        parts = list(documents(tool, copy))
    components, needs = {}, {}
    for part in parts:
        crate = part["metadata"]["component"]
        crate.pop("components", None)
        for component in [crate, *part["components"]]:
            components[component["bom-ref"]] = component
        for dependency in part["dependencies"]:
            needs.setdefault(dependency["ref"], set()).update(dependency.get("dependsOn", []))
    crates = [part["metadata"]["component"]["bom-ref"] for part in parts]
    whole, source = parts[0], loadgen()
    components[source["bom-ref"]] = source
    for reference, component in components.items():
        if component["name"] == "loadgen-sys":
            needs.setdefault(reference, set()).add(source["bom-ref"])
    needs["netdiv"] = set(crates)
    whole["metadata"]["component"] = {"type": "application", "bom-ref": "netdiv", "name": "netdiv", "version": version}
    whole["components"] = [components[reference] for reference in sorted(components)]
    whole["dependencies"] = [{"ref": reference, "dependsOn": sorted(needs[reference])} for reference in sorted(needs)]
    Path(output).write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
