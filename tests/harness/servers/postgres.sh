#!/bin/bash
# A private PostgreSQL 15 cluster for tests: a temporary folder, a unix socket, a free port on 127.0.0.1.
#
#   postgres.sh keep
#       makes a cluster once in the cache, which `start` without a password copies where it is there, in half the time
#   postgres.sh start [--password SECRET] [--owner PID]
#       makes and starts a cluster, waits until it answers and prints, one a line:
#           dir=FOLDER              names the cluster to the commands below; also the unix socket's folder
#           port=PORT
#           dsn=LIBPQ-STRING        over TCP, database and superuser `postgres`
#           socket_dsn=LIBPQ-STRING over the unix socket (always trusted)
#       With --password TCP connections need SECRET (scram-sha-256; not part of the dsn); without, all are trusted.
#       The cluster goes away with its owner, the calling process unless named.
#   postgres.sh kill FOLDER      kill -9 of the server
#   postgres.sh halt FOLDER      fast shutdown; the data stay
#   postgres.sh resume FOLDER    starts it again after kill or halt, on the same port
#   postgres.sh restart FOLDER   halt and resume
#   postgres.sh stop FOLDER      ends the server and removes the folder
#
# ASSAYD_CACHE: the cache folder (default ${XDG_CACHE_HOME:-~/.cache}/assayd).
# Exit status 77: no PostgreSQL 15 here.
set -euo pipefail

readonly bin=${ASSAYD_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}
# shellcheck source=server.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/server.sh"
cd /

readonly cache=${ASSAYD_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/assayd}

# The folder of the kept cluster, by the version of the server.
kept() {
	echo "$cache/$("$bin/postgres" -V | tr -cs 'A-Za-z0-9.\n' '-')-cluster"
}

init_cluster() {
	local dir=$1 password=$2 method=trust
	[ -n "$password" ] && method=scram-sha-256
	(umask 077 && printf '%s\n' "${password:-unused}" >"$dir/password")
	[ "$(id -u)" = 0 ] && chown postgres: "$dir/password"
	as_user postgres "$bin/initdb" -D "$dir/data" -U postgres -E UTF8 --locale=C.UTF-8 --no-sync \
		--auth-local=trust --auth-host="$method" --pwfile="$dir/password" >"$dir/initdb.log" 2>&1 ||
		fail "initdb failed: $(tail -n 3 "$dir/initdb.log")"
	rm -f "$dir/password"
}

keep() {
	[ ! -d "$(kept)" ] || return 0
	dir=$(mktemp -d "${TMPDIR:-/tmp}/assayd-pg.XXXXXX")
	mkdir -p "$cache" && work=$(mktemp -d "$cache/cluster.XXXXXX")
	trap 'rm -rf "$dir" "$work"' EXIT
	[ "$(id -u)" = 0 ] && chown postgres: "$dir"
	init_cluster "$dir" ""
	# A rename: whoever does the same meanwhile sees all of it or nothing.
	cp -a "$dir/data" "$work/data" && mv -T "$work/data" "$(kept)" 2>/dev/null || [ -d "$(kept)" ]
}

make_cluster() {
	local dir=$1 password=$2
	[ "$(id -u)" = 0 ] && chown postgres: "$dir"
	if [ -z "$password" ] && [ -d "$(kept)" ]; then
		cp -a "$(kept)" "$dir/data"
	else
		init_cluster "$dir" "$password"
	fi
	# fsync only matters when the machine fails: what was committed outlives kill -9 of the server without it.
	cat >>"$dir/data/postgresql.conf" <<-SETTINGS
		listen_addresses = '127.0.0.1'
		unix_socket_directories = '$dir'
		fsync = off
		full_page_writes = off
		max_connections = 100
		shared_buffers = 32MB
		timezone = 'UTC'
		logging_collector = off
	SETTINGS
}

launch() {
	local dir=$1 port=$2
	as_user postgres "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -o "-p $port" -w -t 60 start >/dev/null 2>&1
}

server_pid() {
	[ -s "$1/data/postmaster.pid" ] && head -n 1 "$1/data/postmaster.pid"
}

start() {
	local password="" owner=$PPID dir port
	while [ $# -gt 0 ]; do
		case $1 in
		--password) password=$2 && shift 2 ;;
		--owner) owner=$2 && shift 2 ;;
		*) fail "unknown option $1" ;;
		esac
	done
	dir=$(mktemp -d "${TMPDIR:-/tmp}/assayd-pg.XXXXXX")
	trap '[ -n "${dir:-}" ] && rm -rf "$dir"' EXIT
	make_cluster "$dir" "$password"
	for _ in 1 2 3 4 5 6; do
		port=$((20000 + RANDOM % 12000))
		port_is_free "$port" && launch "$dir" "$port" && break
		port=""
	done
	[ -n "$port" ] || fail "the server does not start: $(tail -n 3 "$dir/log" 2>/dev/null)"
	echo "$port" >"$dir/port"
	watch_owner "$dir" "$owner"
	trap - EXIT
	printf 'dir=%s\nport=%s\n' "$dir" "$port"
	printf 'dsn=host=127.0.0.1 port=%s user=postgres dbname=postgres\n' "$port"
	printf 'socket_dsn=host=%s port=%s user=postgres dbname=postgres\n' "$dir" "$port"
}

kill_server() {
	local pid children
	pid=$(server_pid "$1") || return 0
	children=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null || true)
	kill -9 "$pid" 2>/dev/null || true
	# Backends leave by themselves when the postmaster is gone; a busy one would keep the port and shared memory.
	for child in $children; do
		kill -9 "$child" 2>/dev/null || true
	done
	wait_gone "$pid"
	# Their locks name a process that may still be waiting to be reaped.
	rm -f "$1"/data/postmaster.pid "$1"/.s.PGSQL.*
}

halt() {
	server_pid "$1" >/dev/null || return 0
	as_user postgres "$bin/pg_ctl" -D "$1/data" -m "${2:-fast}" -w -t 30 stop >/dev/null 2>&1 || kill_server "$1"
}

stop() {
	halt "$1" immediate
	remove_folder "$1"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
keep | start) [ -x "$bin/initdb" ] || unavailable "PostgreSQL 15 is not installed ($bin)" ;;
esac
case $command in
keep) keep ;;
start) start "$@" ;;
kill | halt | resume | restart | stop)
	[ $# = 1 ] || fail "$command needs the cluster's folder"
	[ -d "$1/data" ] || fail "$1 holds no cluster"
	case $command in
	kill) kill_server "$1" ;;
	halt) halt "$1" ;;
	resume) launch "$1" "$(cat "$1/port")" || fail "the server does not start: $(tail -n 3 "$1/log")" ;;
	restart) halt "$1" && launch "$1" "$(cat "$1/port")" ;;
	stop) stop "$1" ;;
	esac
	;;
*) usage ;;
esac
