#!/bin/sh
# Runs a command that downloads something, and once more after some seconds when it fails:
# a connection that broke is no reason for a failure.
#
#	scripts/retry.sh go install example.org/tool@v1.0.0
set -eu
"$@" && exit
printf 'failed, and is tried once more: %s\n' "$*" >&2
sleep 5
exec "$@"
