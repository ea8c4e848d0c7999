#!/usr/bin/env bash
# discovery by DNS (dnsmasq): a run waits for the third address of a name, and TLS verifies that name
. "$(dirname "$0")/../common.sh"
install dnsmasq-base iproute2 util-linux procps python3
in_namespaces "$repository/tests/deploy/dns/discovery.sh"
