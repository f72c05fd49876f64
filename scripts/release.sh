#!/bin/sh
# Turns this commit into a release of every module. In the repository the modules find
# one another by replace directives and the version v0.0.0, which only works in a clone.
# A release is one commit on top in which they require one another at its version, with
# their sums, and a tag for each module: VERSION for the root, FOLDER/VERSION for others.
#
# By itself this is a dry run, in a temporary clone: it makes the commit and the tags,
# has the go command make a proxy of them in the file system, and gets every module from
# that as a user would. With -tag it then brings the tags into this repository, and
# prints the command that publishes them; it pushes nothing itself. Other changes of the
# working tree than the commits are not part of it.
#
#	scripts/release.sh v0.1.0
#	scripts/release.sh -tag v0.1.0
set -eu
cd "$(dirname "$0")/.."
here=$PWD
root=github.com/weftrpc/weft

say() { printf '== %s\n' "$*"; }
fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

tag=
if [ "${1-}" = -tag ]; then
	tag=yes
	shift
fi
version=${1-}
printf '%s' "$version" | grep -Eqx 'v[01]\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?' ||
	fail "The version is '$version', want one such as v0.1.0; a v2 would need other module paths"
if [ -n "$tag" ]; then
	[ -z "$(git status --porcelain)" ] || fail 'The working tree has changes: commit them first.'
	grep -q "^## \[${version#v}\]" CHANGELOG.md || fail "CHANGELOG.md has no section '## [${version#v}]'."
	[ -z "$(git tag -l "$version" "*/$version")" ] || fail "There are tags of $version already."
fi

work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export GOWORK=off GOFLAGS= GIT_TERMINAL_PROMPT=0
proxies=$(go env GOPROXY)
modules_cache=$(go env GOMODCACHE)

# fresh_cache NAME makes a module cache without anything of weft, which has what others
# wrote from the user's.
fresh_cache() {
	mkdir -p "$work/$1/github.com" "$work/$1/cache/download/github.com" "$modules_cache/cache/download"
	for folder in "" /cache/download; do
		for entry in "$modules_cache$folder"/* "$modules_cache$folder"/github.com/*; do
			name=${entry#"$modules_cache"}
			case $name in
			/cache | /cache/download | */github.com | */github.com/weftrpc | *'*') ;;
			*) ln -s "$entry" "$work/$1$name" ;;
			esac
		done
	done
	export GOMODCACHE="$work/$1"
}

# weft_modules prints the modules of weft that the go.mod here names, but for itself.
weft_modules() {
	go mod edit -json | grep -o "\"$root[^\"]*\"" | tr -d '"' | LC_ALL=C sort -u | grep -vx "$(go list -m)" || true
}

path_of() { [ "$1" = . ] && echo "$root" || echo "$root/$1"; }
tag_of() { [ "$1" = . ] && echo "$version" || echo "$1/$version"; }

say "a clone of $(git rev-parse --short HEAD)"
git clone -q --no-tags --single-branch "file://$here" "$work/repository"
cd "$work/repository"
git checkout -q --detach
git config user.name "$(git -C "$here" config user.name || echo weft)"
git config user.email "$(git -C "$here" config user.email || echo weft@localhost)"
modules=$(scripts/modules.sh)

# The order in which each module comes after those that it requires.
ordered=$(for module in $modules; do
	echo ". $module"
	(cd "$module" && for path in $(weft_modules); do
		[ "$path" = $root ] || echo "${path#"$root/"} $module"
	done)
done | tsort)

for module in $modules; do
	(cd "$module" && for path in $(weft_modules); do
		if go mod edit -json | sed '/"Replace": /,$d' | grep -qF "\"$path\""; then
			go mod edit -require="$path@$version"
		fi
		go mod edit -dropreplace="$path"
	done)
done
git commit -q -a --allow-empty -m "Release $version"

# From here on, the go command takes weft from the clone, and all else as ever.
export GOPRIVATE=github.com/weftrpc GIT_CONFIG_COUNT=1 \
	GIT_CONFIG_KEY_0="url.file://$work/repository.insteadOf" GIT_CONFIG_VALUE_0="https://$root"

# What a module requires has to be there before its sum can be written. The content of a
# module is the same in its own commit and in the last one.
fresh_cache sums
for module in $ordered; do
	say "sums of $module"
	(cd "$module" && go mod tidy)
	git commit -q -a --amend --no-edit
	git tag "$(tag_of "$module")"
done
for module in $ordered; do
	git tag -f "$(tag_of "$module")" >/dev/null
done

say 'a proxy of the tags'
fresh_cache proxy
for module in $ordered; do
	go mod download "$(path_of "$module")@$version"
done
proxy=$work/served
mkdir -p "$proxy/github.com"
cp -R "$work/proxy/cache/download/github.com/weftrpc" "$proxy/github.com/weftrpc"

# From here on, the go command takes weft from the proxy alone.
unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
export GOPRIVATE= GONOPROXY=none GONOSUMDB=github.com/weftrpc GOPROXY="file://$proxy,$proxies"
fresh_cache user
for module in $ordered; do
	path=$(path_of "$module")
	say "go get $path"
	mkdir -p "$work/try/$module"
	cd "$work/try/$module"
	go mod init example.org/try 2>/dev/null
	go get "$path" 2>"$work/log" || { cat "$work/log" >&2; fail "go get $path failed"; }
	[ "$(go list -m -f '{{.Version}}' "$path")" = "$version" ] || fail "go get $path did not get $version"
	GOFLAGS=-mod=mod go list -deps "$path/..." >/dev/null
	# The sums in the tag are those of the proxy, and there are enough of them.
	cd "$work/repository/$module"
	GOFLAGS=-mod=readonly go list -deps -test ./... >/dev/null
done

say 'a program of the root module, and the command'
cd "$work/try"
go run "$root/examples/async@$version"
go install -n "$root/cmd/weft@$version" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail 'The command cannot be installed.'; }

cd "$here"
if [ -z "$tag" ]; then
	say "$version would have these tags:"
	for module in $ordered; do tag_of "$module"; done
	exit 0
fi
git fetch -q "$work/repository" 'refs/tags/*:refs/tags/*'
say "$version is tagged. This publishes it:"
printf 'git push --atomic origin'
for module in $ordered; do printf ' %s' "$(tag_of "$module")"; done
printf '\n'
