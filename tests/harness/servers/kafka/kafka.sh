#!/bin/bash
# One Apache Kafka broker (KRaft, a single node) for tests, in a temporary folder on free ports of 127.0.0.1.
#
#   kafka.sh fetch                  resolves the broker's class path through Maven once, into the cache, and keeps its classes
#                                   there as Java has read them, which halves what a start takes
#   kafka.sh start [--owner PID] [--behind PORT]… [--login] [--user NAME]… [--tls FOLDER] [--listener NAME:PROTOCOL]…
#                  [--set NAME=VALUE]…
#       fetches if need be, starts a broker, waits until it serves and prints, one a line:
#           dir=FOLDER              names the broker to the commands below
#           bootstrap=HOST:PORT
#           behind_PORT=PORT        for each --behind: the port of a listener whose clients are told to connect to PORT of
#                                   127.0.0.1, where the caller has a proxy for it; with --login it wants a login
#                                   (SASL_PLAINTEXT, SCRAM-SHA-256) of users that the caller makes
#           users=PORT              with --user: the port of a listener for these users (SASL/PLAIN, the password is the
#                                   name), who may do what lists of permissions say; others may do everything
#           tls=PORT, mtls=PORT, scram=PORT
#                                   with --tls, whose FOLDER holds server.pem (key and certificate of localhost) and ca.pem:
#                                   ports of listeners with TLS; with TLS that asks for a client's certificate; with TLS and
#                                   SASL (SCRAM-SHA-256, user and password assayd)
#           NAME=PORT               with --listener: the port of a listener of that protocol at localhost, which --set
#                                   listener.name.NAME.… gives its properties
#       The broker goes away with its owner, the calling process unless named. --set: properties of the broker.
#   kafka.sh kill FOLDER            kill -9
#   kafka.sh halt FOLDER            orderly shutdown; the data stay
#   kafka.sh resume FOLDER          starts it again after kill or halt, on the same port, and waits until it serves
#   kafka.sh restart FOLDER         halt and resume
#   kafka.sh stop FOLDER            ends the broker and removes the folder
#
# KAFKA_BOOTSTRAP=HOST:PORT: `start` prints that broker, starts none and `dir` is empty.
# ASSAYD_CACHE: the cache folder (default ${XDG_CACHE_HOME:-~/.cache}/assayd).
# Exit status 77: no broker can be had here, with the reason on standard error.
set -euo pipefail

