#include "address/libpq_dsn.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/edit_distance.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <libpq-fe.h>

#define MAX_PORT      65535
#define KEYWORD_BYTES 32

DEFINE_CLEANUP(PQconninfoOption, options_cleanup, PQconninfoFree)

/* ---- keywords ---- */

/* The known keyword that is nearest to what was written; empty where none is near. */
static void guess_keyword(const char *written, char ret_guess[KEYWORD_BYTES])
{
	_cleanup_(options_cleanup) PQconninfoOption *all = PQconninfoParse("", NULL);
	size_t nearest = strlen(written) / 3 + 2;
	*ret_guess = '\0';
	for (const PQconninfoOption *option = all; option && option->keyword; option++) {
		size_t distance = edit_distance(str_from(written), str_from(option->keyword));
		if (distance >= nearest || strlen(option->keyword) >= KEYWORD_BYTES)
			continue;
		nearest = distance;
		snprintf(ret_guess, KEYWORD_BYTES, "%s", option->keyword);
	}
}

/* libpq's message may quote the string, and with it a secret: only what looks like a keyword is repeated. */
static err_t explain(const char *message, struct err_detail *detail)
{
	static const char *const unknown[] = { "invalid connection option \"",
					       "invalid URI query parameter: \"" };
	char written[KEYWORD_BYTES], guess[KEYWORD_BYTES];
	for (size_t i = 0; message && i < sizeof unknown / sizeof *unknown; i++) {
		if (strncmp(message, unknown[i], strlen(unknown[i])) != 0)
			continue;
		const char *from = message + strlen(unknown[i]);
		size_t len = strspn(from, "abcdefghijklmnopqrstuvwxyz_");
		if (from[len] != '"' || len == 0 || len >= sizeof written)
			continue;
		snprintf(written, sizeof written, "%.*s", (int)len, from);
		guess_keyword(written, guess);
		return err_fail(detail, ERR_CONFIG_RANGE, "libpq knows no keyword \"%s\"%s%s%s", written,
				*guess ? "; did you mean \"" : "", guess, *guess ? "\"?" : "");
	}
	return err_fail(
		detail, ERR_CONFIG_RANGE,
		"not a libpq connection string: write key=value pairs, such as \"host=db dbname=sales "
		"user=assayd_ro\", a value with blanks between single quotes, or postgresql://…");
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
	for (const PQconninfoOption *option = options; option && option->keyword; option++)
		if (strcmp(option->keyword, keyword) == 0 && option->val && option->val[0])
			return option->val;
	return NULL;
}

/* ---- values ---- */

static const struct {
	const char *keyword;
	const char *values[8]; /* ends with NULL */
} choices[] = {
	{ "sslmode", { "disable", "allow", "prefer", "require", "verify-ca", "verify-full" } },
	{ "gssencmode", { "disable", "prefer", "require" } },
	{ "channel_binding", { "disable", "prefer", "require" } },
	{ "target_session_attrs",
	  { "any", "read-write", "read-only", "primary", "standby", "prefer-standby" } },
	{ "ssl_min_protocol_version", { "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3" } },
	{ "ssl_max_protocol_version", { "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3" } },
};

static err_t check_choices(const PQconninfoOption *options, struct err_detail *detail)
{
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
		const char *value = value_of(options, choices[i].keyword);
		const char *const *known = choices[i].values;
		char list[128] = "";
		bool versions = strstr(choices[i].keyword, "version"); /* in any case, for libpq too */
		while (value && *known && (versions ? strcasecmp(*known, value) : strcmp(*known, value)) != 0)
			known++;
		if (!value || *known)
			continue;
		for (known = choices[i].values; *known; known++)
			snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
				 *known);
		return err_fail(detail, ERR_CONFIG_RANGE, "%s=%.60s: it is one of %s", choices[i].keyword,
				value, list);
	}
	return ERR_OK;
}

static err_t check_numbers(const PQconninfoOption *options, struct err_detail *detail)
{
	static const char *const keywords[] = {
		"connect_timeout",     "keepalives",	   "keepalives_idle",
		"keepalives_interval", "keepalives_count", "tcp_user_timeout"
	};
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
		const char *value = value_of(options, keywords[i]);
		size_t sign = value && *value == '-';
		if (value && (strspn(value + sign, "0123456789") != strlen(value + sign) || !value[sign] ||
			      strlen(value) > 10))
			return err_fail(detail, ERR_CONFIG_RANGE, "%s=%.60s: it is a number", keywords[i],
					value);
	}
	return ERR_OK;
}

