#!/usr/bin/env bash
# the Debian package: lintian reports no errors and no warnings, a minimal Debian installs it, the demo runs in it, purge removes everything
. "$(dirname "$0")/../common.sh"
install binutils dpkg-dev iproute2 lintian mmdebstrap

DEBFULLNAME="netdiv's test" DEBEMAIL=packages@lists.debian.org "$repository/deploy/debian/build.sh" "$BIN" "$OUT"
package=$(echo "$OUT"/netdiv_*.deb)
lintian --allow-root --fail-on error,warning "$package"

root=$OUT/root
trap 'rm -rf "$root"' EXIT
mmdebstrap --quiet --variant=minbase bookworm "$root"
everything() { (cd "$root" && find etc usr var -not -path 'var/log/*' -not -path 'var/cache/*' -not -path 'var/lib/*' | sort); }

# Dependencies are installed first, so that only the package's own files are compared.
cp "$package" "$root/tmp/netdiv.deb"
for dependency in $(dpkg-deb --field "$package" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g'); do
    inside dpkg-query --show "$dependency" >/dev/null 2>&1 || missing+=("$dependency")
done
if [ -n "${missing[*]-}" ]; then chroot "$root" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; fi
everything >"$OUT/before.txt"
inside dpkg --install /tmp/netdiv.deb
for program in sut-node loadgen-node netdiv-in-process; do inside "$program" --version; done
for file in /usr/lib/systemd/system/netdiv-node.service /etc/netdiv/node.toml /usr/include/netdiv_engine.h \
    /usr/share/bash-completion/completions/sut-node; do
    [ -f "$root$file" ] || fail "the package lacks $file"
done
# shellcheck disable=SC2016 # the shell inside expands
inside bash -ec '
    cd /tmp
    sut-node --config /etc/netdiv/node.toml --ready-file /tmp/ready.json &
    for _ in $(seq 300); do [ -f ready.json ] && break; sleep 0.1; done
    loadgen-node run --nodes 127.0.0.1:50051 --benchmark digits --scenario offline --mode accuracy --output /tmp/run
    kill $!
    wait $!' | tee "$OUT/run.txt"
grep -qE '[0-9]+ of 500' "$OUT/run.txt" || fail "the demo has no accuracy"

inside dpkg --purge netdiv
everything >"$OUT/after.txt"
diff "$OUT/before.txt" "$OUT/after.txt" || fail "purge left files"