# shellcheck source=../server.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../server.sh"
readonly java_home=/usr/lib/jvm/java-17-openjdk-amd64
readonly cache=${ASSAYD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/assayd}
version=$(sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' "$(dirname "$self")/pom.xml")
readonly version
readonly jars=$cache/kafka-$version
readonly formatted=$cache/kafka-$version-formatted
readonly classes=$cache/kafka-$version-classes

fetch() {
	[ -d "$jars" ] && return 0
	local work reason
	[ -x "$java_home/bin/java" ] || unavailable "no broker: no Java 17 in $java_home (package openjdk-17-jre-headless)"
	command -v mvn >/dev/null || unavailable "no broker: Maven is not installed and $jars is empty"
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/fetch.XXXXXX")
	trap 'rm -rf "$work"; exit 143' TERM INT
	cp "$(dirname "$self")/pom.xml" "$work/"
	if ! JAVA_HOME=$java_home mvn -B -q -Dstyle.color=never -f "$work/pom.xml" dependency:copy-dependencies \
		-DincludeScope=runtime "-DoutputDirectory=$work/jars" >"$work/log" 2>&1 </dev/null; then
		reason=$(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")
		rm -rf "$work"
		unavailable "no broker: Maven cannot fetch it and $jars is empty: $reason"
	fi
	# A rename: whoever fetches at the same time sees all of it or nothing.
	mv -T "$work/jars" "$jars" 2>/dev/null || [ -d "$jars" ] || fail "cannot write $jars"
	rm -rf "$work"
	trap - TERM INT
}

free_port() {
	local port
	for _ in $(seq 50); do
		port=$((20000 + RANDOM % 12000))
		port_is_free "$port" && echo "$port" && return
	done
	fail "no free port"
}

# java FOLDER CLASS ARGUMENT…: becomes that program. With CLASSES_INTO=FILE it keeps the classes that it has read there, when
# it ends in order; those that are kept are passed over by another Java and another class path.
java() {
	local dir=$1 sharing=()
	shift
	cd "$dir"
	[ ! -e "$classes" ] || sharing=("-XX:SharedArchiveFile=$classes")
	[ -z "${CLASSES_INTO:-}" ] || sharing=("-XX:ArchiveClassesAtExit=$CLASSES_INTO")
	exec "$java_home/bin/java" -Xmx512m -Xms128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 ${sharing[@]+"${sharing[@]}"} \
		"-Djava.io.tmpdir=$dir" "-Dlog4j.configuration=file:$dir/log4j.properties" -cp "$jars/*" "$@"
}

# Those of a broker; where they cannot be kept, brokers take longer to start, and that is all.
keep_classes() {
	local into facts dir
	[ ! -e "$classes" ] && [ -z "${KAFKA_BOOTSTRAP:-}" ] || return 0
	into=$(mktemp -u "$cache/classes.XXXXXX")
	facts=$(CLASSES_INTO=$into "$self" start --owner $$ 2>/dev/null) || return 0
	dir=$(sed -n 's/^dir=//p' <<<"$facts")
	"$self" halt "$dir" && "$self" stop "$dir" && mv -f "$into" "$classes" 2>/dev/null || true
}

# add_users FOLDER PORT USER…: who comes in by another listener (ANONYMOUS) needs no permission.
add_users() {
	local dir=$1 port=$2 user logins=""
	shift 2
	for user in "$@"; do
		logins+=" user_$user=\"$user\""
	done
	sed -i "s|^\(advertised\.\)\?listeners=.*|&,USERS://127.0.0.1:$port|; s|^listener.security.protocol.map=.*|&,USERS:SASL_PLAINTEXT|" \
		"$dir/server.properties"
	cat >>"$dir/server.properties" <<-PROPERTIES
		sasl.enabled.mechanisms=PLAIN
		listener.name.users.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required$logins;
		authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
		super.users=User:ANONYMOUS
	PROPERTIES
	echo "users=$port" >>"$dir/behind"
}

# add_login FOLDER PORT…: listeners behind proxies.
add_login() {
	local dir=$1 port
	shift
	sed -i '/^listener.security.protocol.map=/ s/\(BEHIND[0-9]*\):PLAINTEXT/\1:SASL_PLAINTEXT/g' "$dir/server.properties"
	for port in "$@"; do
		cat >>"$dir/server.properties" <<-PROPERTIES
			listener.name.behind$port.sasl.enabled.mechanisms=SCRAM-SHA-256
			listener.name.behind$port.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
		PROPERTIES
	done
}

# add_tls FOLDER CERTIFICATES
add_tls() {
	local dir=$1 certificates=$2 name port listeners="" protocols=""
	for name in tls mtls scram; do
		port=$(free_port)
		listeners+=,${name^^}://localhost:$port
		echo "$name=$port" >>"$dir/behind"
	done
	protocols=TLS:SSL,MTLS:SSL,SCRAM:SASL_SSL
	sed -i "s|^\(advertised\.\)\?listeners=.*|&$listeners|; s|^listener.security.protocol.map=.*|&,$protocols|" \
		"$dir/server.properties"
	cat >>"$dir/server.properties" <<-PROPERTIES
		ssl.keystore.type=PEM
		ssl.keystore.location=$certificates/server.pem
		ssl.truststore.type=PEM
		ssl.truststore.location=$certificates/ca.pem
		listener.name.mtls.ssl.client.auth=required
		listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-256
		listener.name.scram.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
	PROPERTIES
}

# add_listeners FOLDER NAME:PROTOCOL…
add_listeners() {
	local dir=$1 listener name port
	shift
	for listener in "$@"; do
		name=${listener%%:*}
		port=$(free_port)
		echo "$name=$port" >>"$dir/behind"
		sed -i "s|^\(advertised\.\)\?listeners=.*|&,${name^^}://localhost:$port|; s|^listener.security.protocol.map=.*|&,${name^^}:${listener##*:}|" \
			"$dir/server.properties"
	done
}

# write_properties FOLDER PORT CONTROLLER-PORT [ADVERTISED-PORT…]
write_properties() {
	local dir=$1 port=$2 controller=$3 listeners advertised protocols proxy own
	listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
	advertised=PLAINTEXT://127.0.0.1:$port
	protocols=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
	shift 3
	: >"$dir/behind"
	for proxy in "$@"; do
		own=$(free_port)
		listeners+=,BEHIND$proxy://127.0.0.1:$own
		advertised+=,BEHIND$proxy://127.0.0.1:$proxy
		protocols+=,BEHIND$proxy:PLAINTEXT
		echo "behind_$proxy=$own" >>"$dir/behind"
	done
	cat >"$dir/server.properties" <<-PROPERTIES
		process.roles=broker,controller
		node.id=1
		controller.quorum.voters=1@127.0.0.1:$controller
		listeners=$listeners
		advertised.listeners=$advertised
		listener.security.protocol.map=$protocols
		controller.listener.names=CONTROLLER
		log.dirs=$dir/data
		auto.create.topics.enable=false
		group.initial.rebalance.delay.ms=0
		offsets.topic.replication.factor=1
		offsets.topic.num.partitions=4
		transaction.state.log.replication.factor=1
		transaction.state.log.min.isr=1
		transaction.state.log.num.partitions=4
		transaction.partition.verification.enable=true
		transaction.abort.timed.out.transaction.cleanup.interval.ms=500
		group.min.session.timeout.ms=1000
		broker.session.timeout.ms=2000
		broker.heartbeat.interval.ms=300
		log.cleaner.enable=false
		metadata.max.idle.interval.ms=0
		num.network.threads=2
		num.io.threads=2
		message.max.bytes=20000000
		replica.fetch.max.bytes=20000000
	PROPERTIES
}

write_logging() {
	cat >"$1/log4j.properties" <<-LOGGING
		log4j.rootLogger=INFO, stdout
		log4j.appender.stdout=org.apache.log4j.ConsoleAppender
		log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
		log4j.appender.stdout.layout.ConversionPattern=%d{ISO8601} %p %c{1} %m%n
	LOGGING
}

new_id() {
	head -c 16 /dev/urandom | base64 | tr '+/' 'AA' | tr -d '='
}

# Kafka's own tool formats a folder once for all brokers; the next ones get a copy with identifiers of their own.
format_storage() {
	local dir=$1 work scram=()
	if grep -q '^listener.name.scram' "$dir/server.properties"; then # a folder of its own, which knows the user
		scram=(--add-scram 'SCRAM-SHA-256=[name=assayd,password=assayd]')
	elif [ -d "$formatted" ]; then
		cp -r "$formatted" "$dir/data"
		sed -i "s:^cluster.id=.*:cluster.id=$(new_id):; s:^directory.id=.*:directory.id=$(new_id):" "$dir/data/meta.properties"
		return
	fi
	(CLASSES_INTO="" java "$dir" kafka.tools.StorageTool format -t "$(new_id)" -c "$dir/server.properties" ${scram[@]+"${scram[@]}"}) \
		>"$dir/format.log" 2>&1 || return 1
	[ ${#scram[@]} = 0 ] || return 0
	if work=$(mktemp -d "$cache/format.XXXXXX" 2>/dev/null); then
		# A rename: whoever does the same meanwhile sees all of it or nothing.
		cp -r "$dir/data" "$work/data" && mv -T "$work/data" "$formatted" 2>/dev/null || true
		rm -rf "$work"
	fi
}

launch() {
	local dir=$1 pid
	: >"$dir/log"
	# A session of its own: Ctrl-C in a terminal is for the tests, the broker ends with its owner.
	(exec setsid "$self" serve "$dir") </dev/null >"$dir/log" 2>&1 &
	pid=$!
	echo "$pid" >"$dir/pid"
	for _ in $(seq 600); do
		grep -q 'Kafka Server started' "$dir/log" && return 0
		alive "$pid" || return 1
		sleep 0.1
	done
	return 1
}

why() {
	grep -m 2 -E 'ERROR|FATAL|Exception' "$1/log" "$1/format.log" 2>/dev/null || tail -n 3 "$1/log"
}

start() {
	local owner=$PPID dir port="" behind=() login="" users=() tls="" listeners=() properties=()
	while [ $# -gt 0 ]; do
		case $1 in
		--owner) owner=$2 && shift 2 ;;
		--behind) behind+=("$2") && shift 2 ;;
		--login) login=yes && shift ;;
		--user) users+=("$2") && shift 2 ;;
		--tls) tls=$(readlink -f "$2") && shift 2 ;;
		--listener) listeners+=("$2") && shift 2 ;;
		--set) properties+=("$2") && shift 2 ;;
		*) fail "unknown option $1" ;;
		esac
	done
	if [ -n "${KAFKA_BOOTSTRAP:-}" ]; then
		printf 'dir=\nbootstrap=%s\n' "$KAFKA_BOOTSTRAP"
		return
	fi
	fetch
	dir=$(mktemp -d "${TMPDIR:-/tmp}/assayd-kafka.XXXXXX")
	trap '[ -n "${dir:-}" ] && end_server "$dir" KILL && rm -rf "$dir"' EXIT
	write_logging "$dir"
	for _ in 1 2 3; do
		port=$(free_port)
		write_properties "$dir" "$port" "$(free_port)" ${behind[@]+"${behind[@]}"}
		[ -z "$login" ] || add_login "$dir" ${behind[@]+"${behind[@]}"}
		[ ${#users[@]} = 0 ] || add_users "$dir" "$(free_port)" "${users[@]}"
		[ -z "$tls" ] || add_tls "$dir" "$tls"
		add_listeners "$dir" ${listeners[@]+"${listeners[@]}"}
		printf '%s\n' ${properties[@]+"${properties[@]}"} >>"$dir/server.properties"
		rm -rf "$dir/data"
		format_storage "$dir" || fail "the storage cannot be formatted: $(why "$dir")"
		launch "$dir" && break
		end_server "$dir" KILL
		port=""
	done
	[ -n "$port" ] || fail "the broker does not start: $(why "$dir")"
	watch_owner "$dir" "$owner"
	trap - EXIT
	printf 'dir=%s\nbootstrap=127.0.0.1:%s\n' "$dir" "$port"
	cat "$dir/behind"
}

# end_server FOLDER SIGNAL: sends it, waits, insists after 20 s.
end_server() {
	local pid
	pid=$(cat "$1/pid" 2>/dev/null) || return 0
	kill "-$2" "$pid" 2>/dev/null || true
	for _ in $(seq 400); do
		alive "$pid" || break
		sleep 0.05
	done
	kill -KILL "$pid" 2>/dev/null || true
	rm -f "$1/pid"
}

stop() {
	end_server "$1" KILL
	remove_folder "$1"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
fetch) fetch && keep_classes ;;
start) start "$@" ;;
serve) java "$1" kafka.Kafka "$1/server.properties" ;;
kill | halt | resume | restart | stop)
	[ $# = 1 ] || fail "$command needs the broker's folder"
	[ -d "$1/data" ] || fail "$1 holds no broker"
	case $command in
	kill) end_server "$1" KILL ;;
	halt) end_server "$1" TERM ;;
	resume) launch "$1" || fail "the broker does not start: $(why "$1")" ;;
	restart) end_server "$1" TERM && { launch "$1" || fail "the broker does not start: $(why "$1")"; } ;;
	stop) stop "$1" ;;
	esac
	;;
*) usage ;;
esac
