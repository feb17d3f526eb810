/* What may stand where the configuration names a server, what may not, and in which words that is told. */
#include "address/base_url.h"
#include "address/brokers.h"
#include "address/host_port.h"
#include "address/libpq_dsn.h"
#include "address/server_hint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *text, *wrong; /* a part of what is said; NULL: nothing */
} brokers[] = {
	{ "localhost:9092", NULL },
	{ "kafka1:9092,kafka2:9092", NULL },
	{ " kafka1 , [::1]:9092,,10.0.0.1:1 ", NULL },
	{ "SASL_SSL://kafka1:65535", NULL },
	{ "[fe80::1%eth0]:9092", NULL },
	{ "b:99999", "\"b:99999\": the port is not a number from 1 to 65535" },
	{ "b:65536", "the port is not a number" },
	{ "b:0", "the port is not a number" },
	{ "b:", "the port is not a number" },
	{ "b:9092/", "the port is not a number" },
	{ "b:90 92", "the port is not a number" },
	{ "good:9092, :9092", "\":9092\": there is no host before the port" },
	{ "http://b:9092",
	  "\"http://b:9092\": write a broker as host:port, without http://; security.protocol" },
	{ "kafka://b:9092", "without kafka://" },
	{ "b1:9092;b2:9092",
	  "\"b1:9092;b2:9092\": brokers are separated by commas: write \"b1:9092,b2:9092\"" },
	{ "b1:9092 b2:9092", "write \"b1:9092,b2:9092\"" },
	{ "b1:9092; b2:9092;", "write \"b1:9092,b2:9092\"" },
	{ "b1;b2:9092", "write \"b1,b2:9092\"" },
	{ "b 1",
	  "the host is not a name or an address; write brokers as \"host:port\", separated by commas" },
	{ "::1:9092", "such as [::1]:PORT" },
	{ "[::1:9092", "a bracket is not closed" },
	{ "[::1]9092", "the port after the bracket is missing" },
	{ " , ", "no broker is given" },
};

static void what_is_wrong_with_brokers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof brokers / sizeof *brokers; i++) {
		struct err_detail detail = { "" };
		err_t err = brokers_check(brokers[i].text, &detail);
		if (err != (brokers[i].wrong ? ERR_CONFIG_RANGE : ERR_OK) ||
		    (err && !strstr(detail.message, brokers[i].wrong)))
			fail_msg("%s: %s", brokers[i].text, detail.message);
	}
}

static void hosts_and_ports_are_read(void **state)
{
	static const struct {
		const char *text, *host;
		unsigned lowest, usual, port;
	} cases[] = {
		{ "127.0.0.1:9464", "127.0.0.1", 0, 0, 9464 },
		{ "[::1]:0", "::1", 0, 0, 0 },
		{ "localhost:1", "localhost", 1, 0, 1 },
		{ "[::1]", "::1", 1, 7, 7 },
		{ "name", "name", 1, 9092, 9092 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct host_port read;
		assert_int_equal(host_port_read(cases[i].text, strlen(cases[i].text), cases[i].lowest,
						cases[i].usual, &read, NULL),
				 ERR_OK);
		assert_string_equal(read.host, cases[i].host);
		assert_int_equal(read.port, cases[i].port);
	}
	struct host_port read;
	struct err_detail detail;
	assert_int_equal(host_port_read("name", 4, 1, 0, &read, &detail), ERR_CONFIG_RANGE);
	assert_string_equal(detail.message, "there is no port; write HOST:PORT");
}

static const struct {
	const char *text, *wrong;
} dsns[] = {
	{ "host=db dbname=shop user=a", NULL },
	{ "", NULL },
	{ "postgresql://u@[::1]:5432/d?sslmode=verify-full", NULL },
	{ "host=a,b port=1,2 target_session_attrs=read-only", NULL },
	{ "host=a,b port=5432", NULL },
	{ "host=/run/postgresql,@abstract port=,5433", NULL },
	{ "host=::1 hostaddr=fe80::1%eth0", NULL },
	{ "ssl_min_protocol_version=tlsv1.2 connect_timeout=-1 service=s", NULL },
	{ "hots=db", "libpq knows no keyword \"hots\"; did you mean \"host\"?" },
	{ "postgresql://h/d?ssl_mode=x", "libpq knows no keyword \"ssl_mode\"; did you mean \"sslmode\"?" },
	{ "hunter2=db", "not a libpq connection string" },
	{ "host=db hunter2", "not a libpq connection string" },
	{ "host='hunter2", "not a libpq connection string" },
	{ "sslmode=bogus",
	  "sslmode=bogus: it is one of disable, allow, prefer, require, verify-ca, verify-full" },
	{ "sslmode=Require", "sslmode=Require: it is one of" },
	{ "gssencmode=on", "gssencmode=on: it is one of disable, prefer, require" },
	{ "channel_binding=1", "channel_binding=1: it is one of" },
	{ "target_session_attrs=rw", "target_session_attrs=rw: it is one of any, read-write, read-only" },
	{ "ssl_max_protocol_version=1.3", "it is one of TLSv1, TLSv1.1" },
	{ "connect_timeout=5s", "connect_timeout=5s: it is a number" },
	{ "port=99999", "port=99999: a port is a number from 1 to 65535" },
	{ "port=5432,x", "a port is a number" },
	{ "host=a,b,c port=1,2", "there are 2 ports for 3 hosts" },
	{ "hostaddr=db", "hostaddr=db: not an IP address; set a name as host" },
	{ "host=a,b hostaddr=127.0.0.1", "host and hostaddr are not of the same number" },
	{ "host=db:5432", "host=db:5432: the port does not belong to the host; write port=" },
	{ "host=127.0.0.1:5432", "write port=" },
	{ "host='db one'", "it is a name, an address, or a folder of sockets" },
	{ "host=http://db", "it is a name, an address" },
	{ "host=a password=hunter2", "contains a password; write it to a file" },
	{ "postgresql://u:hunter2@h", "contains a password" },
};

static void what_is_wrong_with_connection_strings(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof dsns / sizeof *dsns; i++) {
		struct err_detail detail = { "" };
		err_t err = libpq_dsn_check(dsns[i].text, &detail);
		if (err != (dsns[i].wrong ? ERR_CONFIG_RANGE : ERR_OK) ||
		    (err && !strstr(detail.message, dsns[i].wrong)) || strstr(detail.message, "hunter2"))
			fail_msg("%s: %s", dsns[i].text, detail.message);
	}
}

