#!/bin/sh
# Runs the demonstration: builds it and the program weft, which is its registry,
# into a temporary folder, and starts it with the arguments given. The first build
# compiles an etcd, which takes a minute or two. The exit code is that of the
# demonstration.
#
#	scripts/demo.sh -quick
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
trap 'exit 143' TERM
trap : INT # the demonstration ends its processes itself, and this script after it

# progress shows what 'go build -v' writes: on a terminal in one line that changes,
# elsewhere a line for every fifty packages. Errors are passed on.
progress() {
	count=0 failed=
	while IFS= read -r line; do
		case $line in
		'go build failed') failed=yes ;;
		'go: downloading '*) [ ! -t 1 ] || printf '\r\033[K  fetching %.60s' "${line#go: downloading }" ;;
		'#'* | *' '*) printf '%s\n' "$line" ;;
		*)
			count=$((count + 1))
			if [ -t 1 ]; then
				printf '\r\033[K  %d packages compiled, now %.60s' $count "$line"
			elif [ $((count % 50)) -eq 0 ]; then
				printf '  %d packages compiled, now %s\n' $count "$line"
			fi
			;;
		esac
	done
	[ ! -t 1 ] || printf '\r\033[K'
	[ -z "$failed" ]
}

# build FOLDER PROGRAM builds what is in the folder.
build() {
	printf 'Building %s\n' "$1"
	{ (cd "$1" && go build -v -o "$bin/$2" .) 2>&1 || echo 'go build failed'; } | progress
}

build cmd/weft weft
build examples/demo demo
"$bin/demo" -weft "$bin/weft" "$@"
