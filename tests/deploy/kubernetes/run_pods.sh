#!/usr/bin/env bash
# Runs the pods of deploy/kubernetes/base on three hosts, without Kubernetes, with their commands, settings, probe and user. Run it in
# separate namespaces (steps/kubernetes.sh).
#
#   run_pods.sh COMMAND…
#
# COMMAND writes the pods to the folder in its last argument (pods.py).
. "$(dirname "$0")/../hosts.sh"

new_hosts 3
share_programs
"$@" /mnt/pods
chown -R root:65532 /mnt/pods
chmod -R u=rwX,g=rX,o= /mnt/pods
chmod g+w /mnt/pods/loadgen-node/results
# Same addresses as the headless Service.
know_hosts <<'END'
10.232.0.2 netdiv-node
10.232.0.3 netdiv-node
END
# A process on each host holds the pod's mounts, including /tmp.
declare -A holders
for host in nd1 nd2 nd3; do
    unshare --mount sh -c 'mount -t tmpfs -o mode=1777 none /tmp && : >/tmp/mounted && exec sleep infinity' &
    holders[$host]=$!
    within 10 nsenter --target $! --mount test -e /tmp/mounted
done
# Runs a command of a program's pod on a host, as the pod's user: HOST PROGRAM main|probe
pod() {
    (cd / && on_host "$1" nsenter --target "${holders[$1]}" --mount env -i PATH=/mnt/bin:/usr/bin:/bin \
        setpriv --reuid=65532 --regid=65532 --clear-groups --no-new-privs --bounding-set=-all sh "/mnt/pods/$2/$3")
}

nodes=()
for host in nd2 nd3; do
    pod "$host" sut-node main 2>"$OUT/$host.log" &
    nodes+=($!)
done
for host in nd2 nd3; do
    within 30 pod "$host" sut-node probe || { cat "$OUT/$host.log"; fail "the probe of $host fails"; }
done
pod nd1 loadgen-node main || fail "the run ended with exit code $?"
cp -R /mnt/pods/loadgen-node/results "$OUT/"
grep -q '"verdict": "COMPLETE"' "$OUT/results/pod/result.json" || fail "the result is not COMPLETE"
# This namespace contains no other nodes.
pgrep -x sut-node | xargs kill -TERM
wait "${nodes[@]}"
for host in nd2 nd3; do grep -q 'ended node' "$OUT/$host.log" || { cat "$OUT/$host.log"; fail "$host did not drain"; }; done
if pod nd2 sut-node probe 2>/dev/null; then fail "the probe succeeds without a node"; fi
