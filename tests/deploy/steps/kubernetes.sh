#!/usr/bin/env bash
# deploy/kubernetes rendered by kubectl, against Kubernetes' schemas, the rules (N4) and the programs' own settings
. "$(dirname "$0")/../common.sh"
install python3-venv

# Debian's kubectl is from 2021 and knows no components: it renders the base alone. It is unpacked, not installed, because
# other packages of the same name may be there.
kubectl=$(command -v kubectl || true)
if [ -z "$kubectl" ]; then
    apt-get update -qq
    (cd "$OUT" && apt-get download -qq kubernetes-client && dpkg-deb --extract kubernetes-client*.deb kubectl)
    kubectl=$OUT/kubectl/usr/bin/kubectl
fi
python3 -m venv "$OUT/python"
"$OUT/python/bin/pip" install --quiet --disable-pip-version-check -r "$repository/tests/deploy/kubernetes/requirements.txt"

# As the README says.
"$BIN/loadgen-node" certificates --hosts netdiv-node --output "$OUT/certificates"
rendered=()
for folder in base jobset example; do
    if [ $folder != base ] && [[ $("$kubectl" version --client 2>&1) == *v1.20.* ]]; then
        echo "not rendered: $folder; this kubectl knows no components"
        continue
    fi
    "$kubectl" kustomize "$repository/deploy/kubernetes/$folder" >"$OUT/$folder.yaml"
    rendered+=("$OUT/$folder.yaml")
done
"$OUT/python/bin/python" "$repository/tests/deploy/kubernetes/manifests.py" "$BIN" "$OUT/certificates" "${rendered[@]}"
