"""The pods of a rendered file: their settings, and the commands that they run.

    pods.py FILE CERTIFICATES FOLDER

lays out the pods of the rendered FILE in FOLDER/sut-node and FOLDER/loadgen-node: what is mounted at /etc/netdiv, and each
command as a script, `main` and `probe`. CERTIFICATES is what `loadgen-node certificates` has made.
"""

import shlex
import shutil
import sys
from pathlib import Path

import yaml

NODE, LOADGEN = "sut-node", "loadgen-node"
# Whose certificate each program has, in the files of `loadgen-node certificates`.
HOLDERS = {NODE: "netdiv-node", LOADGEN: "client"}
# Stands for the volume of models: it has a small resnet50.toml.
MODELS = Path(__file__).resolve().parents[2] / "models"
# Stands for the volume of data.
DATA = Path(__file__).resolve().parents[3] / "deploy" / "digits"


class Manifests:
    """One rendered file."""

    def __init__(self, file):
        self.file = file
        self.documents = [document for document in yaml.safe_load_all(file.read_text()) if document]
        # The template of each program's pods, and how many pods it makes.
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
        """The settings file of a program, as the pod sees it: its text."""
        template, _ = self.templates[program]
        names = {volume["configMap"]["name"] for volume in template["spec"]["volumes"] if "configMap" in volume}
        [data] = [document["data"] for document in self.of_kind("ConfigMap") if document["metadata"]["name"] in names]
        [text] = data.values()
        return text


def lay_out(manifests, program, certificates, folder):
    """Writes what a pod mounts to a folder; its commands, with the folder in place of the pod's paths."""
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
