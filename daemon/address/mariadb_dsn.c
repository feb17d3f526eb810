#include "address/mariadb_dsn.h"

#include "common/buf.h"

#include <ctype.h>

#define DEFAULT_PORT	 3306
#define MAX_PORT	 65535
#define KEY_BYTES	 32
#define TIME_ZONE_OF_UTC "+00:00"

/* What the text says, before it is understood. */
enum key {
	KEY_HOST,
	KEY_PORT,
	KEY_SOCKET,
	KEY_DBNAME,
	KEY_USER,
	KEY_SSL,
	KEY_SSL_CA,
	KEY_SSL_CERT,
	KEY_SSL_KEY,
	KEY_SSL_VERIFY,
	KEY_TIME_ZONE,
	KEY_COUNT
};

static const char *const key_names[KEY_COUNT] = {
	[KEY_HOST] = "host",	       [KEY_PORT] = "port",
	[KEY_SOCKET] = "socket",       [KEY_DBNAME] = "dbname",
	[KEY_USER] = "user",	       [KEY_SSL] = "ssl",
	[KEY_SSL_CA] = "ssl_ca",       [KEY_SSL_CERT] = "ssl_cert",
	[KEY_SSL_KEY] = "ssl_key",     [KEY_SSL_VERIFY] = "ssl_verify",
	[KEY_TIME_ZONE] = "time_zone",
};

struct dsn_reader {
	const char *at;
	struct arena *arena;
	struct err_detail *detail;
	const char *values[KEY_COUNT]; /* NULL: not given */
};

#define FAIL(reader, ...) err_fail((reader)->detail, ERR_CONFIG_RANGE, __VA_ARGS__)

static err_t fail_form(const struct dsn_reader *reader)
{
	return FAIL(reader, "the dsn is not a list of key=value pairs, such as \"host=db dbname=shop "
			    "user=assayd_ro\"");
}

static void skip_space(struct dsn_reader *reader)
{
	reader->at += strspn(reader->at, " \t\r\n");
}

static err_t unknown_key(const struct dsn_reader *reader, const char *name)
{
	struct buf known = BUF_INIT;
	for (int i = 0; i < KEY_COUNT; i++)
		buf_printf(&known, "%s%s", i ? ", " : "", key_names[i]);
	err_t err = FAIL(reader, "the dsn has the unknown key \"%s\"; there are %s", name, known.data);
	buf_free(&known);
	return err;
}

/* Only what looks like a key is repeated in a message: anything else may be part of a secret. */
static err_t read_key(struct dsn_reader *reader, enum key *ret_key)
{
	char name[KEY_BYTES];
	size_t len = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz_");
	if (len == 0 || len >= sizeof name)
		return fail_form(reader);
	memcpy(name, reader->at, len);
	name[len] = '\0';
	reader->at += len;
	skip_space(reader);
	if (*reader->at != '=')
		return fail_form(reader);
	reader->at++;
	skip_space(reader);
	if (strcmp(name, "password") == 0)
		return FAIL(
			reader,
			"the dsn contains a password: write it to a file and set password_file to its name");
	for (int i = 0; i < KEY_COUNT; i++)
		if (strcmp(name, key_names[i]) == 0) {
			*ret_key = (enum key)i;
			return ERR_OK;
		}
	return unknown_key(reader, name);
}

static err_t read_value(struct dsn_reader *reader, enum key key)
{
	char *value = arena_alloc(reader->arena, strlen(reader->at) + 1), *to = value;
	bool quoted = *reader->at == '\'';
	if (quoted)
		reader->at++;
	while (*reader->at && (quoted ? *reader->at != '\'' : !isspace((unsigned char)*reader->at))) {
		if (*reader->at == '\\' && reader->at[1])
			reader->at++;
		*to++ = *reader->at++;
	}
	*to = '\0';
	if (quoted && !*reader->at)
		return FAIL(reader, "the dsn has a quoted value of %s that does not end", key_names[key]);
	reader->at += quoted;
	if (to == value)
		return FAIL(reader, "the dsn has no value for %s", key_names[key]);
	if (reader->values[key])
		return FAIL(reader, "the dsn contains %s twice", key_names[key]);
	reader->values[key] = value;
	return ERR_OK;
}

