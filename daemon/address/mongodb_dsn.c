#include <mongoc/mongoc.h> // first: it calls what banned.h forbids

#include "address/mongodb_dsn.h"
#include "common/cleanup.h"
#include "common/nearest.h"

#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#define OPTION_BYTES	 48
#define PORT_OF_SRV_HOST 27017

DEFINE_CLEANUP(mongoc_uri_t, uri_cleanup, mongoc_uri_destroy)

/* Options of a connection, in the spelling of the manual; the library takes them in any case. */
static const char *const known[] = {
	"appName",
	"authMechanism",
	"authMechanismProperties",
	"authSource",
	"compressors",
	"connectTimeoutMS",
	"directConnection",
	"gssapiServiceName",
	"heartbeatFrequencyMS",
	"loadBalanced",
	"localThresholdMS",
	"maxStalenessSeconds",
	"readPreference",
	"readPreferenceTags",
	"replicaSet",
	"serverSelectionTimeoutMS",
	"srvMaxHosts",
	"srvServiceName",
	"tls",
	"tlsAllowInvalidCertificates",
	"tlsAllowInvalidHostnames",
	"tlsCAFile",
	"tlsCertificateKeyFile",
	"tlsDisableCertificateRevocationCheck",
	"tlsDisableOCSPEndpointCheck",
	"tlsInsecure",
	"zlibCompressionLevel",
	"ssl", /* the former name of tls: not the first to be meant */
};

/* Those that are ours to choose, and those that hold a secret. */
static const char *const refused[][2] = {
	{ "socketTimeoutMS", "follows from statement_timeout_ms; leave it out" },
	{ "readConcernLevel", "is chosen for each query; leave it out" },
	{ "retryReads", "is off: a validation that fails is tried again as a whole; leave it out" },
	{ "retryWrites", "is of writers; leave it out" },
	{ "serverSelectionTryOnce", "is on; leave it out" },
	{ "w", "is of writers; leave it out" },
	{ "wTimeoutMS", "is of writers; leave it out" },
	{ "journal", "is of writers; leave it out" },
	{ "tlsCertificateKeyFilePassword",
	  "is a secret that has no file here; use a key that is not encrypted" },
};

void mongodb_dsn_leave_nothing(void)
{
	char name[32];
	snprintf(name, sizeof name, "/mongoc-%d", (int)getpid());
	shm_unlink(name); /* where there is none, nothing has to go */
}

static err_t unknown_option(const char *name, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct nearest nearest;
	nearest_init(&nearest, str_from(name));
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		nearest_offer(&nearest, str_from(known[i]));
	return err_fail(detail, ERR_CONFIG_RANGE, "the dsn has the unknown option \"%s\"%s", name,
			nearest_hint(&nearest, '"', arena).ptr);
}

static err_t check_option(const char *name, struct err_detail *detail)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (strcasecmp(name, refused[i][0]) == 0)
			return err_fail(detail, ERR_CONFIG_RANGE, "the dsn's option %s %s", refused[i][0],
					refused[i][1]);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcasecmp(name, known[i]) == 0)
			return ERR_OK;
	return unknown_option(name, detail);
}

/* Only what looks like an option is repeated in a message: anything else may be part of a secret. */
static err_t check_options(const char *text, struct err_detail *detail)
{
	char name[OPTION_BYTES];
	const char *at = strchr(text, '?');
	for (at = at ? at + 1 : ""; *at;) {
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (len == 0 || len >= sizeof name || at[len] != '=')
			return err_fail(detail, ERR_CONFIG_RANGE,
					"the dsn's options are not of the form option=value&option=value");
		memcpy(name, at, len);
		name[len] = '\0';
		err_t err = check_option(name, detail);
		if (err)
			return err;
		at += strcspn(at, "&");
		at += *at == '&';
	}
	return ERR_OK;
}

static const char *copy(const char *text, struct arena *arena)
{
	return text && *text ? arena_strdup(arena, text) : NULL;
}

static bool add_port(struct mongodb_dsn *dsn, uint16_t port)
{
	for (size_t i = 0; i < dsn->ports_count; i++)
		if (dsn->ports[i] == port)
			return true;
	if (dsn->ports_count == MONGODB_DSN_PORTS)
		return false;
	dsn->ports[dsn->ports_count++] = port;
	return true;
}

