#!/usr/bin/env bash
# Prometheus scrapes runs, answers every expression of the dashboard and fires no alert; the alerts' tests pass
. "$(dirname "$0")/../common.sh"
install prometheus python3

config=$repository/deploy/prometheus
promtool check rules "$config/alerts.yml"
promtool check config "$config/prometheus.yml"
promtool test rules "$repository/tests/deploy/prometheus/alerts_test.yml"
tested=$(grep -c ' fires$' "$repository/tests/deploy/prometheus/alerts_test.yml")
alerts=$(grep -c -- '- alert:' "$config/alerts.yml")
[ "$tested" = "$alerts" ] || fail "$alerts alerts, but $tested tests"

pids=()
end() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
}
trap end EXIT

# Two nodes with batches and a node with tokens, and a run for each kind.
node() { # NAME PORT METRICS OPTION…
    "$BIN/sut-node" --name "$1" --listen "127.0.0.1:$2" --metrics "127.0.0.1:$3" --ready-file "$OUT/$1.json" "${@:4}" \
        2>"$OUT/node-$1.log" &
    pids+=($!)
    within 30 test -e "$OUT/$1.json" || fail "node $1 does not start: $(cat "$OUT/node-$1.log")"
}
node a 52051 19400 --engine echo
node b 52052 19401 --engine echo
node c 52053 19402 --engine tokens --tokens-ttft 5ms --tokens-tpot 100us

run() { # NAME METRICS NODES OPTION…
    "$BIN/loadgen-node" run --metrics "127.0.0.1:$2" --nodes "$3" --scenario server --output "$OUT/run-$1" \
        --setting min_duration_ms=40000 --setting server_target_qps=200 --setting min_query_count=1 --setting server_target_latency_ns=10000000000 "${@:4}" \
        >"$OUT/run-$1.txt" 2>"$OUT/run-$1.log" &
    pids+=($!)
}
run samples 19403 127.0.0.1:52051,127.0.0.1:52052 --benchmark fabric --dataset synthetic:64x1024
samples=$!
run tokens 19404 127.0.0.1:52053 --benchmark chat --dataset synthetic-ids:200x4-64 --setting use_token_latencies=true \
    --setting server_ttft_latency=20000000000 --setting server_tpot_latency=20000000000

# The configuration, with these addresses and a scrape every second.
sed -e 's/: 5s$/: 1s/' -e "s|- alerts.yml|- $config/alerts.yml|" \
    -e 's|- 127.0.0.1:9400|- 127.0.0.1:19400\n          - 127.0.0.1:19401\n          - 127.0.0.1:19402|' \
    -e 's|- 127.0.0.1:9401|- 127.0.0.1:19403\n          - 127.0.0.1:19404|' "$config/prometheus.yml" >"$OUT/prometheus.yml"
prometheus --config.file="$OUT/prometheus.yml" --storage.tsdb.path="$OUT/tsdb" --web.listen-address=127.0.0.1:19090 \
    2>"$OUT/prometheus.log" &
pids+=($!)

page() { python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())' "$1"; }
within 30 page http://127.0.0.1:19404/metrics || fail "the run has no metrics: $(cat "$OUT/run-tokens.log")"
within 30 page http://127.0.0.1:19090/-/ready || fail "Prometheus does not start: $(tail "$OUT/prometheus.log")"
# Rates need several scrapes.
sleep 15
for port in 19400 19401 19402 19403 19404; do
    page "http://127.0.0.1:$port/metrics" >"$OUT/page-$port.txt"
    promtool check metrics <"$OUT/page-$port.txt" || fail "promtool rejects the page of port $port"
done
python3 "$repository/tests/deploy/prometheus/ask.py" http://127.0.0.1:19090 "$repository/deploy/grafana/netdiv.json"

wait "$samples" || fail "the run failed: $(cat "$OUT/run-samples.txt" "$OUT/run-samples.log")"
grep -q 'progress issued=' "$OUT/run-samples.log" || fail "a run of 40 s logs no progress: $(cat "$OUT/run-samples.log")"
grep 'progress issued=' "$OUT/run-samples.log"