static err_t read_pairs(struct dsn_reader *reader)
{
	err_t err = ERR_OK;
	skip_space(reader);
	while (!err && *reader->at) {
		enum key key = KEY_COUNT; /* which no value has */
		err = read_key(reader, &key);
		if (!err)
			err = read_value(reader, key);
		skip_space(reader);
	}
	return err;
}

/* The library reads more than a name into a host: lists, plugins, options. */
static err_t check_host(const struct dsn_reader *reader)
{
	const char *host = reader->values[KEY_HOST];
	if (!host)
		return ERR_OK;
	if (reader->values[KEY_SOCKET])
		return FAIL(reader, "the dsn contains a host and a socket: use one of them");
	for (const char *at = host; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-._:%", *at))
			return FAIL(reader, "the host in the dsn is not a name or an address");
	return ERR_OK;
}

static err_t take_port(const struct dsn_reader *reader, unsigned *ret_port)
{
	const char *text = reader->values[KEY_PORT];
	char *end = NULL;
	*ret_port = DEFAULT_PORT;
	if (!text)
		return ERR_OK;
	if (reader->values[KEY_SOCKET])
		return FAIL(reader, "the dsn contains a port and a socket: use one of them");
	unsigned long port = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
	if (port < 1 || port > MAX_PORT || *end)
		return FAIL(reader, "the port in the dsn is not a number from 1 to %d", MAX_PORT);
	*ret_port = (unsigned)port;
	return ERR_OK;
}

static err_t take_switch(const struct dsn_reader *reader, enum key key, bool standard, bool *ret_on)
{
	const char *text = reader->values[key];
	*ret_on = text ? strcmp(text, "on") == 0 : standard;
	if (text && !*ret_on && strcmp(text, "off") != 0)
		return FAIL(reader, "the dsn's %s is neither on nor off", key_names[key]);
	return ERR_OK;
}

static err_t take_ssl(const struct dsn_reader *reader, struct mariadb_dsn *dsn)
{
	const char *const *values = reader->values;
	bool wanted =
		values[KEY_SSL_CA] || values[KEY_SSL_CERT] || values[KEY_SSL_KEY] || values[KEY_SSL_VERIFY];
	err_t err = take_switch(reader, KEY_SSL, wanted, &dsn->ssl);
	if (!err)
		err = take_switch(reader, KEY_SSL_VERIFY, true, &dsn->ssl_verify);
	if (!err && wanted && !dsn->ssl)
		err = FAIL(reader, "the dsn disables ssl and has settings for it");
	if (!err && !values[KEY_SSL_CERT] != !values[KEY_SSL_KEY])
		err = FAIL(reader, "the dsn's ssl_cert and ssl_key belong together");
	dsn->ssl_ca = values[KEY_SSL_CA];
	dsn->ssl_cert = values[KEY_SSL_CERT];
	dsn->ssl_key = values[KEY_SSL_KEY];
	return err;
}

/* It becomes part of a statement of ours. */
static err_t take_time_zone(const struct dsn_reader *reader, const char **ret_zone)
{
	const char *zone = reader->values[KEY_TIME_ZONE];
	*ret_zone = zone ? zone : TIME_ZONE_OF_UTC;
	for (const char *at = *ret_zone; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("+-:/_", *at))
			return FAIL(reader,
				    "the time_zone in the dsn is not the name or the offset of a time zone");
	return ERR_OK;
}

err_t mariadb_dsn_parse(const char *text, struct arena *arena, struct mariadb_dsn *ret_dsn,
			struct err_detail *detail)
{
	struct dsn_reader reader = { .at = text, .arena = arena, .detail = detail };
	struct mariadb_dsn dsn = { 0 };
	err_t err = read_pairs(&reader);
	if (!err && !reader.values[KEY_USER]) /* the library would take whoever runs the program */
		err = FAIL(&reader, "the dsn contains no user");
	if (!err)
		err = check_host(&reader);
	if (!err)
		err = take_port(&reader, &dsn.port);
	if (!err)
		err = take_ssl(&reader, &dsn);
	if (!err)
		err = take_time_zone(&reader, &dsn.time_zone);
	if (err)
		return err;
	dsn.host = reader.values[KEY_HOST];
	dsn.socket = reader.values[KEY_SOCKET];
	dsn.dbname = reader.values[KEY_DBNAME];
	dsn.user = reader.values[KEY_USER];
	*ret_dsn = dsn;
	return ERR_OK;
}
