#!/bin/bash
# Starts Docker in a root directory and namespaces of its own: engine.ts runs it with unshare.
# The networks and firewall rules of the containers are not those of the machine. Everything ends
# with this process.
# Arguments: the root directory, a directory that has the same path inside, and the name of the
# control group of all containers, which remains when the engine is killed: engine.ts removes it.
set -euo pipefail
root=$1 shared=$2 control_group=$3
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount --rbind /dev dev
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mount -t tmpfs tmpfs sys/fs/cgroup
  for controller in cpu cpuacct cpuset memory devices freezer blkio pids; do
    mkdir "sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "sys/fs/cgroup/$controller"
  done
  # A container that runs systemd keeps its services here.
  if grep -q :name=systemd: /proc/self/cgroup; then
    mkdir sys/fs/cgroup/systemd
    mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
  fi
fi
mkdir -p ".$shared" machine
mount --bind "$shared" ".$shared"
echo 'nameserver 10.0.2.3' >etc/resolv.conf # of slirp4netns
pivot_root . machine
umount -l machine
# slirp4netns, outside, connects this network with that of the machine.
until grep -q tap0: /proc/net/dev; do sleep 0.1; done
exec dockerd --storage-driver overlay2 --cgroup-parent "/$control_group"
