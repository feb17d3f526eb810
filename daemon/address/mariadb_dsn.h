/*
 * Connection strings of MariaDB and MySQL targets: "key=value" pairs as libpq writes them, divided by white
 * space; a value with spaces stands between single quotes, where a backslash takes the next byte as it is.
 * Whatever is not known is refused: a misspelt ssl_ca must not become a connection in the clear. Pure.
 */
#pragma once

#include "common/arena.h"

struct mariadb_dsn {
	const char *host; /* by TCP, whatever its name; or NULL */
	const char
		*socket; /* path of the server's unix socket, or NULL: the library's when there is no host */
	unsigned port;
	const char *dbname; /* or NULL, likewise below */
	const char *user;
	bool ssl;	 /* no connection without TLS; on with any of the ssl settings */
	bool ssl_verify; /* the certificate has to be the host's and of a known authority; on unless switched
			  * off
			  */
	const char *ssl_ca;
	const char *ssl_cert;
	const char *ssl_key;
	const char *time_zone; /* of the session: what dates and times of day mean; UTC unless it is named */
};

/* `ret_dsn` points into the arena. Anything wrong is ERR_CONFIG_RANGE; the detail never repeats a value. */
err_t mariadb_dsn_parse(const char *text, struct arena *arena, struct mariadb_dsn *ret_dsn,
			struct err_detail *detail);
