#!/bin/bash
# A machine of its own for tests of the unit: systemd as process 1 in namespaces, with this machine's programs and network.
#
#   systemd.sh start BUILD [--owner PID]
#       installs BUILD there (`cmake --install`, prefix /usr), boots, waits until it runs and prints, one a line:
#           dir=FOLDER      names the machine to the commands below
#           pid=PID         of its process 1; /proc/PID/root is its file system
#       /usr is this machine's with a layer on top that is thrown away; /etc and /var are new and in memory. Units of this
#       machine are not started. The machine goes away with its owner, the calling process unless named.
#   systemd.sh start --root FOLDER [--owner PID]
#       the same of a Debian that debootstrap has laid out there, with systemd, systemd-sysv and dbus; nothing is installed
#       in it, and what happens to it stays
#   systemd.sh run FOLDER COMMAND…      runs a command in the machine, as root
#   systemd.sh stop FOLDER              ends it and removes the folder
#
# Controllers of cgroups are not passed on: limits of memory and tasks do not work in there.
# Exit status 77: no such machine can be had here, with the reason on standard error.
set -euo pipefail

# shellcheck source=server.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/server.sh"

possible() {
	local reason
	[ "$(id -u)" = 0 ] || unavailable "no systemd of our own: this takes root"
	[ -x /usr/lib/systemd/systemd ] && command -v dbus-daemon >/dev/null ||
		unavailable "no systemd of our own: systemd and dbus are not installed"
	[ "$(readlink -f /lib)" = /usr/lib ] || unavailable "no systemd of our own: /lib is not in /usr here"
	reason=$(unshare --pid --mount --uts --ipc --cgroup --fork bash -ec '
		mount -t tmpfs tmpfs /mnt && mkdir /mnt/{up,work,usr,cgroup}
		mount -t overlay overlay -o lowerdir=/usr,upperdir=/mnt/up,workdir=/mnt/work /mnt/usr
		mount -t cgroup2 cgroup2 /mnt/cgroup' 2>&1) ||
		unavailable "no systemd of our own: $(tail -n 1 <<<"$reason")"
}

# lay_out ROOT: what a freshly installed machine has, without any service of this one.
lay_out() {
	local root=$1 name units=$1/usr/lib/systemd/system
	mkdir -p "$root"/{usr,etc/systemd/system,etc/dbus-1/system.d,var/lib,var/log,run,tmp,proc,sys,dev,root,home,.old,.layer/up,.layer/work}
	mount -t overlay overlay -o "lowerdir=/usr,upperdir=$root/.layer/up,workdir=$root/.layer/work" "$root/usr"
	for name in bin sbin lib lib64; do
		ln -s "usr/$name" "$root/$name"
	done
	for name in ssl alternatives ld.so.cache ca-certificates.conf; do
		[ ! -e "/etc/$name" ] || cp -a "/etc/$name" "$root/etc/"
	done
	rm -rf "$root"/usr/lib/{systemd/system-generators,systemd/system-preset,tmpfiles.d} "$units"/{multi-user,timers,getty}.target.wants
	for name in "$root"/usr/lib/sysusers.d/*; do
		case ${name##*/} in
		basic.conf | dbus.conf | systemd-journal.conf) ;;
		*) rm -f "$name" ;;
		esac
	done
	for name in "$units"/sysinit.target.wants/* "$units"/sockets.target.wants/*; do
		case ${name##*/} in
		systemd-journald.s* | systemd-journald-dev-log.socket | dbus.socket) ;;
		*) rm -f "$name" ;;
		esac
	done
	printf 'assayd-test\n' >"$root/etc/hostname"
	printf '127.0.0.1 localhost assayd-test\n' >"$root/etc/hosts"
	printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
	systemd-sysusers --root="$root" >/dev/null 2>&1
	: >"$root/etc/machine-id"
	[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/"
}

