#include "kafka/reason.h"

#include "common/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { KEEP_MS = 10000, FORGET_MS = 60000 };

/* librdkafka's guess when a connection ends at once, and ours where the cluster has answered before. */
static const char guess[] = ": might be caused by incorrect security.protocol";
static const char better_guess[] =
	"the broker may be starting or stopping, or this listener may want TLS now";

/* From what says most to what says least: the first that is in the text. */
static const struct {
	const char *part, *hint;
} hints[] = {
	{ "no token from ", NULL }, /* says how it is mended */
	{ "kafka.oauth.", NULL },
	{ "invalid_token",
	  "the broker does not take the token: compare what it is for, by assayd check, with what "
	  "the broker expects (audience, scope, issuer, key), whose log says why" },
	{ "Unsupported SASL mechanism", "set sasl.mechanism in kafka.properties to one of these" },
	{ "invalid credentials", "mend sasl.username and sasl.password" },
	{ "Invalid username or password", "mend sasl.username and sasl.password" },
	{ "not valid in current SASL state",
	  "this listener has no SASL: set security.protocol to SSL or PLAINTEXT, or name another port" },
	{ "might require SASL",
	  "set security.protocol to SASL_SSL or SASL_PLAINTEXT, and sasl.*, in kafka.properties" },
	{ "SASL", "mend the sasl.* entries of kafka.properties" },
	{ "verify failed: hostname mismatch",
	  "the broker's certificate is for another name: write the name that it is for in "
	  "kafka.bootstrap_servers (and advertised.listeners of the brokers)" },
	{ "verify failed: IP address mismatch",
	  "the broker's certificate is for a name, not for this address: write the name in "
	  "kafka.bootstrap_servers (and advertised.listeners of the brokers)" },
	{ "verify failed: certificate has expired",
	  "have the broker's certificate, or its authority's, renewed" },
	{ "verify failed: certificate is not yet valid",
	  "mend the clock of this machine or the certificate" },
	{ "verify failed: ",
	  "set ssl.ca.location in kafka.properties to the certificates of the authority that issued the "
	  "broker's" },
	{ "certificate verify failed",
	  "set ssl.ca.location in kafka.properties to the authority of the brokers, and name them in "
	  "kafka.bootstrap_servers as their certificate does" },
	{ "alert bad certificate",
	  "the broker wants a certificate of ours: set ssl.certificate.location and ssl.key.location" },
	{ "certificate required",
	  "the broker wants a certificate of ours: set ssl.certificate.location and ssl.key.location" },
	{ "alert certificate unknown",
	  "the broker does not trust our certificate, or it has expired: mend ssl.certificate.location" },
	{ "alert certificate expired", "our certificate has expired: have it renewed, and restart" },
	{ "alert unknown ca", "the broker does not trust our certificate: mend ssl.certificate.location" },
	{ "unexpected eof", "this listener may have no TLS: mend security.protocol or the port" },
	{ "wrong version number", "this listener has no TLS: mend security.protocol or the port" },
	{ "SSL handshake failed", "mend the ssl.* entries of kafka.properties" },
	{ "connecting to a SSL listener?",
	  "this listener may want TLS: set security.protocol to SSL or SASL_SSL in kafka.properties" },
	{ "Invalid response size", "this is no broker, but another server: mend the address or the port" },
	{ "Protocol parse failure",
	  "this may be no broker, but another server: mend the address or the port" },
	{ "timed out: disconnect", "the connection stands, but the broker does not answer: see whether it "
				   "hangs, and whether this is a "
				   "broker's port" },
	{ "request(s) timed out", "the broker does not answer: see whether it hangs" },
	{ "Failed to resolve", "mend the name in kafka.bootstrap_servers, or the name service" },
	{ "Connection refused", "no broker listens there: start it, or mend the port" },
	{ "Connection setup timed out", "nobody answers there: mend the address, or the firewall" },
	{ "No route to host", "mend the address, or the network" },
	{ "", NULL },
};

