#!/usr/bin/env bash
# Builds the Debian package of both programs with dpkg-deb: unit, settings, C header, manual pages, completions.
#
#   deploy/debian/build.sh PROGRAMS OUTPUT
#
# PROGRAMS is the folder of sut-node and loadgen-node; the package is written to the folder OUTPUT. DEBFULLNAME and DEBEMAIL name the
# maintainer, as for Debian's tools.
set -euo pipefail

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

mkdir -p "$root/usr/share/man/man1"
for program in sut-node loadgen-node; do
    if ! [ -x "$programs/$program" ]; then
        echo "$programs/$program is missing: build it with \`make build\`, or pass its folder" >&2
        exit 2
    fi
    install -D -t "$root/usr/bin" "$programs/$program"
    strip --remove-section=.comment --remove-section=.note "$root/usr/bin/$program"
    "$programs/$program" man "$root/usr/share/man/man1"
    for shell in bash/bash-completion/completions/$program zsh/zsh/vendor-completions/_$program fish/fish/vendor_completions.d/$program.fish; do
        file=$root/usr/share/${shell#*/}
        mkdir -p "$(dirname "$file")"
        "$programs/$program" completions "${shell%%/*}" >"$file"
    done
done
# `loadgen-node tax` looks for netdiv-in-process in its own folder.
if ! [ -x "$programs/netdiv-in-process" ]; then
    echo "$programs/netdiv-in-process is missing: build it with \`make build\`, or pass its folder" >&2
    exit 2
fi
install -D -t "$root/usr/bin" "$programs/netdiv-in-process"
strip --remove-section=.comment --remove-section=.note "$root/usr/bin/netdiv-in-process"
gzip -9n "$root"/usr/share/man/man1/*.1
install -D -m 644 -t "$root/usr/include" sut-node/plugin/include/netdiv_engine.h
install -D -m 644 -t "$root/usr/lib/systemd/system" deploy/systemd/netdiv-node.service
install -D -m 644 -t "$root/etc/netdiv" deploy/systemd/node.toml
install -D -m 644 -t "$doc/examples" deploy/systemd/gpu.conf
(cd deploy && for file in submit.sh submit/*.py data/prepare data/requirements.txt data/netdiv_data/*.{py,json,txt}; do
    install -D -m 644 "$file" "$root/usr/share/netdiv/$file"
done)
chmod 755 "$root/usr/share/netdiv/submit.sh" "$root/usr/share/netdiv/data/prepare"
install -D -m 644 -t "$doc" deploy/debian/copyright

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
maintainer="${DEBFULLNAME:-netdiv} <${DEBEMAIL:-root@$(hostname -f)}>"
architecture=$(dpkg --print-architecture)
printf 'netdiv (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md for the changes.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date -R)" | gzip -9n >"$doc/changelog.gz"
gzip -9nc CHANGELOG.md >"$doc/CHANGELOG.md.gz"

# Packages of the libraries that the programs are linked with.
mkdir "$work/debian"
printf 'Source: netdiv\n\nPackage: netdiv\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O netdiv/usr/bin/* | sed -n 's/^shlibs:Depends=//p')

mkdir "$root/DEBIAN"
sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@DEPENDS@/$depends/" \
    -e "s|@MAINTAINER@|$maintainer|" \
    -e "s/@INSTALLED_SIZE@/$(du -sk --exclude=DEBIAN "$root" | cut -f1)/" deploy/debian/control >"$root/DEBIAN/control"
install -m 755 -t "$root/DEBIAN" deploy/debian/{postinst,prerm,postrm}
(cd "$root" && find etc -type f -printf '/%p\n' | sort) >"$root/DEBIAN/conffiles"
(cd "$root" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$root" "$output" | sed 's/^dpkg-deb: //'
