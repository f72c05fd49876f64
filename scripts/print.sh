#!/bin/sh
# Prints files in one piece: between programs that run side by side and print with this
# script, nothing is mixed. WEFT_PRINTING is the file by which they take turns.
#
#	scripts/print.sh FILE...
set -eu
if [ -n "${WEFT_PRINTING-}" ] && command -v flock >/dev/null; then
	exec flock "$WEFT_PRINTING" cat -- "$@"
fi
exec cat -- "$@"
