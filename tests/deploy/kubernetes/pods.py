"""Pods of a rendered file: their settings and commands.

    pods.py FILE CERTIFICATES FOLDER

writes the pods of the rendered FILE to FOLDER/sut-node and FOLDER/loadgen-node: the files that are mounted at /etc/netdiv, and each
command as a script, `main` and `probe`. CERTIFICATES is a folder that `loadgen-node certificates` has made.
"""

import shlex
import shutil
import sys
from pathlib import Path

import yaml

NODE, LOADGEN = "sut-node", "loadgen-node"
# Holder of each program's certificate, in the files of `loadgen-node certificates`.
HOLDERS = {NODE: "netdiv-node", LOADGEN: "client"}
# Replaces the volume of models; contains a small resnet50.toml.
MODELS = Path(__file__).resolve().parents[2] / "models"
# Replaces the volume of data.
DATA = Path(__file__).resolve().parents[3] / "deploy" / "digits"


class Manifests:
    """Rendered file."""

    def __init__(self, file):
        self.file = file
        self.documents = [document for document in yaml.safe_load_all(file.read_text()) if document]
        # Template and number of each program's pods.
        self.templates = {}
        for document in self.documents:
            if document["kind"] in ("StatefulSet", "Job"):
                self.add(document["spec"]["template"], document["spec"].get("replicas", 1))
            for job in document["spec"].get("replicatedJobs", []) if document["kind"] == "JobSet" else []:
                self.add(job["template"]["spec"]["template"], job["template"]["spec"].get("completions", 1) * job["replicas"])

    def add(self, template, count):
        self.templates[template["spec"]["containers"][0]["name"]] = (template, count)

    def of_kind(self, kind):
        return [document for document in self.documents if document["kind"] == kind]

    def labels(self, program):
        return self.templates[program][0]["metadata"]["labels"]

    def config(self, program):
        """Returns the text of a program's settings file, as in its pod."""
        template, _ = self.templates[program]
        names = {volume["configMap"]["name"] for volume in template["spec"]["volumes"] if "configMap" in volume}
        [data] = [document["data"] for document in self.of_kind("ConfigMap") if document["metadata"]["name"] in names]
        [text] = data.values()
        return text


def lay_out(manifests, program, certificates, folder):
    """Writes a pod's mounted files to a folder; returns its commands, with the folder instead of the pod's paths."""
    mounts = folder / "etc"
    places = {"/etc/netdiv": mounts, "/models": MODELS, "/results": folder / "results", "$(POD_NAME)": "pod"}
    places |= {"/data/resnet50.npy": DATA / "images.npy", "/data/resnet50-labels.npy": DATA / "labels.npy"}

    def here(text):
        for there, place in places.items():
            text = text.replace(there, str(place))
        return text

    (mounts / "tls").mkdir(parents=True)
    (folder / "results").mkdir()
    for there, name in {"ca.pem": "ca.pem", "tls.pem": f"{HOLDERS[program]}.pem", "tls.key": f"{HOLDERS[program]}.key"}.items():
        shutil.copy(certificates / name, mounts / "tls" / there)
    container = manifests.templates[program][0]["spec"]["containers"][0]
    [settings] = [Path(mount["mountPath"]) for mount in container["volumeMounts"] if mount["name"] == "settings"]
    (mounts / settings.name).write_text(here(manifests.config(program)))
    commands = {"main": [*container["command"], *container.get("args", [])]}
    if "readinessProbe" in container:
        commands["probe"] = container["readinessProbe"]["exec"]["command"]
    return {name: [here(word) for word in command] for name, command in commands.items()}


def main():
    file, certificates, folder = map(Path, sys.argv[1:])
    manifests = Manifests(file)
    for program in (NODE, LOADGEN):
        for name, command in lay_out(manifests, program, certificates, folder / program).items():
            (folder / program / name).write_text(f"exec {shlex.join(command)}\n")


if __name__ == "__main__":
    main()
