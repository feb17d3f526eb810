/* How the brokers are spoken to: what is wrong with it as far as this machine can tell, in words for whoever
 * has to mend it. librdkafka says little of files, and names none. Blocks on files alone; any thread. */
#pragma once

#include "common/arena.h"
#include "common/err.h"
#include "kafka/settings.h"

#include <librdkafka/rdkafka.h>

/* One thing that is wrong. */
typedef void (*security_wrong_fn)(err_t err, const struct err_detail *detail, void *context);

/* Looks at the files of TLS and at what a login needs. Tells all that is wrong, and returns the first. */
err_t security_check(const rd_kafka_conf_t *conf, security_wrong_fn wrong, void *context);

/* What is given and has no effect, a sentence a line, in the arena; absent where there is nothing. */
str_t security_doubts(const struct kafka_settings *settings, const rd_kafka_conf_t *conf,
		      struct arena *arena);

/* Kerberos and OAUTHBEARER fetch what they need from elsewhere as soon as there is a client. */
bool security_reaches_out(const rd_kafka_conf_t *conf);
