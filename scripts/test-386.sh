#!/bin/sh
# Runs the tests of the root module, and those of generated code, as 32-bit programs: a 64-bit machine with Linux runs
# those of the same family. Elsewhere it says so and does nothing. Nothing is built with
# cgo, and go vet is left to scripts/cross.sh.
set -eu
cd "$(dirname "$0")/.."
host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
if [ "$host" != linux/amd64 ]; then
	printf '%s runs no programs of linux/386\n' "$host"
	exit
fi
# More packages than processors: much of the time is waiting.
export GOWORK=off CGO_ENABLED=0 GOARCH=386
go test -vet=off -timeout=15m -p 4 ./...
cd generate
exec go test -vet=off -timeout=15m ./internal/shop
