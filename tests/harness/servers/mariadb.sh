#!/bin/bash
# A private MariaDB server for tests: a temporary folder and a unix socket in it, no network.
#
#   mariadb.sh start [--owner PID] [--set NAME=VALUE]…
#       makes and starts a server, with further settings of its own, waits until it answers and prints, one a line:
#           dir=FOLDER      names the server to the commands below
#           socket=PATH     every local account may connect: `root` without a password
#           files=FOLDER    the only folder that INTO OUTFILE and LOAD_FILE may reach (secure_file_priv)
#           pid=PID         of the server
#       The server goes away with its owner, the calling process unless named.
#   mariadb.sh halt FOLDER     ends the server as an administrator does
#   mariadb.sh resume FOLDER   starts it again, with the data that it had
#   mariadb.sh stop FOLDER     ends the server and removes the folder
#
# Exit status 77: no MariaDB server here.
set -euo pipefail

# shellcheck source=server.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/server.sh"
PATH=$PATH:/usr/sbin
cd /

make_data() {
	local dir=$1
	[ "$(id -u)" = 0 ] && chown mysql: "$dir"
	as_user mysql mkdir "$dir/data" "$dir/files" "$dir/tmp"
	cat >"$dir/my.cnf" <<-SETTINGS
		[server]
		datadir = $dir/data
		socket = $dir/socket
		pid_file = $dir/pid
		tmpdir = $dir/tmp
		log_error = $dir/log
		secure_file_priv = $dir/files
		skip_networking
		skip_name_resolve
		character_set_server = utf8mb4
		lower_case_table_names = 1
		innodb_buffer_pool_size = 32M
		innodb_flush_log_at_trx_commit = 0
		innodb_log_file_size = 16M
		performance_schema = off
		event_scheduler = off
		max_connections = 20
	SETTINGS
	printf '%s\n' "${@:2}" >>"$dir/my.cnf"
	as_user mysql mariadb-install-db --defaults-file="$dir/my.cnf" --auth-root-authentication-method=normal \
		--skip-test-db >"$dir/install.log" 2>&1 || fail "mariadb-install-db failed: $(tail -n 3 "$dir/install.log")"
}

launch() {
	local dir=$1
	as_user mysql setsid mariadbd --defaults-file="$dir/my.cnf" </dev/null >>"$dir/install.log" 2>&1 &
	for _ in $(seq 600); do
		mariadb-admin --no-defaults --socket="$dir/socket" --user=root ping >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	return 1
}

start() {
	local owner=$PPID dir settings=()
	while [ $# -gt 0 ]; do
		case $1 in
		--owner) owner=$2 && shift 2 ;;
		--set) settings+=("$2") && shift 2 ;;
		*) fail "unknown option $1" ;;
		esac
	done
	command -v mariadbd >/dev/null || unavailable "MariaDB is not installed"
	dir=$(mktemp -d "${TMPDIR:-/tmp}/assayd-maria.XXXXXX")
	trap '[ -n "${dir:-}" ] && stop "$dir"' EXIT
	make_data "$dir" "${settings[@]}"
	launch "$dir" || fail "the server does not start: $(tail -n 3 "$dir/log" 2>/dev/null)"
	watch_owner "$dir" "$owner"
	trap - EXIT
	printf 'dir=%s\nsocket=%s\nfiles=%s\npid=%s\n' "$dir" "$dir/socket" "$dir/files" "$(cat "$dir/pid")"
}

# Open connections end with the server; transactions that were not committed are lost.
halt() {
	local pid
	pid=$(cat "$1/pid")
	kill "$pid"
	wait_gone "$pid"
}

stop() {
	local pid
	if pid=$(cat "$1/pid" 2>/dev/null); then
		kill -9 "$pid" 2>/dev/null || true
		wait_gone "$pid"
	fi
	remove_folder "$1"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
start) start "$@" ;;
halt | resume | stop)
	[ $# = 1 ] && [ -e "$1/my.cnf" ] || fail "$command needs the server's folder"
	[ "$command" != resume ] || command=launch
	"$command" "$1"
	;;
*) usage ;;
esac
