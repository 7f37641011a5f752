#!/bin/sh
# Runs a command on a node of lab lab as the lab's user. The script enter,
# which has made the node's mounts, runs this one as root.
set -e
umask 022
mount --bind /state/lab/passwd /etc/passwd
mount --bind /state/lab/group /etc/group
# Only root may enter some of the folders above Java, Hadoop and the lab's files,
# such as root's home. Folders in memory take their place, which have no more than
# the paths to those files.
mount -t tmpfs -o size=1m,mode=755,nosuid,nodev heddle /state/lab/view
mkdir -p /state/lab/view/0/jars
mount --bind /private/jars /state/lab/view/0/jars
mkdir -p /state/lab/view/0/java
mount --bind /private/java /state/lab/view/0/java
mkdir -p /state/lab/view/1/lab
mount --bind /state/lab /state/lab/view/1/lab
cache=nodes/$(uname -n)/cache
mount --bind /state/lab/$cache /state/lab/view/1/lab/$cache
mount --rbind /state/lab/view/0 /private
mount --rbind /state/lab/view/1 /state
exec setpriv --reuid=60900 --regid=60900 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
