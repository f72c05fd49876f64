#!/bin/sh
# Runs a command in every module, each alone: without go.work, a module sees
# the versions that its own go.mod names, as its users do.
# All modules get their turn, or those in $MODULES; the exit code is 1 when the
# command failed in one.
#
#	scripts/each.sh go vet ./...
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off

failed=
for module in ${MODULES:-$(scripts/modules.sh)}; do
	printf '== %s: %s\n' "$module" "$*"
	(cd "$module" && "$@") || failed="$failed $module"
done
if [ -n "$failed" ]; then
	printf 'FAILED in%s: %s\n' "$failed" "$*" >&2
	exit 1
fi
