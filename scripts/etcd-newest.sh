#!/usr/bin/env bash
# Runs the tests of registry/etcd with the etcd that go.mod of cmd/weft names, which is the
# one of 'weft up': that of Debian is older, and answers what newer ones do not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -C cmd/weft -o "$bin/etcd" go.etcd.io/etcd/server/v3
version=$("$bin/etcd" --version)
printf '%s\n' "${version%%$'\n'*}" # head, which ends before etcd has written all, may end etcd by a signal
cd registry/etcd
PATH=$bin:$PATH go test -vet=off -count=1 -timeout=15m ./...
