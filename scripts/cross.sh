#!/bin/sh
# Vets every module, tests included, for other systems and processors than this
# machine's. What vet needs is compiled without cgo and without optimization, which takes a
# quarter less time. The exit code is 1 when something failed.
#
#	scripts/cross.sh                    # the targets that stand for all
#	scripts/cross.sh windows/amd64      # one
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off CGO_ENABLED=0

# unfit says why a module is not for a target; nothing when it is.
unfit() {
	case $1:$2 in
	bench:windows/* | bench/*:windows/*) echo 'it stops processes and reads their clocks as Unix does' ;;
	esac
}

failed=
# No file is for one processor alone: of each system, and of 32 bits, one target is enough.
for target in ${*:-windows/amd64 darwin/arm64 linux/386}; do
	for module in $(scripts/modules.sh); do
		why=$(unfit "$module" "$target")
		if [ -n "$why" ]; then
			printf '== %s: not for %s: %s\n' "$module" "$target" "$why"
			continue
		fi
		printf '== %s: go vet ./... for %s\n' "$module" "$target"
		(cd "$module" && GOOS=${target%/*} GOARCH=${target#*/} go vet -gcflags="all=-N -l" ./...) || failed="$failed $module:$target"
	done
done

if [ -n "$failed" ]; then
	printf 'FAILED:%s\n' "$failed" >&2
	exit 1
fi
