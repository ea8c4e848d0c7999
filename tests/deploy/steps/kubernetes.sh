#!/usr/bin/env bash
# deploy/kubernetes rendered by kubectl, compared with Kubernetes' schemas, the rules (N4) and the programs' settings
. "$(dirname "$0")/../common.sh"
install python3-venv iproute2 util-linux procps

# Debian's kubectl is from 2021 and supports neither components nor folders as resources: it renders only the base. It is unpacked, not
# installed, since another package of the same name may be installed.
kubectl=$(command -v kubectl || true)
if [ -z "$kubectl" ]; then
    apt-get update -qq
    (cd "$OUT" && apt-get download -qq kubernetes-client && dpkg-deb --extract kubernetes-client*.deb kubectl)
    kubectl=$OUT/kubectl/usr/bin/kubectl
fi
python3 -m venv "$OUT/python"
"$OUT/python/bin/pip" install --quiet --disable-pip-version-check -r "$repository/tests/deploy/kubernetes/requirements.txt"

# As in docs/DEPLOYMENT.md.
"$BIN/loadgen-node" certificates --hosts netdiv-node --output "$OUT/certificates"
rendered=()
for folder in base jobset example; do
    if [ $folder != base ] && [[ $("$kubectl" version --client 2>&1) == *v1.20.* ]]; then
        echo "not rendered: $folder: this kubectl is too old"
        continue
    fi
    "$kubectl" kustomize "$repository/deploy/kubernetes/$folder" >"$OUT/$folder.yaml"
    rendered+=("$OUT/$folder.yaml")
done
python() { "$OUT/python/bin/python" "$@"; }
check=$repository/tests/deploy/kubernetes
python "$check/manifests.py" "$BIN" "$OUT/certificates" "${rendered[@]}"

# Checks that manifests.py reports an error: WORDS SED. SED changes the manifests.
found() {
    sed -E "$2" "$OUT/base.yaml" >"$OUT/wrong.yaml"
    if python "$check/manifests.py" "$BIN" "$OUT/certificates" "$OUT/wrong.yaml" >"$OUT/wrong.txt"; then
        fail "no errors are reported after $2"
    fi
    grep -q "$1" "$OUT/wrong.txt" || { cat "$OUT/wrong.txt"; fail "\"$1\" is not reported after $2"; }
}
found 'may share a host' 's/kubernetes.io.hostname/topology.kubernetes.io\/zone/'
found 'a numeric user' 's/runAsUser: .*/runAsUser: 0/'
found 'a read-only root' 's/readOnlyRootFilesystem: true/readOnlyRootFilesystem: false/'
found 'no capabilities' 's/- ALL/- NET_RAW/'
found 'selects no pods' "/kind: NetworkPolicy/,\$s/component: loadgen-node/component: loadgen/"
found 'ports' 's/50051/50052/'
found 'run.toml waits for' 's/replicas: 2/replicas: 3/'
found 'there is no such setting' 's/engine = /engines = /'
found 'Additional properties\|additional properties' 's/replicas: 2/replica: 2/'
found 'missing PersistentVolumeClaim' 's/claimName: .*/claimName: nowhere/'

in_namespaces "$check/run_pods.sh" "$OUT/python/bin/python" "$check/pods.py" "$OUT/base.yaml" "$OUT/certificates"
