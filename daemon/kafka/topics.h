/* Whether the topics that the configuration names exist, for the start and for `assayd check`. */
#pragma once

#include "kafka/client.h"

/* Asks the cluster for up to `timeout_ms`; ERR_KAFKA_UNAVAILABLE or ERR_KAFKA_TOPIC with a sentence. Blocks.
 */
err_t topics_check(const struct kafka_settings *settings, int timeout_ms, struct err_detail *detail);
