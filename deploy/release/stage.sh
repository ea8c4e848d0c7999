#!/usr/bin/env bash
# Lays out what a tarball and the Debian package share: programs, manual pages, completions, C header, scripts, documents.
#
#   deploy/release/stage.sh PROGRAMS PREFIX [DOCUMENTS]
#
# PROGRAMS is the folder of the programs. PREFIX is /usr in a package. Manual pages and scripts name pages in the folder DOCUMENTS (default:
# share/doc/netdiv).
set -euo pipefail

if [ $# != 2 ] && [ $# != 3 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
programs=$(realpath "$1") documents=${3-share/doc/netdiv}
mkdir -p "$2"
prefix=$(realpath "$2")
cd "$(dirname "$0")/../.."
umask 022

mkdir -p "$prefix/share/man/man1"
# `loadgen-node tax` looks for netdiv-in-process in its own folder.
for program in sut-node loadgen-node netdiv-in-process; do
    if ! [ -x "$programs/$program" ]; then
        echo "$programs/$program is missing: build it with \`make build\`, or pass its folder" >&2
        exit 2
    fi
    install -D -t "$prefix/bin" "$programs/$program"
    strip --remove-section=.comment "$prefix/bin/$program"
done
install -t "$prefix/bin" deploy/release/netdiv-demo
for program in sut-node loadgen-node; do
    "$programs/$program" man "$prefix/share/man/man1"
    for shell in bash/bash-completion/completions/$program zsh/zsh/vendor-completions/_$program fish/fish/vendor_completions.d/$program.fish; do
        file=$prefix/share/${shell#*/}
        mkdir -p "$(dirname "$file")"
        "$programs/$program" completions "${shell%%/*}" >"$file"
    done
done
install -m 644 -t "$prefix/share/man/man1" deploy/release/netdiv-demo.1
install -D -m 644 -t "$prefix/include" sut-node/plugin/include/netdiv_engine.h

# Copies the files of folders: BELOW FOLDER […].
copy() {
    local file below=$1
    shift
    find "$@" -type f -not -path '*/__pycache__/*' -not -name .gitignore -print0 | while IFS= read -r -d '' file; do
        install -D -m "$([ -x "$file" ] && echo 755 || echo 644)" "$file" "$below/$file"
    done
}
copy "$prefix/share/netdiv" deploy/{submit.sh,submit,models} deploy/data/{prepare,requirements.txt,netdiv_data}
find "$prefix"/share/{man,netdiv} -type f -not -name '*.md' -exec deploy/release/name_pages.sh "$documents" {} +
gzip -9n "$prefix"/share/man/man1/*.1
# It has the options of loadgen-node.
ln -s loadgen-node.1.gz "$prefix/share/man/man1/netdiv-in-process.1.gz"
# As in the sources, so that links between the documents lead somewhere.
copy "$prefix/share/doc/netdiv" CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md docs examples python/netdiv-results/README.md tests/plugin \
    deploy/{compose,grafana,kubernetes,mlcflow,models,prometheus,slurm,systemd} deploy/{digits,sorting}/README.md \
    sut-node/plugin/include proto/contract/netdiv {proto/machine/report,loadgen-node/fabric,loadgen-node/rules/result}.schema.json
rm -r "$prefix"/share/doc/netdiv/docs/{upstream,book.py,book.toml}
python3 deploy/release/links.py "$prefix/share"