/* Items of a list with commas; an empty text has none. */
static size_t count_items(const char *list)
{
	size_t count = list && *list ? 1 : 0;
	for (const char *at = list; count && *at; at++)
		count += *at == ',';
	return count;
}

static err_t check_ports(const PQconninfoOption *options, struct err_detail *detail)
{
	const char *ports = value_of(options, "port"), *hosts = value_of(options, "hostaddr");
	hosts = hosts ? hosts : value_of(options, "host");
	for (const char *at = ports; at;) {
		size_t len = strcspn(at, ",");
		long port = strspn(at, "0123456789") == len && len < 6 ? strtol(at, NULL, 10) : -1;
		if (len > 0 && (port < 1 || port > MAX_PORT))
			return err_fail(detail, ERR_CONFIG_RANGE,
					"port=%.60s: a port is a number from 1 to %d", ports, MAX_PORT);
		at = at[len] ? at + len + 1 : NULL;
	}
	size_t ports_count = count_items(ports), hosts_count = count_items(hosts);
	if (ports_count > 1 && hosts_count > 0 && ports_count != hosts_count)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"there are %zu ports for %zu hosts: write one port for all, or one for each",
				ports_count, hosts_count);
	return ERR_OK;
}

/* A host that holds what no name does: libpq would ask the name service for it. */
static err_t check_hosts(const PQconninfoOption *options, struct err_detail *detail)
{
	const char *addresses = value_of(options, "hostaddr"), *hosts = value_of(options, "host");
	for (const char *at = addresses; at;) {
		char address[INET6_ADDRSTRLEN + 1];
		struct in6_addr parsed;
		size_t len = strcspn(at, ","), skip = strcspn(at, "%,"); /* without its zone */
		snprintf(address, sizeof address, "%.*s", (int)skip, at);
		if (len > 0 && inet_pton(AF_INET, address, &parsed) != 1 &&
		    inet_pton(AF_INET6, address, &parsed) != 1)
			return err_fail(detail, ERR_CONFIG_RANGE,
					"hostaddr=%.60s: not an IP address; set a name as host", addresses);
		at = at[len] ? at + len + 1 : NULL;
	}
	if (addresses && hosts && count_items(addresses) != count_items(hosts))
		return err_fail(detail, ERR_CONFIG_RANGE, "host and hostaddr are not of the same number");
	for (const char *at = hosts; at;) {
		size_t len = strcspn(at, ",");
		size_t colons = 0, letters = 0;
		bool path = *at == '/' || *at == '@';
		for (size_t i = 0; i < len; i++) {
			colons += at[i] == ':';
			letters += !isxdigit((unsigned char)at[i]) && at[i] != ':' && at[i] != '.' &&
				   at[i] != '%';
			if (!path && (isspace((unsigned char)at[i]) || at[i] == '/'))
				return err_fail(
					detail, ERR_CONFIG_RANGE,
					"host=%.60s: it is a name, an address, or a folder of sockets "
					"that begins with a slash",
					hosts);
		}
		if (!path && colons > 0 && (colons == 1 || letters))
			return err_fail(detail, ERR_CONFIG_RANGE,
					"host=%.60s: the port does not belong to the host; write port=…",
					hosts);
		at = at[len] ? at + len + 1 : NULL;
	}
	return ERR_OK;
}

err_t libpq_dsn_check(const char *dsn, struct err_detail *detail)
{
	char *message = NULL;
	_cleanup_(options_cleanup) PQconninfoOption *options = PQconninfoParse(dsn, &message);
	err_t err = options ? ERR_OK : explain(message, detail);
	PQfreemem(message);
	if (!err && (value_of(options, "password") || value_of(options, "sslpassword")))
		err = err_fail(detail, ERR_CONFIG_RANGE,
			       "the connection string contains a password; write it to a file and set "
			       "password_file to its name");
	if (!err)
		err = check_choices(options, detail);
	if (!err)
		err = check_numbers(options, detail);
	if (!err)
		err = check_ports(options, detail);
	return err ? err : check_hosts(options, detail);
}

const char *libpq_dsn_value(const char *dsn, const char *keyword, struct arena *arena)
{
	_cleanup_(options_cleanup) PQconninfoOption *options = PQconninfoParse(dsn, NULL);
	const char *value = value_of(options, keyword);
	return value ? arena_strdup(arena, value) : NULL;
}
