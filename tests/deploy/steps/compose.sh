#!/usr/bin/env bash
# deploy/compose against the schema of Compose, the restrictions of the images, the programs' settings, promtool and docs/QUICKSTART.md
. "$(dirname "$0")/../common.sh"
install prometheus python3-venv

here=$repository/tests/deploy/compose
python3 -m venv "$OUT/python"
"$OUT/python/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
cp -r "$repository/deploy/compose" "$OUT/compose"
"$OUT/python/bin/check-jsonschema" --builtin-schema vendor.compose-spec "$OUT/compose/compose.yaml"
"$OUT/python/bin/python" "$here/compose.py" "$OUT/compose"

# Checks that compose.py reports an error: WORDS FILE SED. SED changes the file.
found() {
    rm -rf "$OUT/wrong"
    cp -r "$OUT/compose" "$OUT/wrong"
    sed -i -E "$3" "$OUT/wrong/$2"
    if "$OUT/python/bin/python" "$here/compose.py" "$OUT/wrong" >"$OUT/wrong.txt"; then fail "no errors are reported after $3"; fi
    grep -q "$1" "$OUT/wrong.txt" || { cat "$OUT/wrong.txt"; fail "\"$1\" is not reported after $3"; }
}
found 'no version as its tag' compose.yaml 's/(grafana.grafana):.*/\1:latest/'
found 'is not of version' .env 's/netdiv-node:.*/netdiv-node:9.9.9/'
found 'no target' compose.yaml 's/target: node$/target: nodes/'
found 'no capabilities' compose.yaml 's/cap_drop: .*/cap_drop: [NET_RAW]/'
found 'a read-only root' compose.yaml '/read_only: true$/d'
found 'a numeric user' compose.yaml 's/65532:65532/0:65532/'
found 'from other machines' compose.yaml 's/127.0.0.1:3000/0.0.0.0:3000/'
found 'missing file' compose.yaml 's/alerts.yml/alarms.yml/'
found 'which is not published' node.toml 's/50051/50052/'
found 'node.toml has the servers' node.toml 's/server:8000/vllm:8000/'
found 'QUICKSTART.md differ' compose.yaml '/no-enable-prefix-caching/d'
found 'lacks the jobs' prometheus.yml 's/netdiv-nodes/nodes/'
found 'unknown host' prometheus.yml 's/server:8000/vllm:8000/'
found 'node.toml has metrics' node.toml 's/:9400/:9464/'
found 'Grafana asks' grafana/datasources.yml 's/9090/9091/'
found 'Grafana has no dashboard' grafana/dashboards.yml 's/dashboards$/boards/'

# The node accepts its settings, with the file that `loadgen-node model` makes.
"$BIN/loadgen-node" model "$repository/tests/documents/Llama-3.1-8B-Instruct" --benchmark llama3.1-8b --output "$OUT/model.toml"
sed "s|/etc/netdiv/model.toml|$OUT/model.toml|" "$OUT/compose/node.toml" >"$OUT/node.toml"
"$BIN/sut-node" --config "$OUT/node.toml" --print-config >"$OUT/printed.toml"
# shellcheck disable=SC1091 # the file has assignments alone
name=$(. "$OUT/compose/.env" && echo "$MODEL_NAME")
grep -qxF "name = \"$name\"" "$OUT/model.toml" || fail "MODEL_NAME in .env is not the name in the model's file"

mkdir "$OUT/prometheus"
cp "$OUT/compose/prometheus.yml" "$repository/deploy/prometheus/alerts.yml" "$OUT/prometheus/"
promtool check config "$OUT/prometheus/prometheus.yml"
