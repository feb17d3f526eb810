/* How the brokers are spoken to: what is wrong with it as far as this machine can tell, in words for whoever
 * has to mend it. librdkafka says little of files, and names none. Blocks on files alone; any thread. */
#pragma once

#include "common/arena.h"
#include "common/err.h"
#include "kafka/settings.h"

#include <librdkafka/rdkafka.h>
#include <stdatomic.h>

/* One thing that is wrong. */
typedef void (*security_wrong_fn)(err_t err, const struct err_detail *detail, void *context);

/* Looks at the files of TLS and at what a login needs. Tells all that is wrong, and returns the first. */
err_t security_check(const rd_kafka_conf_t *conf, security_wrong_fn wrong, void *context);

/* Looks at the files of kafka.oauth, likewise. */
err_t security_check_oauth(const struct kafka_oauth_settings *oauth, security_wrong_fn wrong, void *context);

/* How long before its end a certificate of ours is told. */
#define SECURITY_CERTIFICATE_WARN_MS (INT64_C(14) * 86400000)

/* Of files that clients were made with, for whoever shows it. Written by one thread, read by any. */
struct security_standing {
	_Atomic int64_t
		certificate_ends_ms; /* of the client's certificate in use, since 1970; 0: there is none */
	_Atomic bool restart_needed; /* a file of TLS is another one than that in use */
};

/* The value that librdkafka takes of several: the last; NULL: none. */
const char *security_property(const char *const *properties, size_t count, const char *name);

/* How brokers name this client in their lists of permissions, without "User:": the name of its login, whom
 * its token is for, or the subject of its certificate; "" where that is not known, cut to the size. */
void security_principal(const struct kafka_settings *settings, char *ret_principal, size_t size);

/* What is given and has no effect or will not have it for long, a sentence a line, in the arena; absent where
 * there is nothing. */
str_t security_doubts(const struct kafka_settings *settings, const rd_kafka_conf_t *conf,
		      struct arena *arena);

/* Kerberos and OAUTHBEARER fetch what they need from elsewhere as soon as there is a client. */
bool security_reaches_out(const rd_kafka_conf_t *conf);
