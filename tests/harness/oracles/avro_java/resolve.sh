#!/bin/bash
# Apache's resolution of Avro schemas, in Java: reads lines on standard input and answers each (Resolve.java).
#
#   resolve.sh fetch    has the class path resolved through Maven once, into the cache, and the class compiled there
#   resolve.sh          fetches if need be, then becomes the program
#
# ASSAYD_CACHE: the cache folder (default ${XDG_CACHE_HOME:-~/.cache}/assayd).
# Exit status 77: it cannot be had here, with the reason on standard error.
set -euo pipefail

# shellcheck source=../../servers/server.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../servers/server.sh"
readonly java_home=/usr/lib/jvm/java-17-openjdk-amd64
readonly cache=${ASSAYD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/assayd}
home=$(dirname "$self")
sum=$(cat "$home/pom.xml" "$home/Resolve.java" | sha256sum)
readonly home jars=$cache/avro-java-${sum:0:16}

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
		unavailable "Maven cannot fetch Apache Avro and $jars is empty: $reason"
	fi
	"$java_home/bin/java" -cp "$work/jars/*" org.eclipse.jdt.internal.compiler.batch.Main -17 -proc:none \
		-cp "$(printf '%s:' "$work"/jars/*.jar)" -d "$work/jars" "$home/Resolve.java" >&2 || fail "Resolve.java does not compile"
	# A rename: whoever fetches at the same time sees all of it or nothing.
	mv -T "$work/jars" "$jars" 2>/dev/null || [ -d "$jars" ] || fail "cannot write $jars"
	rm -rf "$work"
	trap - TERM INT
}

case ${1:-} in
fetch) fetch ;;
"")
	fetch
	exec "$java_home/bin/java" -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$jars:$jars/*" Resolve
	;;
*) usage ;;
esac
