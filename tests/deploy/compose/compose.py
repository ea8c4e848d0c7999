"""Checks deploy/compose: images, restrictions, ports and mounts, and that the files beside it name its services.

    compose.py FOLDER

FOLDER has a copy of the files in deploy/compose. Prints all errors; the exit code is 1 if there are any. Needs ruamel.yaml, which check-jsonschema
requires.
"""

import re
import sys
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

REPOSITORY = Path(__file__).resolve().parents[3]
# Folder to which paths in compose.yaml are relative.
HOME = REPOSITORY / "deploy/compose"
NODE, SERVER, PROMETHEUS, GRAFANA = "node", "server", "prometheus", "grafana"
# Hosts outside of the services.
OUTSIDE = {"host.docker.internal"}
# Sources of mounts that the operator provides.
PROVIDED = {"MODEL", "MODEL_FILE"}


def read(path):
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


class Compose:
    """The files of deploy/compose, with the variables of .env in place."""

    def __init__(self, folder):
        self.folder = folder
        lines = [line for line in (folder / ".env").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
        self.variables = dict(line.split("=", 1) for line in lines)
        self.used = set()
        text = (folder / "compose.yaml").read_text(encoding="utf-8")
        self.document = YAML(typ="safe").load(re.sub(r"\$\{(\w+)\}", self.value, text))
        self.services = self.document["services"]
        self.node = tomllib.loads((folder / "node.toml").read_text(encoding="utf-8"))
        self.prometheus = read(folder / "prometheus.yml")

    def value(self, found):
        self.used.add(found[1])
        return self.variables.get(found[1], f"UNSET_{found[1]}")

    def mounts(self, service):
        """Yields source, target, and whether it is read-only, of each mount of a service."""
        for mount in self.services[service].get("volumes", []):
            if isinstance(mount, dict):
                yield mount["source"], mount["target"], mount.get("read_only", False)
            else:
                source, target, *mode = mount.split(":")
                yield source, target, mode == ["ro"]

    def ports(self, service):
        """Yields address, port outside and port inside of each published port of a service."""
        for port in self.services[service].get("ports", []):
            address, outside, inside = port.partition("/")[0].rsplit(":", 2)
            yield address, int(outside), int(inside)


def images(compose):
    if compose.used != set(compose.variables):
        yield f".env and compose.yaml differ in {compose.used ^ set(compose.variables)}"
    for name, service in compose.services.items():
        if not re.search(r":v?\d+\.\d+\.\d+$", service["image"]):
            yield f"{name}: the image {service['image']} has no version as its tag"
    version = tomllib.loads((REPOSITORY / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    node = compose.services[NODE]
    if node["image"].rpartition(":")[2] != version:
        yield f"{NODE}: the image {node['image']} is not of version {version}"
    build = node["build"]
    recipe = HOME / build["context"] / build["dockerfile"]
    if not recipe.is_file() or not re.search(rf"^FROM \S+ AS {build['target']}$", recipe.read_text(encoding="utf-8"), re.M):
        yield f"{NODE}: {build['dockerfile']} has no target {build['target']}"
    if build["args"]["IMAGE"] != node["image"]:
        yield f"{NODE}: the evidence would name the image {build['args']['IMAGE']}"


def restricted(compose):
    for name, service in compose.services.items():
        wanted = {
            "no capabilities": service.get("cap_drop") == ["ALL"] and "cap_add" not in service,
            "no new privileges": service.get("security_opt") == ["no-new-privileges:true"] and not service.get("privileged"),
            "a network of its own": not {"network_mode", "ipc", "pid"} & set(service),
        }
        # The server's image does not run otherwise.
        if name != SERVER:
            wanted["a read-only root"] = service.get("read_only") is True
            wanted["a numeric user other than root"] = re.fullmatch(r"[1-9]\d*(:\d+)?", str(service.get("user"))) is not None
        yield from (f"{name}: {what} is missing" for what, there in wanted.items() if not there)
        for address, outside, _ in compose.ports(name):
            if address != "127.0.0.1":
                yield f"{name}: port {outside} can be reached from other machines"


def mounts(compose):
    provided = {compose.variables.get(name) for name in PROVIDED}
    for name in compose.services:
        for source, target, is_read_only in compose.mounts(name):
            if "/" not in source:
                if source not in compose.document["volumes"]:
                    yield f"{name}: missing volume {source}"
            elif not is_read_only:
                yield f"{name}: {target} is not read-only"
            elif source not in provided and not (HOME / source).is_file():
                yield f"{name}: missing file {source}"


def node(compose):
    """Yields differences between node.toml, its service, and the server."""
    listen = int(compose.node["listen"].rpartition(":")[2])
    if {inside for _, _, inside in compose.ports(NODE)} != {listen}:
        yield f"node.toml listens on port {listen}, which is not published"
    targets = [target for _, target, _ in compose.mounts(NODE)]
    for path in (compose.node["model"], "/etc/netdiv/node.toml"):
        if path not in targets:
            yield f"{NODE}: {path} is not mounted"
    port = next((option.split("=")[1] for option in compose.services[SERVER]["command"] if option.startswith("--port=")), None)
    if compose.node["url"] != [f"http://{SERVER}:{port}"]:
        yield f"node.toml has the servers {compose.node['url']}, but {SERVER} listens on port {port}"


def server(compose):
    """Yields differences between the server's options and those of `vllm serve` in docs/QUICKSTART.md."""
    page = (REPOSITORY / "docs/QUICKSTART.md").read_text(encoding="utf-8")
    command = re.search(r"^vllm serve \S+ (.*?) &$", page, re.M | re.S)[1]
    pairs = re.findall(r"(--[\w-]+)(?: (?!--)([^\s\\]+))?", command)
    wanted = {f"{option}={value}" if value else option for option, value in pairs if option != "--host"}
    folder, *options = compose.services[SERVER]["command"]
    found = {option for option in options if not option.startswith("--host=")}
    if wanted != found:
        yield f"{SERVER} and docs/QUICKSTART.md differ in {wanted ^ found}"
    if folder not in [target for _, target, _ in compose.mounts(SERVER)]:
        yield f"{SERVER}: {folder} is not mounted"


def monitoring(compose):
    """Yields jobs, targets and rules that differ from deploy/prometheus or from the services, and paths that Grafana lacks."""
    origin = read(REPOSITORY / "deploy/prometheus/prometheus.yml")
    jobs = {job["job_name"]: job["static_configs"][0]["targets"] for job in compose.prometheus["scrape_configs"]}
    if lacking := {job["job_name"] for job in origin["scrape_configs"]} - set(jobs):
        yield f"prometheus.yml lacks the jobs {lacking}"
    for key in ("global", "rule_files"):
        if compose.prometheus[key] != origin[key]:
            yield f"prometheus.yml differs from deploy/prometheus in {key}"
    for job, targets in jobs.items():
        for target in targets:
            if target.rpartition(":")[0] not in OUTSIDE | set(compose.services):
                yield f"the job {job} has the unknown host {target}"
    metrics = compose.node["metrics"].rpartition(":")[2]
    if jobs.get("netdiv-nodes") != [f"{NODE}:{metrics}"]:
        yield f"node.toml has metrics on port {metrics}, prometheus.yml asks {jobs.get('netdiv-nodes')}"
    [source] = read(compose.folder / "grafana/datasources.yml")["datasources"]
    ports = [inside for _, _, inside in compose.ports(PROMETHEUS)]
    if source["url"] not in [f"http://{PROMETHEUS}:{port}" for port in ports]:
        yield f"Grafana asks {source['url']}"
    [provider] = read(compose.folder / "grafana/dashboards.yml")["providers"]
    home = compose.services[GRAFANA]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    targets = [target for _, target, _ in compose.mounts(GRAFANA)]
    if home not in targets or not home.startswith(f"{provider['options']['path']}/"):
        yield f"Grafana has no dashboard {home} in {provider['options']['path']}"


def main():
    compose = Compose(Path(sys.argv[1]))
    checks = (images, restricted, mounts, node, server, monitoring)
    errors = [error for check in checks for error in check(compose)]
    for error in errors:
        print(error)
    print(f"{len(compose.services)} services, {len(errors)} errors")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
