"""Checks manifests that `kubectl kustomize` made of deploy/kubernetes: Kubernetes' schemas, and the rules of the division.

    manifests.py PROGRAMS CERTIFICATES FILE…

PROGRAMS is the folder of the programs, CERTIFICATES a folder that `loadgen-node certificates` has made. Prints all errors; the exit
code is 1 if there are any.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import kubernetes_validate
import yaml

from pods import LOADGEN, NODE, Manifests, lay_out

# Custom resources, for which there is no complete schema.
CUSTOM = {"JobSet", "PodMonitor"}
PROMETHEUS = Path(__file__).resolve().parents[3] / "deploy" / "prometheus" / "prometheus.yml"


def schemas(manifests):
    for document in manifests.documents:
        for valid in [document] if document["kind"] not in CUSTOM else jobs_of(document):
            try:
                kubernetes_validate.validate(valid, kubernetes_validate.latest_version(), strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{valid['kind']} {valid['metadata']['name']}: {error.message} at {list(error.path)}"


def jobs_of(document):
    """Yields the jobs of a JobSet, which have a schema."""
    for job in document["spec"].get("replicatedJobs", []):
        yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job["name"]}, "spec": job["template"]["spec"]}


def selects(selector, labels):
    return set(selector.get("matchLabels", {}).items()) <= set(labels.items())


def apart(manifests):
    """Yields an error if a LoadGen node or a node may share a host with a node (N4)."""
    for program, (template, _) in manifests.templates.items():
        terms = template["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for other in (NODE, LOADGEN):
            if not any(
                term["topologyKey"] == "kubernetes.io/hostname" and selects(term["labelSelector"], manifests.labels(other))
                for term in terms
            ):
                yield f"{program} may share a host with {other}"


def restricted(manifests):
    """Yields violations of Kubernetes' profile `restricted`, and of further restrictions such as a read-only root."""
    for program, (template, _) in manifests.templates.items():
        spec = template["spec"]
        pod, container = spec["securityContext"], spec["containers"][0]["securityContext"]
        wanted = {
            "a numeric user other than root": isinstance(pod.get("runAsUser"), int) and pod["runAsUser"] > 0 and pod["runAsNonRoot"],
            "seccomp RuntimeDefault": pod["seccompProfile"]["type"] == "RuntimeDefault",
            "no token of a service account": spec["automountServiceAccountToken"] is False,
            "no variables of services": spec["enableServiceLinks"] is False,
            "no capabilities": container["capabilities"] == {"drop": ["ALL"]},
            "no escalation": container["allowPrivilegeEscalation"] is False,
            "a read-only root": container["readOnlyRootFilesystem"] is True,
            "one probe": spec["containers"][0].get("startupProbe", {}).get("exec") == spec["containers"][0].get("readinessProbe", {}).get("exec"),
            "one container": len(spec["containers"]) == 1,
            "limits equal to the requests": spec["containers"][0]["resources"]["limits"] == spec["containers"][0]["resources"]["requests"],
        }
        yield from (f"{program}: {what} is missing" for what, there in wanted.items() if not there)


def references(manifests):
    """Yields selectors without pods, mounts without volumes, volumes without their source, and results without a claim."""
    pods = {program: manifests.labels(program) for program in manifests.templates}
    for document in manifests.of_kind("Service"):
        found = [program for program, labels in pods.items() if selects({"matchLabels": document["spec"]["selector"]}, labels)]
        if found != [NODE]:
            yield f"Service {document['metadata']['name']} selects {found}"
    for document in manifests.of_kind("StatefulSet"):
        if not selects(document["spec"]["selector"], document["spec"]["template"]["metadata"]["labels"]):
            yield "the StatefulSet does not select its pods"
    for document in manifests.of_kind("NetworkPolicy") + manifests.of_kind("PodMonitor"):
        selectors = [document["spec"].get("podSelector", document["spec"].get("selector"))]
        for rule in document["spec"].get("ingress", []) + document["spec"].get("egress", []):
            selectors += [peer["podSelector"] for peer in rule.get("from", []) + rule.get("to", []) if "podSelector" in peer]
        for selector in selectors:
            if not any(selects(selector, labels) for labels in pods.values()):
                yield f"{document['kind']} {document['metadata']['name']} selects no pods: {selector}"
    named = {(document["kind"], document["metadata"]["name"]) for document in manifests.documents}
    for program, (template, _) in manifests.templates.items():
        volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
        mounted = {mount["name"] for mount in template["spec"]["containers"][0]["volumeMounts"]}
        if mounted != set(volumes):
            yield f"{program}: volumes and mounts differ: {mounted ^ set(volumes)}"
        for volume in volumes.values():
            for kind, key in (("ConfigMap", "configMap"), ("PersistentVolumeClaim", "persistentVolumeClaim")):
                if key in volume and (kind, volume[key].get("name", volume[key].get("claimName"))) not in named:
                    yield f"{program}: missing {kind} for the volume {volume['name']}"
    results = [v for v in manifests.templates[LOADGEN][0]["spec"]["volumes"] if "persistentVolumeClaim" in v and v["name"] == "results"]
    if not results:
        yield "results do not outlive their Job"


