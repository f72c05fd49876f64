#!/bin/sh
# Installs etcd, whose processes the tests of registry/etcd and test/chaos start themselves.
exec "$(dirname "$0")/../need.sh" etcd
