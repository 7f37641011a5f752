#!/bin/sh
# Runs a command on a node of lab <<.Lab>> as the lab's user. The script enter,
# which has made the node's mounts, runs this one as root.
set -e
umask 022
mount --bind <<.Root>>/passwd /etc/passwd
mount --bind <<.Root>>/group /etc/group
<<- if .Views>>
# Only root may enter some of the folders above Java, Hadoop and the lab's files,
# such as root's home. Folders in memory take their place, which have no more than
# the paths to those files.
mount -t tmpfs -o size=1m,mode=755,nosuid,nodev heddle <<.Root>>/view
<<- range $i, $v := .Views>>
<<- range $v.Paths>>
mkdir -p <<$.Root>>/view/<<$i>><<.>>
mount --bind <<$v.Over>><<.>> <<$.Root>>/view/<<$i>><<.>>
<<- if eq (print $v.Over .) $.Root>>
cache=nodes/$(uname -n)/cache
mount --bind <<$.Root>>/$cache <<$.Root>>/view/<<$i>><<.>>/$cache
<<- end>>
<<- end>>
<<- end>>
<<- range $i, $v := .Views>>
mount --rbind <<$.Root>>/view/<<$i>> <<$v.Over>>
<<- end>>
<<- end>>
exec setpriv --reuid=<<.UID>> --regid=<<.UID>> --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
