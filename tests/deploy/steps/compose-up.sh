#!/usr/bin/env bash
# node and server of deploy/compose, started by podman-compose: images of existing programs, a fake server that loads for two seconds, a run
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../images.sh"
install python3-venv
containers=(netdiv_server_1 netdiv_node_1)
here=$repository/tests/deploy

python3 -m venv "$OUT/python"
"$OUT/python/bin/pip" install --quiet --disable-pip-version-check -r "$here/compose/requirements.txt"
base_images python3-minimal,libpython3-stdlib sut-node
# shellcheck disable=SC1091 # the file has assignments alone
. "$repository/deploy/compose/.env"
netdiv_image node "$NODE_IMAGE"
printf 'FROM localhost/runtime\nCOPY vllm /usr/local/bin/vllm\n' |
    buildah build --quiet --pull-never --tag localhost/netdiv-fake-vllm:test --file - "$repository/tests/documents"

# The rest is as in docs/QUICKSTART.md, with a checkpoint without weights.
checkpoint=$repository/tests/documents/Llama-3.1-8B-Instruct
"$BIN/loadgen-node" model "$checkpoint" --benchmark llama3.1-8b --output "$OUT/model.toml"
chmod a+r "$OUT/model.toml"
export MODEL=$checkpoint MODEL_FILE=$OUT/model.toml
cp -r "$repository/deploy/compose" "$OUT/compose"
"$OUT/python/bin/python" "$here/compose/without_gpu.py" "$OUT/compose/compose.yaml" localhost/netdiv-fake-vllm:test
compose() {
    "$OUT/python/bin/podman-compose" --podman-args "${podman_options[*]}" --podman-run-args "${limits[*]}" --no-ansi \
        --file "$OUT/compose/compose.yaml" "$@"
}
compose up --detach server node
node=127.0.0.1:50051
"$BIN/loadgen-node" probe --nodes "$node" --connect-timeout 60s --dataset synthetic-ids:100x128-1024 || {
    compose logs
    fail "the node does not answer"
}
# Few queries are INVALID: exit code 1.
"$BIN/loadgen-node" run --nodes "$node" --benchmark llama3.1-8b --scenario server --dataset synthetic-ids:100x128-1024 \
    --setting server_target_qps=20 --setting min_duration_ms=2000 --output "$OUT/result" || [ $? = 1 ] || fail "the run failed"
grep -q "$NODE_IMAGE" "$OUT/result/result.json" || fail "the evidence does not name the image of the node"
pod healthcheck run netdiv_node_1 || fail "the node is not healthy"

pod stop --time 20 netdiv_node_1 >/dev/null
[ "$(pod inspect --format '{{.State.ExitCode}}' netdiv_node_1)" = 0 ] || fail "the node was killed or failed when it was stopped"
compose down
[ -z "$(pod ps --all --quiet)" ] || fail "containers are left"