def ports(manifests, default):
    """Yields ports that differ from the program's default, and errors in the ports of metrics."""
    container = manifests.templates[NODE][0]["spec"]["containers"][0]
    found = {port["containerPort"] for port in container["ports"] if port["name"] in ("grpc", "quic")}
    [service] = manifests.of_kind("Service")
    found |= {port["port"] for port in service["spec"]["ports"]}
    for policy in manifests.of_kind("NetworkPolicy"):
        if policy["metadata"]["name"] == "netdiv-node":
            found |= {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    found |= {int(port) for port in re.findall(r"^(?:listen|nodes) = .*:(\d+)\"", manifests.config(NODE) + manifests.config(LOADGEN), re.M)}
    if found != {default}:
        yield f"ports {found}, but sut-node listens on {default}"
    # Probes use loopback, also if --metrics has all addresses; the port is the same.
    loopback = re.search(r'^metrics = "127\.0\.0\.1:(\d+)"$', manifests.config(NODE), re.M)
    if not loopback:
        yield "node.toml has no metrics for the probes"
    # The port that a PodMonitor names is that of --metrics, and a policy allows Prometheus to connect.
    for monitor in manifests.of_kind("PodMonitor"):
        for program, (template, _) in manifests.templates.items():
            container = template["spec"]["containers"][0]
            [port] = [port["containerPort"] for port in container["ports"] if port["name"] == monitor["spec"]["podMetricsEndpoints"][0]["port"]]
            if loopback and int(loopback[1]) != port:
                yield f"node.toml has metrics on port {loopback[1]}, the PodMonitor uses port {port}"
            if f"--metrics=0.0.0.0:{port}" not in container["args"]:
                yield f"{program}: --metrics is not on port {port}"
            if not any(
                {"port": port, "protocol": "TCP"} in rule["ports"] for policy in manifests.of_kind("NetworkPolicy") for rule in policy["spec"].get("ingress", [])
            ):
                yield f"no NetworkPolicy allows Prometheus to reach port {port}"


def jobs(manifests):
    """Yields an error if Prometheus' jobs do not have the names that the alerts use."""
    known = {job["job_name"] for job in yaml.safe_load(PROMETHEUS.read_text())["scrape_configs"]}
    for monitor in manifests.of_kind("PodMonitor"):
        rules = monitor["spec"]["podMetricsEndpoints"][0]["relabelings"]
        if {rule["replacement"] for rule in rules if rule["targetLabel"] == "job"} != known:
            yield f"the PodMonitor's jobs are not {known}"
        if {rule["regex"] for rule in rules} != {manifests.labels(program)["app.kubernetes.io/component"] for program in manifests.templates}:
            yield "the PodMonitor names an unknown component"


def discovery(manifests):
    """Yields an error if a run waits for another number of nodes than there are, or for another name than the Service's."""
    _, count = manifests.templates[NODE]
    expected = re.search(r"^nodes_expected = (\d+)$", manifests.config(LOADGEN), re.M)
    if not expected or int(expected[1]) != count:
        yield f"run.toml waits for {expected and expected[1]} nodes, but there are {count}"
    [service] = manifests.of_kind("Service")
    if f"dns:{service['metadata']['name']}:" not in manifests.config(LOADGEN):
        yield "run.toml does not use the Service's name"


def settings(manifests, programs, certificates):
    """Yields an error if the programs reject the pods' command lines or settings files."""
    # Replaces the Service's name, which has no addresses here.
    nodes = ["--nodes", f"node[1-{manifests.templates[NODE][1]}]"]
    for program in (NODE, LOADGEN):
        with tempfile.TemporaryDirectory() as folder:
            commands = lay_out(manifests, program, certificates, Path(folder))
            file, *arguments = commands["main"]
            question = [*(nodes if program == LOADGEN else []), "--print-config"]
            done = subprocess.run([programs / file, *arguments, *question], capture_output=True, text=True, timeout=60)
            if done.returncode != 0:
                yield f"{file} {' '.join(arguments)}: {done.stderr.strip()}"


def same_pods(base, other):
    """Yields an error if a variant's pods differ from the base's."""
    for program in (NODE, LOADGEN):
        left, right = base.templates[program][0], other.templates[program][0]
        if {**left["spec"], "restartPolicy": None} != {**right["spec"], "restartPolicy": None} or left["metadata"] != right["metadata"]:
            yield f"the pods of {program} differ from {base.file.name}"


def main():
    programs, certificates, *files = map(Path, sys.argv[1:])
    text = subprocess.run([programs / NODE, "--help"], capture_output=True, text=True, check=True).stdout
    [default] = set(re.findall(r"default: 127\.0\.0\.1:(\d+)", text))
    every = [Manifests(file) for file in files]
    wrong = 0
    for manifests in every:
        found = [*schemas(manifests), *apart(manifests), *restricted(manifests), *references(manifests)]
        found += [*ports(manifests, int(default)), *jobs(manifests), *discovery(manifests), *settings(manifests, programs, certificates)]
        if manifests.of_kind("JobSet"):
            found += same_pods(every[0], manifests)
        wrong += len(found)
        for complaint in found:
            print(f"{manifests.file.name}: {complaint}")
        skipped = [document["kind"] for document in manifests.documents if document["kind"] in CUSTOM]
        print(f"{manifests.file.name}: {len(manifests.documents)} objects" + (f"; no schema here for {', '.join(skipped)}" if skipped else ""))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
