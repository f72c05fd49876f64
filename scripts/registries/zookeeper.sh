#!/bin/sh
# Installs ZooKeeper and a Java to run it with, for the tests of registry/zookeeper.
# Does nothing when both are there. These packages bring no system service.
set -eu

packages=
command -v java >/dev/null || packages="$packages default-jre-headless"
for jar in zookeeper slf4j-simple; do
	[ -e /usr/share/java/$jar.jar ] || packages="$packages libzookeeper-java libslf4j-java"
done
[ -n "$packages" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	printf 'These packages are missing:%s. Install them, or run this as root on Debian.\n' "$packages" >&2
	exit 1
fi
printf 'Installing%s\n' "$packages"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# The list is split into words on purpose.
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $packages >/dev/null
