#!/bin/sh
# Finds errors that are neither handled nor dropped with "_ =", in every module, but for
# those that scripts/errcheck.conf allows. The argument is the program errcheck. The exit
# code is 1 when there is one.
#
#	scripts/errcheck.sh errcheck
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off
errcheck=${1:?the program errcheck}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
grep -v -e '^#' -e '^$' scripts/errcheck.conf >"$work/allowed"
code=0
for module in $(scripts/modules.sh); do
	printf '== %s: errcheck ./...\n' "$module"
	# The exit code is 1 for findings, which may be allowed, and 2 for a failure.
	(cd "$module" && "$errcheck" -verbose -ignoretests -ignoregenerated ./...) >"$work/found" 2>"$work/log" || [ $? -eq 1 ] || {
		cat "$work/log" >&2
		code=1
	}
	# "file:line:column:", a tab, the function, a tab, the line of code.
	while IFS='	' read -r place call; do
		case $place in *.go:*) ;; *) continue ;; esac
		printf '%s\n' "$call" | grep -qE -f "$work/allowed" && continue
		printf '%s/%s the error is not checked: %s\n' "$module" "$place" "$call"
		code=1
	done <"$work/found"
done
exit $code
