#!/bin/sh
# Runs the demonstration: builds it and the program weft, which is its registry,
# into a temporary folder, and starts it with the arguments given. Its exit code is
# that of the demonstration.
#
#	scripts/demo.sh -quick
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
trap : INT # the demonstration ends its processes itself, and this script after it

(cd cmd/weft && go build -o "$bin/weft" .)
(cd examples/demo && go build -o "$bin/demo" .)
"$bin/demo" -weft "$bin/weft" "$@"
