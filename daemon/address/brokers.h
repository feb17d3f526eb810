/* kafka.bootstrap_servers: "host:port, host:port". Pure. */
#pragma once

#include "common/err.h"

/* ERR_CONFIG_RANGE with what is wrong with which of them: librdkafka itself would try for ever. A port that
 * is not given is 9092; librdkafka's own schemes (SSL://) are let through. */
err_t brokers_check(const char *list, struct err_detail *detail);
