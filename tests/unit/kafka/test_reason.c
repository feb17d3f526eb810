#include "kafka/reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Lines as librdkafka 2.0.2 writes them when it meets a real broker. */
static void what_a_line_says(void **state)
{
	static const struct {
		const char *line, *said;
	} cases[] = {
		{ "[thrd:127.0.0.1:1/bootstrap]: 127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: "
		  "Connection refused (after 0ms in state CONNECT, 1 identical error(s) suppressed)",
		  "127.0.0.1:1: Connect to ipv4#127.0.0.1:1 failed: Connection refused; no broker listens "
		  "there: start it, or mend the port" },
		{ "[thrd:sasl_ssl://b:9/bootstrap]: sasl_ssl://b:9/bootstrap: SASL PLAIN mechanism handshake "
		  "failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: SCRAM-SHA-256 "
		  "(after 302ms in state AUTH_HANDSHAKE)",
		  "sasl_ssl://b:9: SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL "
		  "mechanism: "
		  "broker's supported mechanisms: SCRAM-SHA-256; set sasl.mechanism in kafka.properties to "
		  "one "
		  "of these" },
		{ "127.0.0.1:5432/bootstrap: Receive failed: Invalid response size 1157627904 "
		  "(0..100000000): "
		  "increase receive.message.max.bytes (after 0ms in state APIVERSION_QUERY)",
		  "127.0.0.1:5432: Receive failed: Invalid response size 1157627904 (0..100000000); this is "
		  "no "
		  "broker, but another server: mend the address or the port" },
		{ "b:9: certificate verify failed: hostname mismatch",
		  "b:9: certificate verify failed: hostname mismatch; the broker's certificate is for "
		  "another name: "
		  "write the name that it is for in kafka.bootstrap_servers (and advertised.listeners of the "
		  "brokers)" },
		{ "something (after all) new (after 1ms in state UP)", "something (after all) new" },
		{ "two\nREADY=1\x1b[2J lines", "two?READY=1?[2J lines" },
		{ "[", "[" },
		{ "", "" },
	};
	char text[KAFKA_REASON_SIZE];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		kafka_reason_note(cases[i].line);
		assert_true(kafka_reason(text));
		assert_string_equal(text, cases[i].said);
		kafka_reason_forget();
		assert_false(kafka_reason(text));
		assert_string_equal(text, "");
	}
}

/* A broker that is stopped ends connections as one does that wants TLS. */
static void what_has_answered_before_is_told_apart(void **state)
{
	static const char line[] = "[thrd:b:9/bootstrap]: b:9/bootstrap: Disconnected while requesting "
				   "ApiVersion: might be caused by incorrect security.protocol configuration "
				   "(connecting to a SSL listener?) or broker version is < 0.10 (see "
				   "api.version.request) (after 1ms in state APIVERSION_QUERY)";
	char text[KAFKA_REASON_SIZE];
	(void)state;
	kafka_reason_note(line);
	assert_true(kafka_reason(text));
	assert_non_null(strstr(text, "; this listener may want TLS: set security.protocol"));
	kafka_reason_forget();
	kafka_reason_note(line);
	assert_true(kafka_reason(text));
	assert_string_equal(text, "b:9: Disconnected while requesting ApiVersion; the broker may be starting "
				  "or stopping, or this listener may want TLS now");
	kafka_reason_forget();
}

static void what_says_more_is_kept(void **state)
{
	char text[KAFKA_REASON_SIZE];
	(void)state;
	kafka_reason_note("b:1/bootstrap: Connect failed: Connection refused");
	kafka_reason_note("b:2/bootstrap: SASL authentication error: invalid credentials");
	kafka_reason_note("b:1/bootstrap: Connect failed: Connection refused");
	assert_true(kafka_reason(text));
	assert_non_null(strstr(text, "invalid credentials; mend sasl.username and sasl.password"));
	kafka_reason_forget();
	kafka_reason_note("b:1: certificate verify failed: unable to get local issuer certificate");
	kafka_reason_note(
		"ssl://b:1/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate "
		"verify failed: broker certificate could not be verified, verify that ssl.ca.location "
		"is correctly configured (after 5ms in state SSL_HANDSHAKE)");
	assert_true(kafka_reason(text));
	assert_non_null(strstr(text, "unable to get local issuer certificate; set ssl.ca.location"));
	kafka_reason_forget();
}

static void long_lines_are_cut(void **state)
{
	char line[2000], text[KAFKA_REASON_SIZE];
	(void)state;
	memset(line, 'x', sizeof line);
	memcpy(line + 1500, "/bootstrap: ", 12);
	line[sizeof line - 1] = '\0';
	kafka_reason_note(line);
	assert_true(kafka_reason(text));
	assert_true(strlen(text) == sizeof text - 1);
	kafka_reason_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_answered_before_is_told_apart), /* first: nothing has */
		cmocka_unit_test(what_a_line_says),
		cmocka_unit_test(what_says_more_is_kept),
		cmocka_unit_test(long_lines_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
