#!/usr/bin/env bash
# a release on minimal Debian 11 and 13 without compilers and networks: tarball, wheel and package run the demo up to its report; SIGTERM ends it; the SBOM is valid
# RELEASE is the folder that `make release` has written; default: out/release.
. "$(dirname "$0")/../common.sh"
release=$(realpath --canonicalize-missing "${RELEASE:-$repository/out/release}")
[ -f "$release/SHA256SUMS" ] || not_possible_here "there is no release in $release: make it with \`make release\`"
install iproute2 mmdebstrap python3-venv skopeo

(cd "$release" && sha256sum --check --quiet SHA256SUMS) || fail "files differ from SHA256SUMS"
commit=$(git -C "$repository" rev-parse --short=10 HEAD)
tarball=$(echo "$release"/netdiv-*-linux.tar.xz)
size=$(stat -c %s "$tarball")
[ "$size" -le 25000000 ] || fail "the tarball has $size bytes"
for image in "$release"/*.oci.tar; do skopeo inspect "oci-archive:$image" >"$OUT/$(basename "$image").json"; done

# glibc 2.28 is in none of Debian's releases that mirrors still have: the programs' own lists of symbols show that it suffices.
mkdir "$OUT/tarball"
tar -C "$OUT/tarball" --strip-components=1 -xf "$tarball"
"$OUT/tarball/bin/loadgen-node" --version >"$OUT/version.txt"
grep -q "$commit" "$OUT/version.txt" ||
    fail "the release is not of commit $commit: make it again with \`make release\`: $(cat "$OUT/version.txt")"
python3 "$repository/deploy/release/symbols.py" check "$OUT"/tarball/bin/{sut-node,loadgen-node,netdiv-in-process,libnetdiv_engine_torch.so}
if grep -rlaF -e "$repository/" -e "$HOME/" "$OUT/tarball/bin"; then fail "these files contain paths of the machine that built them"; fi

python3 -m venv "$OUT/python"
"$OUT/python/bin/pip" install --quiet --disable-pip-version-check -r "$repository/tests/deploy/release/requirements.txt"
"$OUT/python/bin/python" "$repository/tests/deploy/release/sbom.py" "$release"/netdiv-*.cdx.json

trap 'rm -rf "$OUT/bullseye" "$OUT/trixie"' EXIT
# Runs the demo: NAME PATH. PATH has the programs.
demo() {
    local start=$SECONDS
    inside env PATH="$2:/usr/bin:/bin" netdiv-demo "/tmp/$1" >"$OUT/$suite-$1.txt" 2>"$OUT/$suite-$1.log" ||
        fail "the demo of the $1 failed: $(tail "$OUT/$suite-$1.txt" "$OUT/$suite-$1.log")"
    grep -q 'accuracy .*(49[0-9] of 500)' "$OUT/$suite-$1.txt" || fail "the demo of the $1 has no accuracy"
    grep -rq --include=mlperf_log_detail.txt '"file": "loadgen/' "$root/tmp/$1" || fail "LoadGen's log of the $1 names other files"
    cp "$root/tmp/$1/report.html" "$OUT/$suite-$1.html"
    grep -q '</html>' "$OUT/$suite-$1.html" || fail "the page of the $1 is incomplete"
    echo "$suite: $1: report after $((SECONDS - start)) s"
}
for suite in bullseye trixie; do
    root=$OUT/$suite
    mmdebstrap --quiet --variant=minbase --include=python3-venv,xz-utils "$suite" "$root"
    if inside sh -c 'command -v cc || command -v cargo'; then fail "the root has a compiler"; fi
    cp "$release"/*.whl "$release"/*.deb "$tarball" "$root/tmp"

    # shellcheck disable=SC2016 # the shell inside expands
    inside sh -ec 'cd /tmp && tar -xf netdiv-*-linux.tar.xz && mv netdiv-*-linux /opt/netdiv'
    demo tarball /opt/netdiv/bin
    # shellcheck disable=SC2016
    inside sh -ec '
        code=0
        timeout --foreground --kill-after=10 3 /opt/netdiv/bin/netdiv-demo /tmp/ended >/tmp/ended.txt 2>&1 || code=$?
        [ $code = 124 ]
        for _ in $(seq 100); do
            find /proc -maxdepth 2 -name exe \( -lname "*/sut-node" -o -lname "*/loadgen-node" \) 2>/dev/null | grep -q . || exit 0
            sleep 0.1
        done
        exit 1' || fail "SIGTERM does not end the demo and its programs: $(cat "$root/tmp/ended.txt")"
    inside sh -ec 'python3 -m venv /opt/venv && /opt/venv/bin/pip install --quiet --no-index --no-deps /tmp/*.whl'
    demo wheel /opt/venv/bin
    inside sh -ec 'dpkg --install /tmp/netdiv_*.deb' >"$OUT/$suite-dpkg.txt"
    demo package /usr/bin
done
