#!/bin/sh
# Lets files name the pages of the documents by their place in a release.
#
#   deploy/release/name_pages.sh DOCUMENTS FILE…
#
# DOCUMENTS is the folder that gets docs/, as the files shall name it.
set -eu

documents=$1
shift
sed -Ei "s#\bdocs/[A-Z]+\.md#$documents/&#g" "$@"
