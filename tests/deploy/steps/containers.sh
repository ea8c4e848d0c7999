#!/usr/bin/env bash
# images of existing programs: the demo between containers, without root and capabilities, read-only, drained by SIGTERM
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../images.sh"
containers=(node-a node-b loadgen)

base_images "" sut-node loadgen-node netdiv-in-process
mkdir "$OUT/result"
for target in node loadgen; do netdiv_image "$target" "localhost/netdiv-$target:test"; done

settings() { # PORT
    printf 'listen = "127.0.0.1:%s"\nmetrics = "127.0.0.1:%s"\nengine = "onnx"\nmodel = "digits"\n' "$1" "$(($1 + 100))"
}
port=50151
for node in node-a node-b; do
    settings "$port" >"$OUT/$node.toml"
    pod run --detach --name "$node" "${safe[@]}" --volume "$OUT/$node.toml:/etc/netdiv/node.toml:ro" localhost/netdiv-node:test
    port=$((port + 1))
done
for node in node-a node-b; do
    within 120 pod healthcheck run "$node" || { pod logs "$node"; fail "$node is not healthy"; }
done

for target in node loadgen; do
    pod run --rm "${limits[@]}" --entrypoint test "localhost/netdiv-$target:test" -f /usr/local/share/doc/netdiv/docs/OPERATING.md ||
        fail "the image $target has no documents"
done

chown 65532:65532 "$OUT/result"
pod run --name loadgen "${safe[@]}" --volume "$OUT/result:/results" localhost/netdiv-loadgen:test run \
    --nodes 127.0.0.1:50151,127.0.0.1:50152 --benchmark digits --scenario offline --mode accuracy --output /results/run |
    tee "$OUT/run.txt"
grep -qE '[0-9]+ of 500' "$OUT/run.txt" || fail "the demo has no accuracy"
for image in node loadgen; do
    grep -q "localhost/netdiv-$image:test" "$OUT/result/run/result.json" || fail "the evidence does not name the image of $image"
done

for node in node-a node-b; do
    pod stop --time 30 "$node" >/dev/null
    [ "$(pod inspect --format '{{.State.ExitCode}}' "$node")" = 0 ] || fail "$node was killed or failed when it was stopped"
    pod logs "$node" 2>&1 | grep drained || fail "$node did not drain"
done