static struct {
	pthread_mutex_t mutex;
	char text[KAFKA_REASON_SIZE];
	size_t rank;	  /* place in the table */
	int64_t noted_us; /* 0: there is none */
	bool answered;	  /* the cluster has, at some time */
} last = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* Without the thread before it, and the times behind it, which change. */
static void copy_core(const char *line, char ret_text[KAFKA_REASON_SIZE])
{
	static const char bootstrap[] = "/bootstrap: ", times[] = " (after ";
	/* what librdkafka advises; ours is shorter, or right */
	static const char *const advices[] = { ", verify that ssl.ca",
					       ": increase receive.message.max.bytes" };
	const char *thread_end = *line == '[' ? strstr(line, "]: ") : NULL;
	const char *from = thread_end ? thread_end + 3 : line;
	const char *name_end = strstr(from, bootstrap), *end = NULL;
	for (const char *next = from; (next = strstr(next, times)); next++)
		end = next;
	for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
		const char *advice = strstr(from, advices[i]);
		end = advice ? advice : end;
	}
	size_t len = end ? (size_t)(end - from) : strlen(from), name_len = 0, used = 0;
	if (name_end && name_end < from + len) {
		name_len = (size_t)(name_end - from);
		used = (size_t)snprintf(ret_text, KAFKA_REASON_SIZE / 2, "%.*s: ", (int)name_len, from);
		if (used >= KAFKA_REASON_SIZE / 2)
			used = KAFKA_REASON_SIZE / 2 - 1;
		from += name_len + sizeof bootstrap - 1;
		len -= name_len + sizeof bootstrap - 1;
	}
	snprintf(ret_text + used, KAFKA_REASON_SIZE - used, "%.*s", (int)len, from);
}

/* Some of it is the broker's text. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			*text = '?';
}

/* What librdkafka says when OpenSSL has said what is wrong with a certificate: that is told apart from it. */
static bool is_vague(const char *text)
{
	return strstr(text, "broker certificate could not be verified");
}

static bool is_verdict(const char *part)
{
	return strncmp(part, "verify failed: ", strlen("verify failed: ")) == 0;
}

static size_t find_rank(const char *text)
{
	size_t rank = 0;
	while (!strstr(text, hints[rank].part) || (is_verdict(hints[rank].part) && is_vague(text)))
		rank++;
	return rank;
}

static void append_hint(char text[KAFKA_REASON_SIZE], size_t rank, bool answered)
{
	const char *hint = hints[rank].hint;
	char *wrong = answered ? strstr(text, guess) : NULL;
	if (wrong) {
		*wrong = '\0';
		hint = better_guess;
	}
	size_t len = strlen(text);
	if (hint && len < KAFKA_REASON_SIZE - 1) /* the hint goes when there is no room for it */
		snprintf(text + len, KAFKA_REASON_SIZE - len, "; %s", hint);
}

void kafka_reason_note(const char *line)
{
	char text[KAFKA_REASON_SIZE];
	int64_t now_us = clock_monotonic_us();
	copy_core(line, text);
	make_printable(text);
	size_t rank = find_rank(text);
	pthread_mutex_lock(&last.mutex);
	append_hint(text, rank, last.answered);
	if (!last.noted_us || rank <= last.rank || now_us - last.noted_us > (int64_t)KEEP_MS * 1000) {
		memcpy(last.text, text, sizeof text);
		last.rank = rank;
		last.noted_us = now_us;
	}
	pthread_mutex_unlock(&last.mutex);
}

void kafka_reason_forget(void)
{
	pthread_mutex_lock(&last.mutex);
	last.noted_us = 0;
	last.answered = true;
	pthread_mutex_unlock(&last.mutex);
}

bool kafka_reason(char ret_text[KAFKA_REASON_SIZE])
{
	pthread_mutex_lock(&last.mutex);
	bool known = last.noted_us && clock_monotonic_us() - last.noted_us < (int64_t)FORGET_MS * 1000;
	if (known)
		memcpy(ret_text, last.text, KAFKA_REASON_SIZE);
	else
		*ret_text = '\0';
	pthread_mutex_unlock(&last.mutex);
	return known;
}
