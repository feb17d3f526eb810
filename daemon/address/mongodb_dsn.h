/*
 * Connection strings of MongoDB targets: mongodb://[user@]host[:port][,…]/database[?option=value&…], as
 * MongoDB's drivers read them, or mongodb+srv://…. Whatever is not known is refused: a misspelt tls must not
 * become a connection in the clear. Pure.
 */
#pragma once

#include "common/arena.h"

#define MONGODB_DSN_PORTS 16

struct mongodb_dsn {
	const char *database;
	const char *user;     /* or NULL, likewise below */
	const char *ca_file;  /* tlsCAFile */
	const char *key_file; /* tlsCertificateKeyFile */
	uint16_t ports[MONGODB_DSN_PORTS];
	size_t ports_count;   /* of different ones; hosts that are sockets have none */
	bool insecure;	      /* it switches off what TLS checks of the server */
	bool reads_from;      /* it names a readPreference of its own */
	bool connect_timeout; /* it names connectTimeoutMS, likewise below */
	bool selection_timeout;
};

/* Takes away the file in shared memory that the library, which is in every process of this program, makes at
 * its start for counters that nobody reads, and which stays where a process is killed. First of all in
 * main(). */
void mongodb_dsn_leave_nothing(void);

/* `ret_dsn` points into the arena. Anything wrong is ERR_CONFIG_RANGE; the detail never repeats a value. */
err_t mongodb_dsn_parse(const char *text, struct arena *arena, struct mongodb_dsn *ret_dsn,
			struct err_detail *detail);
