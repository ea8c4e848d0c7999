#!/usr/bin/env bash
# the unit of a node is valid and has little exposure, and its settings are accepted
. "$(dirname "$0")/../common.sh"
install systemd

unit=$OUT/netdiv-node.service
sed "s|/usr/bin/sut-node|$BIN/sut-node|" "$repository/deploy/systemd/netdiv-node.service" >"$unit"
mkdir -p "$unit.d"

# Verifies the unit with its drop-ins, and that its exposure is at most this percentage: MAXIMUM.
exposed_at_most() {
    systemd-analyze verify --man=no "$unit" 2>&1 | tee "$OUT/verify.txt"
    if grep -q netdiv-node "$OUT/verify.txt"; then fail "systemd-analyze verify reports an error"; fi
    systemd-analyze security --offline=yes --no-pager --threshold="$1" "$unit" | tee "$OUT/security.txt" | tail -n 1
}
exposed_at_most 20
cp "$repository/deploy/systemd/gpu.conf" "$unit.d/"
exposed_at_most 30

"$BIN/sut-node" --config "$repository/deploy/systemd/node.toml" --print-config
