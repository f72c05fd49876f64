#!/bin/sh
# Prints the folder of every Go module of this repository, the root first.
# Folders that are hidden or named testdata or node_modules hold none.
set -eu
cd "$(dirname "$0")/.."
find . \( -name '.?*' -o -name testdata -o -name node_modules \) -prune -o -name go.mod -print |
	sed -e 's|/go\.mod$||' -e 's|^\./||' | LC_ALL=C sort
