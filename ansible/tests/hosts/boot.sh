#!/bin/sh
# The first process of a host. It starts in mount, PID, UTS, IPC and network
# namespaces of its own, makes the host's root folder, and becomes systemd.
#
#   boot.sh NAME FOLDER GROUP HIERARCHY...
#
# FOLDER has the host's folders upper, work and root. GROUP is the path of the
# host's control group below each hierarchy's mount point. A HIERARCHY is
# TYPE:OPTIONS:MOUNTPOINT, as in /proc/mounts. The script waits for a line on
# its standard input, so that the host's network is there before systemd is.
# It ends if there is none, since then its parent has died.
set -eu

devices='null zero full random urandom tty'

enter_groups() {
	for hierarchy in "$@"; do
		echo 0 >"${hierarchy##*:}/$group/cgroup.procs"
	done
}

mount_root() {
	mount --make-rprivate /
	mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$folder/root"
	cd "$folder/root"
	mount -t proc -o nosuid,nodev,noexec proc proc
	mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
	mount -t tmpfs -o mode=755,nosuid,nodev tmpfs run
	mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs tmp
}

# Of the kernel's settings, a host may change those of its own network. It may
# also drop the page cache, as any machine may, which drops that of all hosts.
protect_kernel() {
	mount --bind proc/sys proc/sys
	mount -o remount,bind,ro proc/sys
	for own in net vm/drop_caches; do
		mount --bind "proc/sys/$own" "proc/sys/$own"
		mount -o remount,bind,rw "proc/sys/$own"
	done
	# Each boot of a host has an id of its own, by which the journal tells boots apart.
	cat proc/sys/kernel/random/uuid >run/boot-id
	mount --bind run/boot-id proc/sys/kernel/random/boot_id
	mount -o remount,bind,ro proc/sys/kernel/random/boot_id
	if [ -e proc/sysrq-trigger ]; then mount --bind /dev/null proc/sysrq-trigger; fi
}

mount_dev() {
	mount -t tmpfs -o mode=755,nosuid tmpfs dev
	for device in $devices; do
		: >"dev/$device"
		mount --bind "/dev/$device" "dev/$device"
	done
	mkdir dev/pts dev/shm
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
	mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs dev/shm
	ln -s pts/ptmx dev/ptmx
	ln -s /proc/self/fd dev/fd
	ln -s /proc/self/fd/0 dev/stdin
	ln -s /proc/self/fd/1 dev/stdout
	ln -s /proc/self/fd/2 dev/stderr
}

# In a control group namespace a new mount of a hierarchy shows the host's own
# group as the hierarchy's root.
mount_groups() {
	case $1 in
	*:/sys/fs/cgroup) ;;
	*) mount -t tmpfs -o mode=755,nosuid,nodev,noexec tmpfs sys/fs/cgroup ;;
	esac
	for hierarchy in "$@"; do
		type=${hierarchy%%:*} at=${hierarchy##*:} options=${hierarchy#*:}
		options=${options%:*}
		mkdir -p ".$at"
		mount -t "$type" -o "nosuid,nodev,noexec${options:+,$options}" cgroup ".$at"
	done
}

# systemd hands credentials to a service by a mount that has to propagate, so
# the host's mounts are shared among the namespaces that its services get.
become_systemd() {
	mkdir run/machine
	pivot_root . run/machine
	cd /
	umount -l /run/machine
	rmdir /run/machine
	mount --make-rshared /
	exec setpriv --bounding-set -mknod,-sys_module,-sys_rawio,-sys_time \
		env -i container=heddle PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin /lib/systemd/systemd
}

stage=boot
if [ "$1" = --in-group ]; then
	stage=in-group
	shift
fi
name=$1 folder=$2 group=$3
shift 3
if [ $stage = boot ]; then
	enter_groups "$@"
	read -r _ || exit 1
	exec unshare --cgroup sh "$0" --in-group "$name" "$folder" "$group" "$@"
fi
mount_root
protect_kernel
mount_dev
mount_groups "$@"
become_systemd
