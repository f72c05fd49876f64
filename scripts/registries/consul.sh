#!/bin/sh
# Puts the program consul where the tests find it. Debian 12 has no package of it any
# more; that of Debian 11 is fetched with apt, from the mirror that this machine uses,
# and unpacked.
set -eu

bin=${XDG_CACHE_HOME:-$HOME/.cache}/weft/registries/bin
if [ -x "$bin/consul" ] || command -v consul >/dev/null; then
	exit 0
fi

if ! command -v apt-get >/dev/null; then
	printf 'consul is missing, and there is no apt to fetch it with: put a consul, 1.8 or later, into $PATH.\n' >&2
	exit 1
fi
arch=$(dpkg --print-architecture)
case $arch in
amd64) sum=e4e888bba104daba1d9161f49bfc52649a7e4efd45b1a7ead5bc54f2cb9c89d9 ;;
arm64) sum=7318cfa77a7ba6f71dd096e44353279de246ffc6561216ace42353685dcf8255 ;;
*)
	printf 'There is no pinned package of consul for %s: put a consul, 1.8 or later, into $PATH.\n' "$arch" >&2
	exit 1
	;;
esac

printf 'Fetching consul\n'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
: >"$work/status"
old_apt() {
	apt-get -qq -o Acquire::Retries=3 -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=- \
		-o "Dir::State=$work" -o "Dir::State::Lists=$work/lists" -o "Dir::State::Status=$work/status" \
		-o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none \
		-o APT::Update::Error-Mode=any "$@"
}

# Any mirror that has this machine's release may have the one before, and the archive has
# it when it is old; apt finds out with Debian's key.
. /etc/os-release
mirrors() {
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' | sed -n "s/^$VERSION_CODENAME //p" | sort -u
}
[ -n "$(mirrors)" ] || apt-get -o Acquire::Retries=3 update -qq # apt knows no mirrors before its first update
found=
for mirror in $(mirrors) http://archive.debian.org/debian; do
	printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s bullseye main\n' "$mirror" >"$work/sources.list"
	if old_apt update 2>"$work/errors"; then
		found=yes
		break
	fi
done
if [ -z "$found" ]; then
	cat "$work/errors" >&2
	printf 'Neither a mirror of this machine nor archive.debian.org has Debian 11: put a consul, 1.8 or later, into $PATH.\n' >&2
	exit 1
fi

cd "$work"
old_apt download consul
printf '%s  %s\n' "$sum" consul_*.deb | sha256sum --check --quiet
dpkg -x consul_*.deb unpacked
mkdir -p "$bin"
mv unpacked/usr/bin/consul "$bin/consul"
