#!/usr/bin/env bash
# Builds the Debian package of both programs with dpkg-deb: unit, settings, C header, manual pages, completions.
#
#   deploy/debian/build.sh PROGRAMS OUTPUT
#
# PROGRAMS is the folder of sut-node and loadgen-node; the package is written to the folder OUTPUT. DEBFULLNAME and DEBEMAIL name the
# maintainer, and SOURCE_DATE_EPOCH the time, as for Debian's tools.
set -euo pipefail
export LC_ALL=C

if [ $# != 2 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
programs=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
cd "$(dirname "$0")/../.."

for tool in dpkg-deb dpkg-shlibdeps strip; do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is missing: install it with apt-get install dpkg-dev binutils" >&2
        exit 2
    fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
root=$work/netdiv
doc=$root/usr/share/doc/netdiv

deploy/release/stage.sh "$programs" "$root/usr" "${doc#"$root"}"
install -D -m 644 -t "$root/usr/lib/systemd/system" deploy/systemd/netdiv-node.service
install -D -m 644 -t "$root/etc/netdiv" deploy/systemd/node.toml
deploy/release/name_pages.sh "${doc#"$root"}" "$root/usr/lib/systemd/system/netdiv-node.service" "$root/etc/netdiv/node.toml"
install -D -m 644 -t "$doc/examples" deploy/systemd/gpu.conf
install -D -m 644 -t "$doc" deploy/debian/copyright

version=$(deploy/version.sh)
maintainer="${DEBFULLNAME:-netdiv} <${DEBEMAIL:-root@$(hostname -f)}>"
architecture=$(dpkg --print-architecture)
printf 'netdiv (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md for the changes.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date -uRd "@${SOURCE_DATE_EPOCH:-$(date +%s)}")" | gzip -9n >"$doc/changelog.gz"

# In KiB, of files alone: the size of a folder depends on the file system.
size=$(find "$root" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')

# Packages of the libraries that the programs are linked with: DEPENDS, or those of this machine.
mkdir "$work/debian"
printf 'Source: netdiv\n\nPackage: netdiv\nArchitecture: any\n' >"$work/debian/control"
depends=${DEPENDS:-$(cd "$work" && dpkg-shlibdeps -O netdiv/usr/bin/{sut-node,loadgen-node,netdiv-in-process} | sed -n 's/^shlibs:Depends=//p')}

mkdir "$root/DEBIAN"
sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@DEPENDS@/$depends/" \
    -e "s|@MAINTAINER@|$maintainer|; s/@INSTALLED_SIZE@/$size/" deploy/debian/control >"$root/DEBIAN/control"
install -m 755 -t "$root/DEBIAN" deploy/debian/{postinst,prerm,postrm}
(cd "$root" && find etc -type f -printf '/%p\n' | sort) >"$root/DEBIAN/conffiles"
(cd "$root" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group -Zxz --build "$root" "$output" | sed 's/^dpkg-deb: //'
