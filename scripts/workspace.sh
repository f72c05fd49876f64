#!/bin/sh
# Writes go.work anew: every module that exists, and the highest version of Go
# that one of them asks for.
set -eu
cd "$(dirname "$0")/.."
modules=$(scripts/modules.sh)
{
	printf '// Written by scripts/workspace.sh. Each module also builds alone, with GOWORK=off.\n\n'
	for module in $modules; do
		sed -n '/^go /p' "$module/go.mod"
	done | sort -V | tail -n 1
	printf '\nuse (\n'
	for module in $modules; do
		case $module in
		.) printf '\t.\n' ;;
		*) printf '\t./%s\n' "$module" ;;
		esac
	done
	printf ')\n'
} >go.work.new
mv go.work.new go.work
