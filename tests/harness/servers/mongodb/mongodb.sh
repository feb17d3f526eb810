#!/bin/bash
# A private server for MongoDB's protocol in the memory of one process (mongo-java-server), on a free port of 127.0.0.1.
#
# It reads and writes, $out and $merge included: a good test of a fence. It judges no corner case, for it is not MongoDB:
#   - wire version 8 (MongoDB 4.2); no replica set, no TLS; anybody may do everything: saslStart, users and roles are unknown
#   - a session's identifier, a transaction's number and readConcern are accepted and mean nothing; so do maxTimeMS, allowDiskUse,
#     collation, let and options that nobody has heard of
#   - nothing ends a command early: no maxTimeMS, no killOp, no currentOp, and a client's end is not seen before its command's;
#     other connections go on meanwhile
#   - aggregate answers with all documents at once, whatever batchSize says; find keeps to it
#   - listCollections shows neither validators nor views: create drops both
#   - no explain; code ($where, $function, mapReduce, eval) is never run
#   - no $unionWith, $set, $replaceWith, $bucketAuto, $setWindowFields, $densify, $fill, $documents, $geoNear, nor stages that tell of
#     the server ($currentOp, $collStats, $listSessions, ...) but $indexStats; $sample is there
#   - of the expressions some 70, but no regular expressions, $switch, $let, $zip, $trim, $round, $first, $last, $type, $stdDevPop, no
#     angles, dates from parts and steps of dates; in find's projection none: a field with one is left out
#   - $all finds nothing in a field that is no array; $sample of more than 31 documents fails now and then
#   - of the accumulators $sum, $min, $max, $avg, $first, $last, $push and $addToSet; of the conditions no $jsonSchema, $text, bits
#
#   mongodb.sh fetch                fetches the server through Maven once, into the cache, and compiles Server.java there
#   mongodb.sh start [--owner PID] [--port PORT]
#       fetches if need be, starts a server, waits until it listens and prints, one a line:
#           dir=FOLDER              names the server to the commands below
#           port=PORT
#           pid=PID                 of the server
#       The server goes away with its owner, the calling process unless named.
#   mongodb.sh kill FOLDER          kill -9: all data are lost
#   mongodb.sh resume FOLDER        starts it again, empty, on the same port
#   mongodb.sh stop FOLDER          ends the server and removes the folder
#
# ASSAYD_CACHE: the cache folder (default ${XDG_CACHE_HOME:-~/.cache}/assayd).
# Exit status 77: no server can be had here, with the reason on standard error.
set -euo pipefail

# shellcheck source=../server.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../server.sh"
readonly java_home=/usr/lib/jvm/java-17-openjdk-amd64
readonly cache=${ASSAYD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/assayd}
home=$(dirname "$self")
sum=$(cat "$home/pom.xml" "$home/Server.java" | sha256sum)
readonly home jars=$cache/mongodb-${sum:0:16}

fetch() {
	[ -d "$jars" ] && return 0
	local work reason
	[ -x "$java_home/bin/java" ] || unavailable "no Java 17 in $java_home (package openjdk-17-jre-headless)"
	command -v mvn >/dev/null || unavailable "Maven is not installed and $jars is empty"
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/fetch.XXXXXX")
	trap 'rm -rf "$work"; exit 143' TERM INT
	cp "$home/pom.xml" "$work/"
	if ! JAVA_HOME=$java_home mvn -B -q -Dstyle.color=never -f "$work/pom.xml" dependency:copy-dependencies \
		-DincludeScope=runtime "-DoutputDirectory=$work/jars" >"$work/log" 2>&1 </dev/null; then
		reason=$(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")
		rm -rf "$work"
		unavailable "Maven cannot fetch the server and $jars is empty: $reason"
	fi
	"$java_home/bin/java" -m jdk.compiler/com.sun.tools.javac.Main -cp "$(printf '%s:' "$work"/jars/*.jar)" -d "$work/jars" \
		"$home/Server.java" >&2 || fail "Server.java does not compile"
	# A rename: whoever fetches at the same time sees all of it or nothing.
	mv -T "$work/jars" "$jars" 2>/dev/null || [ -d "$jars" ] || fail "cannot write $jars"
	rm -rf "$work"
	trap - TERM INT
}

# launch FOLDER [PORT]
launch() {
	local dir=$1 pid
	: >"$dir/facts"
	# A session of its own: Ctrl-C in a terminal is for the tests, the server ends with its owner.
	setsid "$java_home/bin/java" -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-Djava.io.tmpdir=$dir" -Dslf4j.internal.verbosity=ERROR \
		-cp "$jars:$jars/*" Server "${@:2}" </dev/null >"$dir/facts" 2>"$dir/log" &
	pid=$!
	echo "$pid" >"$dir/pid"
	for _ in $(seq 600); do
		grep -q '^port=' "$dir/facts" && return 0
		alive "$pid" || return 1
		sleep 0.05
	done
	return 1
}

why() {
	grep -m 1 Exception "$1/log" || tail -n 3 "$1/log"
}

start() {
	local owner=$PPID dir port=()
	while [ $# -gt 0 ]; do
		case $1 in
		--owner) owner=$2 && shift 2 ;;
		--port) port=("$2") && shift 2 ;;
		*) fail "unknown option $1" ;;
		esac
	done
	fetch
	dir=$(mktemp -d "${TMPDIR:-/tmp}/assayd-mongodb.XXXXXX")
	trap '[ -n "${dir:-}" ] && stop "$dir"' EXIT
	launch "$dir" ${port[@]+"${port[@]}"} || fail "the server does not start: $(why "$dir")"
	watch_owner "$dir" "$owner"
	trap - EXIT
	printf 'dir=%s\n' "$dir"
	cat "$dir/facts"
	printf 'pid=%s\n' "$(cat "$dir/pid")"
}

kill_server() {
	local pid
	pid=$(cat "$1/pid" 2>/dev/null) || return 0
	kill -9 "$pid" 2>/dev/null || true
	wait_gone "$pid"
}

resume() {
	launch "$1" "$(sed -n 's/^port=//p' "$1/facts")" || fail "the server does not start: $(why "$1")"
}

stop() {
	kill_server "$1"
	remove_folder "$1"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
fetch) fetch ;;
start) start "$@" ;;
kill | resume | stop)
	[ $# = 1 ] && [ -e "$1/facts" ] || fail "$command needs the server's folder"
	[ "$command" != kill ] || command=kill_server
	"$command" "$1"
	;;
*) usage ;;
esac
