#!/bin/sh
# Installs what the tests of registry/mdns need: Avahi, another implementation of
# multicast DNS, with the message bus by which its tools reach it, and ip, which makes
# the hosts. Does nothing when all is there. The tests start Avahi themselves, so no
# system service is left running.
set -eu

missing=
for command in avahi-daemon avahi-browse avahi-publish avahi-resolve dbus-daemon ip; do
	command -v $command >/dev/null || missing="$missing $command"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	printf 'These programs are missing:%s. Install the packages avahi-daemon, avahi-utils and iproute2, or run this as root on Debian.\n' "$missing" >&2
	exit 1
fi
echo 'Installing avahi'
# While this program says so, dpkg starts no service.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends avahi-daemon avahi-utils iproute2 >/dev/null
