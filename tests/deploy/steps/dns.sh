#!/usr/bin/env bash
# discovery by the DNS (dnsmasq): a run waits for the third address of a name, and TLS is for that name
. "$(dirname "$0")/../common.sh"
install dnsmasq-base iproute2 util-linux procps python3
in_namespaces "$repository/tests/deploy/dns/discovery.sh"
