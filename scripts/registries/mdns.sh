#!/bin/sh
# Installs what the tests of registry/mdns start themselves: Avahi, another
# implementation of multicast DNS, with the message bus by which its tools reach it, and
# ip, which makes the hosts.
exec "$(dirname "$0")/../need.sh" avahi-daemon avahi-browse dbus-daemon ip