static err_t read_ports(const mongoc_uri_t *uri, struct mongodb_dsn *dsn, struct err_detail *detail)
{
	const mongoc_host_list_t *host = mongoc_uri_get_hosts(uri);
	if (!host) /* of mongodb+srv: names are not looked up here */
		return add_port(dsn, PORT_OF_SRV_HOST) ? ERR_OK : ERR_CONFIG_RANGE;
	for (; host; host = host->next)
		if (host->family != AF_UNIX && !add_port(dsn, host->port))
			return err_fail(detail, ERR_CONFIG_RANGE, "the dsn names more than %d ports",
					MONGODB_DSN_PORTS);
	return ERR_OK;
}

/* The option that the library's message is about: it may quote the whole string, so nothing else of it is
 * repeated. NULL: none. */
static const char *option_in(const char *message)
{
	const char *found = NULL, *place = NULL;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const char *at = strcasestr(message, known[i]);
		bool earlier = at && (!place || at < place);
		if (earlier || (at && at == place && strlen(known[i]) > strlen(found))) {
			found = known[i];
			place = at;
		}
	}
	return found;
}

static err_t not_read(const char *text, const char *message, struct err_detail *detail)
{
	const char *option = strchr(text, '?') ? option_in(message) : NULL;
	if (option)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"the dsn's option %s has a value that it does not take, beside the others",
				option);
	if (strstr(message, "database name"))
		return err_fail(
			detail, ERR_CONFIG_RANGE,
			"the dsn's database has a name that no database has: without dots, blanks and $");
	if (strstr(message, "host string") || strstr(message, "service name"))
		return err_fail(
			detail, ERR_CONFIG_RANGE,
			"a host of the dsn, or its port, which is a number from 1 to 65535, is not valid; "
			"mongodb+srv:// takes one host without a port");
	return err_fail(detail, ERR_CONFIG_RANGE,
			"not a connection string of MongoDB: write "
			"mongodb://user@host:27017/database?option=value, with what is no letter or "
			"digit in a name as %%XX");
}

static bool is_insecure(const mongoc_uri_t *uri)
{
	static const char *const options[] = { MONGOC_URI_TLSINSECURE, MONGOC_URI_TLSALLOWINVALIDCERTIFICATES,
					       MONGOC_URI_TLSALLOWINVALIDHOSTNAMES };
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (mongoc_uri_get_option_as_bool(uri, options[i], false))
			return true;
	return false;
}

static bool has_password(const char *text)
{
	const char *authority = strstr(text, "://");
	authority = authority ? authority + 3 : text;
	size_t len = strcspn(authority, "/?#");
	const char *at_sign = memrchr(authority, '@', len);
	return at_sign && memchr(authority, ':', (size_t)(at_sign - authority));
}

err_t mongodb_dsn_parse(const char *text, struct arena *arena, struct mongodb_dsn *ret_dsn,
			struct err_detail *detail)
{
	bson_error_t error = { 0 };
	if (has_password(text))
		return err_fail(detail, ERR_CONFIG_RANGE,
				"the connection string contains a password; write it to a file and set "
				"password_file to its name");
	err_t err = check_options(text, detail);
	if (err)
		return err;
	mongoc_log_set_handler(NULL, NULL); /* it would write to standard error */
	_cleanup_(uri_cleanup) mongoc_uri_t *uri = mongoc_uri_new_with_error(text, &error);
	if (!uri)
		return not_read(text, error.message, detail);
	if (!mongoc_uri_get_database(uri))
		return err_fail(detail, ERR_CONFIG_RANGE,
				"the dsn names no database: mongodb://host/database");
	struct mongodb_dsn dsn = {
		.database = copy(mongoc_uri_get_database(uri), arena),
		.user = copy(mongoc_uri_get_username(uri), arena),
		.ca_file = copy(mongoc_uri_get_option_as_utf8(uri, MONGOC_URI_TLSCAFILE, NULL), arena),
		.key_file = copy(mongoc_uri_get_option_as_utf8(uri, MONGOC_URI_TLSCERTIFICATEKEYFILE, NULL),
				 arena),
		.insecure = is_insecure(uri),
		.reads_from = mongoc_uri_has_option(uri, MONGOC_URI_READPREFERENCE) ||
			      strcasestr(text, "readPreference="),
		.connect_timeout = mongoc_uri_has_option(uri, MONGOC_URI_CONNECTTIMEOUTMS),
		.selection_timeout = mongoc_uri_has_option(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS),
	};
	err = read_ports(uri, &dsn, detail);
	if (!err)
		*ret_dsn = dsn;
	return err;
}
