#!/bin/sh
# Installs ZooKeeper's library, with which the tests of registry/zookeeper run servers.
exec "$(dirname "$0")/../need.sh" java libzookeeper-java libslf4j-java
