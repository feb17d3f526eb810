# What the private servers of the tests have in common; sourced by kafka.sh, mariadb.sh, mongodb.sh and others. A server is
# named by its folder and goes away with its owner.

self=$(readlink -f "${BASH_SOURCE[1]}")
readonly self

fail() {
	echo "${self##*/}: $*" >&2
	exit 1
}

# unavailable REASON: there is no such server here.
unavailable() {
	echo "${self##*/}: $*" >&2
	exit 77
}

# The comment at the head of the script.
usage() {
	sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$self" >&2
	exit 64
}

# as_user USER COMMAND…: servers refuse to run as root. setpriv becomes the command: runuser would wait for it, and stop
# with it when it is stopped.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups -- "${@:2}"
	else
		"${@:2}"
	fi
}

port_is_free() {
	! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Running, that is: neither gone nor waiting to be reaped.
alive() {
	[ -e "/proc/$1/exe" ]
}

wait_gone() {
	while alive "$1"; do
		sleep 0.02
	done
}

# watch_owner FOLDER OWNER: stops the server when its owner is gone, however that came about.
watch_owner() {
	setsid bash -c '
		tail --pid="$2" -f /dev/null
		rm -f "$1/watcher"
		[ -d "$1" ] && exec "$0" stop "$1"
	' "$self" "$1" "$2" </dev/null >/dev/null 2>&1 &
	echo $! >"$1/watcher"
}

# remove_folder FOLDER: of a server that has ended, and whoever watches its owner.
remove_folder() {
	local watcher
	if watcher=$(cat "$1/watcher" 2>/dev/null); then
		kill -- "-$watcher" 2>/dev/null || true
	fi
	rm -rf "$1"
}
