#!/bin/sh
# Installs the servers of registries that the tests run: those that are named, or
# all. Each has a program of its own in scripts/registries, which does nothing when
# its server is there. What is no package of the system lies in
# ${XDG_CACHE_HOME:-$HOME/.cache}/weft/registries. The exit code is 1 when one
# could not be installed.
#
#	scripts/registries.sh etcd redis
set -eu
cd "$(dirname "$0")/registries"

if [ $# -eq 0 ]; then
	for script in *.sh; do
		set -- "$@" "${script%.sh}"
	done
fi

failed=
for name in "$@"; do
	if [ ! -x "$name.sh" ]; then
		printf 'There is no registry %s; there are:%s\n' "$name" "$(printf ' %s' *.sh | sed 's/\.sh//g')" >&2
		exit 1
	fi
	./"$name.sh" || failed="$failed $name"
done
if [ -n "$failed" ]; then
	printf 'FAILED to install:%s\n' "$failed" >&2
	exit 1
fi