static const struct {
	const char *text, *wrong;
} urls[] = {
	{ "http://127.0.0.1:8080/v1", NULL },
	{ "HTTPS://api.example.org", NULL },
	{ "http://[::1]:80/v1/", NULL },
	{ "", "the address is missing" },
	{ "ftp://h", "begins with http:// or https://" },
	{ "api.example.org/v1", "begins with http:// or https://" },
	{ "http://h:99999/v1", "Port number" },
	{ "http://a b/v1", "not the address of a server" },
	{ "http://", "not the address of a server" },
	{ "https://hunter2@h/v1", "use api_key_file instead" },
	{ "https://u:hunter2@h/v1", "use api_key_file instead" },
	{ "https://h/v1?key=hunter2", "a query or a fragment" },
	{ "https://h/v1#x", "a query or a fragment" },
	{ "https://h/v1/chat/completions", "ends with /chat/completions, which assayd appends itself" },
	{ "https://h/v1/messages/", "ends with /messages" },
};

static void what_is_wrong_with_urls(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
		struct err_detail detail = { "" };
		err_t err = base_url_check(urls[i].text, "api_key_file", &detail);
		if (!err != !urls[i].wrong || (err && !strstr(detail.message, urls[i].wrong)) ||
		    strstr(detail.message, "hunter2"))
			fail_msg("%s: %s", urls[i].text, detail.message);
	}
}

static void what_others_can_read_on_the_way(void **state)
{
	static const struct {
		const char *url;
		bool plain;
	} cases[] = {
		{ "http://h", true },
		{ "HTTP://h:8080/v1?x", true },
		{ "http://127.0.0.1.example.org/", true },
		{ "http://localhost@h/", true },
		{ "https://h", false },
		{ "http://localhost", false },
		{ "http://LOCALHOST:8080/v1", false },
		{ "http://127.0.0.1?x", false },
		{ "http://[::1]:80/v1/", false },
		{ "", false },
		{ "http://a b", false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (base_url_is_plain(cases[i].url) != cases[i].plain)
			fail_msg("%s", cases[i].url);
}

static void what_to_do_about_what_a_server_says(void **state)
{
	static const struct {
		const char *said, *hint;
	} cases[] = {
		{ "FATAL:  database \"shopp\" does not exist", "; mend dbname, or create it" },
		{ "FATAL:  role \"who\" does not exist", "; mend user, or create the role" },
		{ "connection to server at \"h\", port 1 failed: Connection refused",
		  "; no server listens there" },
		{ "connection to server on socket \"/run/.s.PGSQL.1\" failed: No such file or directory",
		  "; no server listens there: start it, or set host" },
		{ "definition of service \"x\" not found", "; add it to pg_service.conf" },
		{ "server certificate for \"a\" does not match host name \"b\"", "; set host to the name" },
		{ "Access denied for user 'a'@'h'", "; mend user and what password_file holds" },
		{ "something new", "" },
		{ "connection refused calling hello on 'db:27017'", "; no server listens there" },
		{ "socket timeout calling hello on 'db:27017'", "; no answer, or not one of MongoDB" },
		{ "TLS handshake failed: error:0A00010B", "; the server may not speak TLS" },
		{ "TLS handshake failed: certificate verify failed (19)", "; set the CA certificates" },
		{ "Failed to resolve 'db'", "; mend the host in the dsn" },
		{ "no suitable server was found", "; none of the hosts is what the dsn asks for" },
		{ "Authentication failed.", "; mend user, authSource" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_memory_equal(server_hint(cases[i].said), cases[i].hint,
				    strlen(cases[i].hint) + !*cases[i].hint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_with_brokers),
		cmocka_unit_test(hosts_and_ports_are_read),
		cmocka_unit_test(what_is_wrong_with_connection_strings),
		cmocka_unit_test(what_is_wrong_with_urls),
		cmocka_unit_test(what_others_can_read_on_the_way),
		cmocka_unit_test(what_to_do_about_what_a_server_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
