#!/usr/bin/env bash
# Runs three nodes on 127.0.1.1 to 127.0.1.3, and a DNS server for their name. Run it in separate mount, process and network
# namespaces (steps/dns.sh), whose end kills everything.
. "$(dirname "$0")/../common.sh"
name=nodes.netdiv.test
records=$OUT/records

ip link set lo up
echo 'nameserver 127.0.0.1' >"$OUT/resolv.conf"
echo '127.0.0.1 localhost' >"$OUT/hosts"
echo 'hosts: files dns' >"$OUT/nsswitch.conf"
for file in resolv.conf hosts nsswitch.conf; do mount --bind "$OUT/$file" "$(realpath "/etc/$file")"; done
printf '127.0.1.%d '"$name"'\n' 1 2 >"$records"
echo '127.0.1.1 other.netdiv.test' >>"$records"
dnsmasq --no-resolv --no-hosts --local=/netdiv.test/ --addn-hosts="$records" --user=root --pid-file="$OUT/dnsmasq.pid"
# getent would omit loopback addresses if there are no others.
answers() { [ "$(python3 -c "import socket; print(len(socket.getaddrinfo('$name', 0, type=socket.SOCK_STREAM)))")" = 2 ]; }
within 10 answers || fail "dnsmasq does not answer"

"$BIN/loadgen-node" certificates --hosts "$name" --output "$OUT/certificates"
tls=(--tls-ca "$OUT/certificates/ca.pem" --tls-certificate "$OUT/certificates/client.pem" --tls-key "$OUT/certificates/client.key")
for n in 1 2 3; do
    "$BIN/sut-node" --model "$repository/deploy/digits/digits.onnx" --name "node-$n" --listen "127.0.1.$n:50051" --ready-file "$OUT/node-$n.json" \
        --tls-certificate "$OUT/certificates/$name.pem" --tls-key "$OUT/certificates/$name.key" \
        --tls-client-ca "$OUT/certificates/ca.pem" 2>"$OUT/node-$n.log" &
done
for n in 1 2 3; do within 20 test -e "$OUT/node-$n.json" || { cat "$OUT/node-$n.log"; fail "node $n does not start"; }; done

run() { "$BIN/loadgen-node" run "${tls[@]}" --benchmark digits --scenario offline --mode accuracy --output "$OUT/$1" "${@:2}"; }
# Checks that a run is rejected before it starts: OUTPUT WORDS OPTION…
refused() {
    local code=0
    run "$1" "${@:3}" >"$OUT/$1.txt" 2>&1 || code=$?
    cat "$OUT/$1.txt"
    [ "$code" = 2 ] || fail "exit code $code, not 2"
    grep -qE "$2" "$OUT/$1.txt" || fail "no output matches /$2/"
}

echo "-- two of three addresses: the run waits; it starts with the third one"
for transport in grpc quic; do
    printf '127.0.1.%d '"$name"'\n' 1 2 >"$records"
    echo '127.0.1.1 other.netdiv.test' >>"$records"
    kill -HUP "$(cat "$OUT/dnsmasq.pid")"
    run "$transport" --transport "$transport" --nodes "dns:$name:50051" --nodes-expected 3 --connect-timeout 60s >"$OUT/$transport.txt" 2>&1 &
    running=$!
    sleep 3
    kill -0 "$running" || { cat "$OUT/$transport.txt"; fail "the run did not wait"; }
    if grep -q connected "$OUT/$transport.txt"; then fail "the run started with two nodes"; fi
    echo "127.0.1.3 $name" >>"$records"
    kill -HUP "$(cat "$OUT/dnsmasq.pid")"
    wait "$running" || { cat "$OUT/$transport.txt"; fail "the run failed"; }
    cat "$OUT/$transport.txt"
    python3 - "$OUT/$transport/result.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert result["verdict"] == "COMPLETE", result["verdict"]
assert sorted(node["name"] for node in result["nodes"]) == ["node-1", "node-2", "node-3"], result["nodes"]
END
done

echo "-- more nodes expected than there are"
refused four 'nodes-expected is 4' --nodes "dns:$name:50051" --nodes-expected 4 --connect-timeout 2s
echo "-- a name without addresses"
refused none 'nobody.netdiv.test' --nodes dns:nobody.netdiv.test:50051 --connect-timeout 2s
echo "-- a name that is not in the certificate"
refused other 'certificate' --nodes dns:other.netdiv.test:50051 --connect-timeout 2s