# mount_kernel ROOT: file systems that systemd would mount itself if it were let.
mount_kernel() {
	local root=$1 name
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	for name in null zero full random urandom tty; do
		touch "$root/dev/$name" && mount --bind "/dev/$name" "$root/dev/$name"
	done
	for name in fd: stdin:0 stdout:1 stderr:2; do
		ln -s "/proc/self/fd/${name#*:}" "$root/dev/${name%:*}"
	done
	mkdir -p "$root/dev/pts" "$root/dev/shm"
	mount -t tmpfs tmpfs "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	mount -t tmpfs -o mode=755 tmpfs "$root/run"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
	mount --bind "$root/proc/sys" "$root/proc/sys" && mount -o remount,ro,bind "$root/proc/sys"
}

# boot FOLDER BUILD|--root TREE: in namespaces already; becomes systemd.
boot() {
	local root=$1/root
	mkdir "$root"
	if [ "$2" = --root ]; then
		mount --bind "$3" "$root"
		mkdir -p "$root/.old"
	else
		mount -t tmpfs -o mode=755 tmpfs "$root"
		lay_out "$root"
		DESTDIR=$root cmake --install "$2" --prefix /usr >/dev/null
	fi
	mount_kernel "$root"
	hostname assayd-test
	cd "$root"
	# Not chroot: the kernel refuses user namespaces (PrivateUsers=) to a process in one.
	pivot_root . .old
	umount -l /.old
	# What systemd mounts for a unit (its credentials, say) has to arrive in that unit's namespace.
	mount --make-rshared /
	exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=basic.target \
		--show-status=no --log-target=journal --log-level=notice
}

# The process 1 of the namespaces that the process of the pid file has made.
inside() {
	local pid
	pid=$(cat "$1/pid" 2>/dev/null) || return 1
	pid=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null) || return 1
	[ -n "$pid" ] && echo "${pid%% *}"
}

run() {
	local pid
	pid=$(inside "$1") || fail "$1 holds no machine that runs"
	exec nsenter -t "$pid" -p -m -u -i -C -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "${@:2}"
}

wait_running() {
	for _ in $(seq 600); do
		alive "$(cat "$1/pid")" || return 1
		case $("$self" run "$1" systemctl is-system-running 2>/dev/null) in
		running | degraded) return 0 ;;
		esac
		sleep 0.1
	done
	return 1
}

start() {
	local of owner=$PPID dir
	if [ "${1:?BUILD, or --root FOLDER}" = --root ]; then
		of=(--root "$(readlink -f "${2:?FOLDER}")") && shift 2
		[ -x "${of[1]}/lib/systemd/systemd" ] || fail "${of[1]} holds no Debian with systemd"
	else
		of=("$(readlink -f "$1")") && shift
		[ -e "${of[0]}/cmake_install.cmake" ] || fail "${of[0]} is no build"
	fi
	[ "${1:-}" != --owner ] || { owner=$2 && shift 2; }
	possible
	dir=$(mktemp -d "${TMPDIR:-/tmp}/assayd-systemd.XXXXXX")
	trap '[ -n "${dir:-}" ] && stop "$dir"' EXIT
	setsid unshare --pid --mount --uts --ipc --cgroup --fork --kill-child --propagation private \
		"$self" boot "$dir" "${of[@]}" </dev/null >"$dir/log" 2>&1 &
	echo $! >"$dir/pid"
	wait_running "$dir" || fail "systemd does not come up: $(tail -n 5 "$dir/log")"
	watch_owner "$dir" "$owner"
	trap - EXIT
	printf 'dir=%s\npid=%s\n' "$dir" "$(inside "$dir")"
}

stop() {
	local pid
	if pid=$(cat "$1/pid" 2>/dev/null); then
		kill -KILL "$pid" 2>/dev/null || true
		wait_gone "$pid"
	fi
	remove_folder "$1"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
start | boot) "$command" "$@" ;;
run | stop)
	[ -e "${1:?FOLDER}/pid" ] || fail "$1 holds no machine"
	"$command" "$@"
	;;
*) usage ;;
esac
