/* Addresses of HTTP servers to which a path is added: "https://api.example.org/v1". Pure. */
#pragma once

#include "common/err.h"

/* ERR_CONFIG_MISSING or ERR_CONFIG_RANGE with what is wrong; the address is not repeated, since it may hold a
 * secret. `instead` names the settings for what people write into addresses: user and password. */
err_t base_url_check(const char *base_url, const char *instead, struct err_detail *detail);

/* The same for one that is used as it is, and so may have a query. */
err_t base_url_check_whole(const char *url, const char *instead, struct err_detail *detail);

/* Whether the address names that port itself. */
bool base_url_has_port(const char *url, const char *port);

/* Whether what is sent there can be read on the way: plain http, and not to this host, whose loopback is
 * nobody's to listen to. False for what is no address. */
bool base_url_is_plain(const char *url);
