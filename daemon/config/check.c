#include "config/check.h"

#include "address/base_url.h"
#include "address/brokers.h"
#include "address/host_port.h"
#include "address/libpq_dsn.h"
#include "address/mariadb_dsn.h"
#include "address/mongodb_dsn.h"

#include <math.h>

struct checker {
	const struct config *config;
	const struct conf_file *file;
	struct conf_problems *problems;
};

#define FAIL(checker, err, setting, ...)                                                                     \
	conf_file_fail((checker)->file, (checker)->problems, err, setting, __VA_ARGS__)

/* --- secrets in the wrong place --- */

/* Whether a connection string holds a password: as a keyword, or in the authority of a URI. */
static bool dsn_has_password(const char *dsn)
{
	const char *authority = strstr(dsn, "://");
	for (const char *at = strcasestr(dsn, "password"); at; at = strcasestr(at + 1, "password")) {
		if (at[8 + strspn(at + 8, " \t\n")] == '=')
			return true;
	}
	if (!authority)
		return false;
	authority += 3;
	size_t len = strcspn(authority, "/?#");
	const char *at_sign = memrchr(authority, '@', len);
	return at_sign && memchr(authority, ':', (size_t)(at_sign - authority));
}

static err_t check_dsn(const struct checker *checker, const char *dsn, const char *setting)
{
	struct err_detail reason = { "" };
	if (!dsn || !*dsn)
		return ERR_OK;
	if (dsn_has_password(dsn))
		return FAIL(checker, ERR_CONFIG_RANGE, setting,
			    "the connection string contains a password; write it to a file and set "
			    "password_file to its name");
	err_t err = libpq_dsn_check(dsn, &reason);
	return err ? FAIL(checker, err, setting, "%s", reason.message) : ERR_OK;
}

static err_t check_mariadb_dsn(const struct checker *checker, const char *dsn, const char *setting)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail reason = { "" };
	struct mariadb_dsn parsed;
	err_t err = mariadb_dsn_parse(dsn, arena, &parsed, &reason);
	return err ? FAIL(checker, err, setting, "%s", reason.message) : ERR_OK;
}

static err_t check_mongodb_dsn(const struct checker *checker, const char *dsn, const char *setting)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail reason = { "" };
	struct mongodb_dsn parsed;
	err_t err = mongodb_dsn_parse(dsn, arena, &parsed, &reason);
	return err ? FAIL(checker, err, setting, "%s", reason.message) : ERR_OK;
}

/* A secret where the name of its file should be: not to be repeated in a message. */
static void check_secret_file(const char *setting, const char *name, void *context)
{
	const struct checker *checker = context;
	if (config_is_secret_itself(name))
		FAIL(checker, ERR_CONFIG_RANGE, setting,
		     "this looks like a secret, not like the name of a file; write the secret to a file and "
		     "name it (a file that is really called so: with ./ before its name)");
}

static bool is_secret_property(const char *property, size_t len)
{
	static const char *const endings[] = { "password", "secret", "key.pem" };
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t ending = strlen(endings[i]);
		if (len >= ending && memcmp(property + len - ending, endings[i], ending) == 0)
			return true;
	}
	return false;
}

/* --- kafka --- */

/* Properties that the daemon sets itself, and the setting that they follow from; NULL: from none. */
static const struct own_property {
	const char *name;
	const char *setting;
} own_properties[] = {
	{ "auto.offset.reset", "kafka.delivery" },
	{ "bootstrap.servers", "kafka.bootstrap_servers" },
	{ "delivery.timeout.ms", "kafka.transaction_timeout_ms" },
	{ "enable.auto.commit", "kafka.delivery" },
	{ "enable.auto.offset.store", "kafka.delivery" },
	{ "enable.idempotence", "kafka.delivery" },
	{ "enable.partition.eof", NULL },
	{ "fetch.max.bytes", "kafka.max_message_bytes" },
	{ "fetch.message.max.bytes", "kafka.max_message_bytes" },
	{ "group.id", "kafka.group_id" },
	{ "group.instance.id", "kafka.instance_id" },
	{ "heartbeat.interval.ms", "kafka.heartbeat_ms" },
	{ "isolation.level", "kafka.delivery" },
	{ "linger.ms", NULL },
	{ "max.partition.fetch.bytes", "kafka.max_message_bytes" },
	{ "max.poll.interval.ms", "kafka.session_timeout_ms" },
	{ "message.max.bytes", "kafka.max_message_bytes" },
	{ "message.timeout.ms", "kafka.transaction_timeout_ms" },
	{ "metadata.broker.list", "kafka.bootstrap_servers" },
	{ "partition.assignment.strategy", NULL },
	{ "queue.buffering.max.kbytes", "kafka.transaction_max_bytes" },
	{ "queue.buffering.max.ms", NULL },
	{ "queued.max.messages.kbytes", "pipeline.max_in_flight_bytes" },
	{ "receive.message.max.bytes", "kafka.max_message_bytes" },
	{ "sasl.oauthbearer.client.id", "kafka.oauth.client_id" },
	{ "sasl.oauthbearer.client.secret", "kafka.oauth.client_secret_file" },
	{ "sasl.oauthbearer.extensions", "kafka.oauth.extensions" },
	{ "sasl.oauthbearer.method", "kafka.oauth" },
	{ "sasl.oauthbearer.scope", "kafka.oauth.scope" },
	{ "sasl.oauthbearer.token.endpoint.url", "kafka.oauth.token_url" },
	{ "session.timeout.ms", "kafka.session_timeout_ms" },
	{ "transaction.timeout.ms", "kafka.transaction_timeout_ms" },
	{ "transactional.id", "kafka.instance_id" },
};

static err_t refuse_own(const struct checker *checker, const char *property, size_t len, const char *setting)
{
	for (size_t i = 0; i < sizeof own_properties / sizeof *own_properties; i++) {
		const struct own_property *own = &own_properties[i];
		if (strlen(own->name) != len || memcmp(own->name, property, len) != 0)
			continue;
		if (own->setting)
			return FAIL(checker, ERR_CONFIG_RANGE, setting,
				    "%s cannot be set here; it follows from %s", own->name, own->setting);
		return FAIL(checker, ERR_CONFIG_RANGE, setting,
			    "%s cannot be set here; assayd sets it itself", own->name);
	}
	return ERR_OK;
}

static err_t check_property(const struct checker *checker, const char *property, const char *setting,
			    bool secret)
{
	size_t len = strcspn(property, "=");
	if (len == 0 || property[len] != '=')
		return FAIL(checker, ERR_CONFIG_RANGE, setting, "write a property as \"name=%s\"",
			    secret ? "file" : "value");
	err_t err = refuse_own(checker, property, len, setting);
	if (err)
		return err;
	if (!secret && is_secret_property(property, len))
		return FAIL(
			checker, ERR_CONFIG_RANGE, setting,
			"%.*s is a secret; write it to a file and set its name in kafka.secret_properties",
			(int)(len < 100 ? len : 100), property);
	if (secret && !property[len + 1])
		return FAIL(checker, ERR_CONFIG_RANGE, setting, "the name of the file is missing");
	return ERR_OK;
}

static void check_properties(const struct checker *checker, const struct conf_strings *properties,
			     const char *name, bool secret)
{
	for (size_t i = 0; i < properties->count; i++) {
		char setting[64];
		snprintf(setting, sizeof setting, "%s[%zu]", name, i);
		check_property(checker, properties->items[i], setting, secret);
	}
}

/* Also fit to be part of a file's name. */
static bool is_plain_name(const char *name)
{
	size_t legal = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	return !name[legal] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static void check_topic_name(const struct checker *checker, const char *topic, const char *setting)
{
	if (!is_plain_name(topic))
		FAIL(checker, ERR_CONFIG_RANGE, setting,
		     "a topic's name consists of letters, digits, dots, underscores and "
		     "hyphens, and is neither \".\" nor \"..\"");
}

static void check_topics(const struct checker *checker)
{
	const struct config_kafka *kafka = &checker->config->kafka;
	const struct {
		const char *setting;
		const char *topic;
	} topics[] = {
		{ "kafka.input_topic", kafka->input_topic },
		{ "kafka.scored_topic", kafka->scored_topic },
		{ "kafka.advisory_topic", kafka->advisory_topic },
		{ "kafka.dead_letter_topic", kafka->dead_letter_topic },
		{ "kafka.feedback_topic", kafka->feedback_topic },
	};
	for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
		check_topic_name(checker, topics[i].topic, topics[i].setting);
		size_t k = 0;
		while (k < i && strcmp(topics[i].topic, topics[k].topic) != 0)
			k++;
		if (k < i)
			FAIL(checker, ERR_CONFIG_RANGE, topics[i].setting, "\"%s\" is already used as %s",
			     topics[i].topic, topics[k].setting);
	}
}

static void check_brokers(const struct checker *checker)
{
	struct err_detail reason = { "" };
	err_t err = brokers_check(checker->config->kafka.bootstrap_servers, &reason);
	if (err)
		FAIL(checker, err, "kafka.bootstrap_servers", "%s", reason.message);
}

/* --- kafka.oauth --- */

/* The value that librdkafka takes of several, the last; or NULL. */
static const char *property_value(const struct conf_strings *properties, const char *name)
{
	size_t len = strlen(name);
	const char *value = NULL;
	for (size_t i = 0; i < properties->count; i++)
		if (strncmp(properties->items[i], name, len) == 0 && properties->items[i][len] == '=')
			value = properties->items[i] + len + 1;
	return value;
}

static const char *find_mechanism(const struct conf_strings *properties)
{
	const char *mechanism = property_value(properties, "sasl.mechanism");
	return mechanism ? mechanism : property_value(properties, "sasl.mechanisms");
}

/* "name=value", where `letters` are what names consist of, and those of `own` are ours. */
static void check_pairs(const struct checker *checker, const struct conf_strings *pairs, const char *setting,
			const char *letters, const char *own)
{
	for (size_t i = 0; i < pairs->count; i++) {
		const char *pair = pairs->items[i];
		size_t len = strspn(pair, letters);
		char path[64];
		snprintf(path, sizeof path, "%s[%zu]", setting, i);
		if (len == 0 || pair[len] != '=')
			FAIL(checker, ERR_CONFIG_RANGE, path,
			     "write \"name=value\", with a name of letters%s",
			     strchr(letters, '0') ? ", digits, _, - and ." : "");
		else if (str_is_listed((str_t){ pair, len }, own))
			FAIL(checker, ERR_CONFIG_RANGE, path,
			     "%.*s cannot be set here; assayd sets it itself", (int)len, pair);
	}
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static void check_oauth(const struct checker *checker)
{
	const struct config_oauth *oauth = &checker->config->oauth;
	const struct conf_strings *properties = &checker->config->kafka.properties;
	const char *mechanism = find_mechanism(properties);
	const char *protocol = property_value(properties, "security.protocol");
	const char *unsecured = property_value(properties, "enable.sasl.oauthbearer.unsecure.jwt");
	struct err_detail reason = { "" };
	if (!oauth->configured) {
		if (mechanism && strcmp(mechanism, "OAUTHBEARER") == 0 && !unsecured)
			FAIL(checker, ERR_CONFIG_MISSING, "kafka.properties",
			     "sasl.mechanism is OAUTHBEARER, which needs the group kafka.oauth, where tokens "
			     "are "
			     "fetched from");
		return;
	}
	if (mechanism && strcmp(mechanism, "OAUTHBEARER") != 0)
		FAIL(checker, ERR_CONFIG_RANGE, "kafka.properties",
		     "sasl.mechanism is %.60s, and kafka.oauth is for OAUTHBEARER; leave one of them out",
		     mechanism);
	if (!protocol || strncasecmp(protocol, "sasl_", 5) != 0)
		FAIL(checker, ERR_CONFIG_MISSING, "kafka.oauth",
		     "there is no login while security.protocol is %.60s: write "
		     "\"security.protocol=SASL_SSL\" in "
		     "kafka.properties",
		     protocol ? protocol : "plaintext");
	if (unsecured)
		FAIL(checker, ERR_CONFIG_RANGE, "kafka.properties",
		     "enable.sasl.oauthbearer.unsecure.jwt makes tokens of its own, and kafka.oauth fetches "
		     "them; "
		     "leave one of them out");
	if (oauth->token_url &&
	    base_url_check_whole(oauth->token_url, "client_id and client_secret_file", &reason))
		FAIL(checker, ERR_CONFIG_RANGE, "kafka.oauth.token_url", "%s", reason.message);
	check_pairs(checker, &oauth->parameters, "kafka.oauth.parameters", LETTERS "0123456789_-.",
		    "grant_type client_id client_secret scope");
	check_pairs(checker, &oauth->extensions, "kafka.oauth.extensions", LETTERS, "auth");
}

static void check_kafka(const struct checker *checker)
{
	const struct config_kafka *kafka = &checker->config->kafka;
	check_topics(checker);
	check_properties(checker, &kafka->properties, "kafka.properties", false);
	check_properties(checker, &kafka->secret_properties, "kafka.secret_properties", true);
	check_oauth(checker);
	if (kafka->wire_format == CONFIG_CONFLUENT && !checker->config->registry.configured)
		FAIL(checker, ERR_CONFIG_RANGE, "kafka.wire_format",
		     "\"confluent\" needs a schema registry: the group registry is missing");
	if (kafka->heartbeat_ms * 3 > kafka->session_timeout_ms)
		FAIL(checker, ERR_CONFIG_RANGE, "kafka.heartbeat_ms",
		     "%lld ms is more than a third of session_timeout_ms, %lld ms",
		     (long long)kafka->heartbeat_ms, (long long)kafka->session_timeout_ms);
	if (kafka->transaction_linger_ms >= kafka->transaction_timeout_ms)
		FAIL(checker, ERR_CONFIG_RANGE, "kafka.transaction_linger_ms",
		     "%lld ms is not below transaction_timeout_ms, %lld ms",
		     (long long)kafka->transaction_linger_ms, (long long)kafka->transaction_timeout_ms);
}

/* --- registry --- */

/* Files of TLS, which no other address uses. */
static void check_registry_https(const struct checker *checker)
{
	const struct config_registry *registry = &checker->config->registry;
	const struct {
		const char *setting, *value;
	} files[] = { { "registry.ca_file", registry->ca_file },
		      { "registry.certificate_file", registry->certificate_file } };
	bool https = registry->urls.count == 0; /* which is another error */
	for (size_t i = 0; i < registry->urls.count; i++)
		https = https || strncasecmp(registry->urls.items[i], "http:", 5) != 0;
	for (size_t i = 0; i < sizeof files / sizeof *files && !https; i++)
		if (files[i].value)
			FAIL(checker, ERR_CONFIG_RANGE, files[i].setting,
			     "only used with addresses of https, and all in registry.urls begin with http:");
}

/* A default gives way; what is written there is what is wanted, and no less. */
static void check_half(const struct checker *checker, const char *name, int64_t value, const char *of,
		       int64_t whole, int64_t low)
{
	char setting[64];
	unsigned line;
	int64_t most = (whole + 1) / 2;
	snprintf(setting, sizeof setting, "registry.%s", name);
	if (value > most && conf_file_line(checker->file, setting, &line) &&
	    !conf_problems_within(checker->problems, of))
		FAIL(checker, ERR_CONFIG_RANGE, setting,
		     "%lld is more than half of %s = %lld, which others have to have; allowed here is %lld "
		     "to "
		     "%lld: lower it, or raise %s",
		     (long long)value, of, (long long)whole, (long long)low, (long long)most, of);
}

static void check_registry(const struct checker *checker)
{
	const struct config_registry *registry = &checker->config->registry;
	char setting[64];
	if (!registry->configured)
		return;
	if (registry->urls.count == 0)
		FAIL(checker, ERR_CONFIG_MISSING, "registry", "urls is missing");
	for (size_t i = 0; i < registry->urls.count; i++) {
		struct err_detail reason = { "" };
		snprintf(setting, sizeof setting, "registry.urls[%zu]", i);
		err_t err = base_url_check(registry->urls.items[i], "user and password_file, or token_file,",
					   &reason);
		if (err)
			FAIL(checker, err, setting, "%s", reason.message);
		for (size_t j = 0; j < i && !err; j++)
			if (strcmp(registry->urls.items[j], registry->urls.items[i]) == 0)
				err = FAIL(checker, ERR_CONFIG_RANGE, setting,
					   "that is registry.urls[%zu], too; leave one of them out", j);
	}
	check_registry_https(checker);
	check_half(checker, "max_waiting_events", registry->max_waiting_events, "pipeline.max_in_flight",
		   checker->config->pipeline.max_in_flight, 1);
	check_half(checker, "max_waiting_bytes", registry->max_waiting_bytes, "pipeline.max_in_flight_bytes",
		   checker->config->pipeline.max_in_flight_bytes, 65536);
	if (registry->may_register && checker->config->kafka.wire_format != CONFIG_CONFLUENT)
		FAIL(checker, ERR_CONFIG_RANGE, "registry.register",
		     "there is nothing to register unless outputs are framed with ids of schemas: write "
		     "kafka.wire_format = \"confluent\", or leave this out");
	if (registry->user && strchr(registry->user, ':'))
		FAIL(checker, ERR_CONFIG_RANGE, "registry.user",
		     "basic authentication takes no \":\" in a user; a password belongs into password_file");
	if (registry->user && registry->token_file)
		FAIL(checker, ERR_CONFIG_RANGE, "registry.token_file",
		     "user is given, too; who the daemon is can be said in one way only");
	if (registry->user && !registry->password_file && !registry->token_file)
		FAIL(checker, ERR_CONFIG_MISSING, "registry.user",
		     "password_file is missing: write the user's password to a file and set "
		     "registry.password_file to its name (in place of both, a token: token_file)");
	if (registry->password_file && !registry->user)
		FAIL(checker, ERR_CONFIG_RANGE, "registry.password_file", "only used with user");
	if (registry->key_file && !registry->certificate_file)
		FAIL(checker, ERR_CONFIG_RANGE, "registry.key_file", "only used with certificate_file");
}

/* --- targets --- */

#define TARGET_FAIL(checker, index, err, name, ...)                                                          \
	({                                                                                                   \
		char setting_[64];                                                                           \
		snprintf(setting_, sizeof setting_, "targets[%zu]%s%s", (index), *(name) ? "." : "",         \
			 (name));                                                                            \
		FAIL(checker, err, setting_, __VA_ARGS__);                                                   \
	})

static err_t check_address(const struct checker *checker, size_t index)
{
	const struct config_target *target = &checker->config->targets[index];
	bool file = config_engine_is_file(target->engine);
	if (file && !target->path)
		return TARGET_FAIL(checker, index, ERR_CONFIG_MISSING, "",
				   "a target of the engine sqlite needs path");
	if (!file && !target->dsn)
		return TARGET_FAIL(checker, index, ERR_CONFIG_MISSING, "",
				   "a target of the engine %s needs dsn",
				   target->engine == CONFIG_MARIADB   ? "mariadb"
				   : target->engine == CONFIG_MONGODB ? "mongodb"
								      : "postgresql");
	if (file && target->dsn)
		return TARGET_FAIL(checker, index, ERR_CONFIG_RANGE, "dsn",
				   "the engine sqlite takes path instead");
	if (!file && target->path)
		return TARGET_FAIL(checker, index, ERR_CONFIG_RANGE, "path",
				   "only the engine sqlite takes it");
	return ERR_OK;
}

static void check_target_dsn(const struct checker *checker, size_t index)
{
	const struct config_target *target = &checker->config->targets[index];
	char path[32], engine[64], dsn[64];
	snprintf(path, sizeof path, "targets[%zu]", index);
	snprintf(engine, sizeof engine, "%s.engine", path);
	snprintf(dsn, sizeof dsn, "%s.dsn", path);
	bool known = !conf_problems_within(checker->problems, engine) &&
		     !conf_problems_at(checker->problems, path);
	if (!known || conf_problems_within(checker->problems, dsn) || !target->dsn)
		return;
	if (target->engine == CONFIG_MARIADB)
		check_mariadb_dsn(checker, target->dsn, dsn);
	else if (target->engine == CONFIG_MONGODB)
		check_mongodb_dsn(checker, target->dsn, dsn);
	else if (target->engine == CONFIG_POSTGRESQL)
		check_dsn(checker, target->dsn, dsn);
}

static err_t check_functions(const struct checker *checker, size_t index)
{
	const struct config_target *target = &checker->config->targets[index];
	bool list = target->user_functions == CONFIG_FUNCTIONS_LIST;
	if (list && target->allowed_functions.count == 0)
		return TARGET_FAIL(checker, index, ERR_CONFIG_MISSING, "user_functions",
				   "\"list\" needs allowed_functions");
	if (!list && target->allowed_functions.count)
		return TARGET_FAIL(checker, index, ERR_CONFIG_RANGE, "allowed_functions",
				   "only used with user_functions = \"list\"");
	return ERR_OK;
}

/* "table.column" or "schema.table.column", no part empty. */
static bool is_column(const char *text)
{
	size_t dots = 0;
	for (const char *at = text; *at; at++)
		dots += *at == '.';
	bool empty_part = *text == '.' || strstr(text, "..") || text[strlen(text) - 1] == '.';
	return !empty_part && (dots == 1 || dots == 2);
}

static void check_columns(const struct checker *checker, size_t index)
{
	const struct conf_strings *columns = &checker->config->targets[index].required_columns;
	for (size_t i = 0; i < columns->count; i++) {
		char name[48];
		snprintf(name, sizeof name, "required_columns[%zu]", i);
		if (!is_column(columns->items[i]))
			TARGET_FAIL(checker, index, ERR_CONFIG_RANGE, name,
				    "a column is written \"table.column\" or \"schema.table.column\"");
	}
}

/* A worker holds the results of both queries at once. */
static err_t check_memory(const struct checker *checker, size_t index)
{
	const struct config_target *target = &checker->config->targets[index];
	int64_t most = target->worker_memory_bytes / 2;
	if (target->max_result_bytes <= most)
		return ERR_OK;
	return TARGET_FAIL(
		checker, index, ERR_CONFIG_RANGE, "max_result_bytes",
		"two results of %lld bytes do not fit into worker_memory_bytes = %lld; lower it to "
		"%lld or raise worker_memory_bytes",
		(long long)target->max_result_bytes, (long long)target->worker_memory_bytes, (long long)most);
}

static void check_name(const struct checker *checker, size_t index)
{
	const struct config_target *targets = checker->config->targets;
	for (size_t i = 0; i < index; i++) {
		if (!targets[i].name || strcmp(targets[i].name, targets[index].name) != 0)
			continue;
		TARGET_FAIL(checker, index, ERR_CONFIG_RANGE, "name",
			    "\"%s\" is already the name of another target", targets[i].name);
		return;
	}
}

static void check_targets(const struct checker *checker)
{
	for (size_t i = 0; i < checker->config->targets_count; i++) {
		char path[32];
		snprintf(path, sizeof path, "targets[%zu]", i);
		if (!conf_problems_within(checker->problems, path)) {
			check_name(checker, i);
			check_address(checker, i);
			check_functions(checker, i);
			check_memory(checker, i);
			check_columns(checker, i);
		}
		check_target_dsn(checker, i);
	}
}

/* --- the other groups --- */

/* The setting NAME of the judge with that index, or of the only one; the index itself with "". */
static const char *judge_setting(const struct checker *checker, size_t index, const char *name, char text[64])
{
	if (checker->config->judges_count == 0)
		snprintf(text, 64, "judge%s%s", *name ? "." : "", name);
	else
		snprintf(text, 64, "judges[%zu]%s%s", index, *name ? "." : "", name);
	return text;
}

/* One or several: not both. */
static void check_judges(const struct checker *checker)
{
	const struct config *config = checker->config;
	if (config->judge.configured && config->judges_count > 0)
		FAIL(checker, ERR_CONFIG_RANGE, "judges",
		     "the group judge is given, too; write that judge into the list, and what is one for all "
		     "of them into the group panel");
	if (config->panel.configured && config->judges_count == 0)
		FAIL(checker, ERR_CONFIG_RANGE, "panel", "only used with judges");
	if (config->judges_count > CONFIG_JUDGES_MAX)
		FAIL(checker, ERR_CONFIG_RANGE, "judges", "%zu judges are too many; allowed are up to %d",
		     config->judges_count, CONFIG_JUDGES_MAX);
}

static void check_judge_name(const struct checker *checker, size_t index)
{
	const struct config_judge *judges = checker->config->judges;
	char setting[64];
	judge_setting(checker, index, "name", setting);
	if (!judges[index].name || conf_problems_within(checker->problems, setting))
		return;
	if (!is_plain_name(judges[index].name))
		FAIL(checker, ERR_CONFIG_RANGE, setting,
		     "a judge's name consists of letters, digits, dots, underscores and hyphens, and is "
		     "neither "
		     "\".\" nor \"..\"");
	for (size_t i = 0; i < index; i++) {
		if (!judges[i].name || strcmp(judges[i].name, judges[index].name) != 0)
			continue;
		FAIL(checker, ERR_CONFIG_RANGE, setting, "\"%s\" is already the name of another judge",
		     judges[i].name);
		return;
	}
}

static void check_base_url(const struct checker *checker, const char *base_url, const char *setting)
{
	struct err_detail reason = { "" };
	if (!base_url || conf_problems_within(checker->problems, setting))
		return;
	err_t err = base_url_check(base_url, "api_key_file", &reason);
	if (err)
		FAIL(checker, err, setting, "%s", reason.message);
}

static void check_every_judge(const struct checker *checker)
{
	size_t count;
	const struct config_judge *judges = config_judges(checker->config, &count);
	char setting[64];
	for (size_t i = 0; i < checker->config->judges_count; i++)
		check_judge_name(checker, i);
	for (size_t i = 0; i < count; i++)
		check_base_url(checker, judges[i].base_url, judge_setting(checker, i, "base_url", setting));
}

/* Of the judges' cache, in whichever group it stands. */
static void check_judges_cache(const struct checker *checker)
{
	const struct config_panel judging = config_judging(checker->config);
	const char *group = checker->config->judges_count > 0 ? "panel" : "judge";
	char setting[64];
	snprintf(setting, sizeof setting, "%s.cache_dsn", group);
	if (!conf_problems_within(checker->problems, setting))
		check_dsn(checker, judging.cache_dsn, setting);
	if (conf_problems_within(checker->problems, group) || !judging.cache_password_file ||
	    judging.cache_dsn)
		return;
	snprintf(setting, sizeof setting, "%s.cache_password_file", group);
	FAIL(checker, ERR_CONFIG_RANGE, setting, "only used with cache_dsn");
}

static void check_calibration(const struct checker *checker)
{
	const struct config_calibration *calibration = &checker->config->calibration;
	if (!calibration->configured)
		return;
	if (3600 % calibration->bucket_s != 0)
		FAIL(checker, ERR_CONFIG_RANGE, "calibration.bucket_s", "an hour is not a multiple of %lld s",
		     (long long)calibration->bucket_s);
	if (calibration->drift_closes_at < calibration->drift_opens_below)
		FAIL(checker, ERR_CONFIG_RANGE, "calibration.drift_closes_at",
		     "%g is below drift_opens_below, %g", calibration->drift_closes_at,
		     calibration->drift_opens_below);
}

static void check_calibration_dsn(const struct checker *checker)
{
	check_dsn(checker, checker->config->calibration.dsn, "calibration.dsn");
}

static void check_audit(const struct checker *checker)
{
	const struct config_audit *audit = &checker->config->audit;
	if (!conf_problems_within(checker->problems, "audit.dsn"))
		check_dsn(checker, audit->dsn, "audit.dsn");
	if (audit->password_file && !audit->dsn)
		FAIL(checker, ERR_CONFIG_RANGE, "audit.password_file", "only used with dsn");
}

/* What the log needs, and what its checkpoints would spoil. */
static void check_audit_log(const struct checker *checker)
{
	const struct config_audit *audit = &checker->config->audit;
	const struct config_kafka *kafka = &checker->config->kafka;
	const char *const topics[] = { kafka->input_topic, kafka->scored_topic, kafka->advisory_topic,
				       kafka->dead_letter_topic, kafka->feedback_topic };
	struct config_database database;
	if (audit->log && !audit->key_file)
		FAIL(checker, ERR_CONFIG_MISSING, "audit.key_file",
		     "audit.log needs the key that signs it; \"assayd audit key NAME\" makes one");
	if (audit->log && !config_audit_database(checker->config, &database))
		FAIL(checker, ERR_CONFIG_MISSING, "audit.dsn",
		     "audit.log needs a database; name one here, or one for the calibration");
	for (size_t i = 0; audit->checkpoint_topic && i < sizeof topics / sizeof *topics; i++)
		if (strcmp(audit->checkpoint_topic, topics[i]) == 0)
			FAIL(checker, ERR_CONFIG_RANGE, "audit.checkpoint_topic",
			     "\"%s\" has another use already; checkpoints need a compacted topic of their "
			     "own",
			     topics[i]);
	if (audit->checkpoint_topic)
		check_topic_name(checker, audit->checkpoint_topic, "audit.checkpoint_topic");
	if (audit->checkpoint_file && *audit->checkpoint_file != '/')
		FAIL(checker, ERR_CONFIG_RANGE, "audit.checkpoint_file", "the path does not begin with /");
}

static void check_thresholds(const struct checker *checker, const struct config_thresholds *thresholds,
			     const char *setting)
{
	if (conf_problems_within(checker->problems, setting) ||
	    (thresholds->high >= thresholds->medium && thresholds->medium >= thresholds->low))
		return;
	FAIL(checker, ERR_CONFIG_RANGE, setting, "high %g, medium %g and low %g are not in descending order",
	     thresholds->high, thresholds->medium, thresholds->low);
}

static void check_weights(const struct checker *checker)
{
	const struct config_retrieval_weights *weights = &checker->config->retrieval_weights;
	double sum = weights->top + weights->gap + weights->consensus + weights->agreement +
		     weights->low_spread + weights->graph + weights->low_diversity;
	if (fabs(sum - 1) > 1e-9)
		FAIL(checker, ERR_CONFIG_RANGE, "retrieval.weights",
		     "the sum of the seven weights is %.10g instead of 1 (omitted weights have their "
		     "defaults)",
		     sum);
}

static void check_listen(const struct checker *checker)
{
	const char *listen = checker->config->http.listen;
	struct err_detail reason = { "" };
	struct host_port parsed;
	if (!*listen)
		return;
	err_t err = host_port_read(listen, strlen(listen), 0, 0, &parsed, &reason);
	if (err)
		FAIL(checker, err, "http.listen",
		     "\"%.60s\" is not an address and a port, such as 127.0.0.1:9464 or [::1]:9464: %s",
		     listen, reason.message);
}

static void check_webhook(const struct checker *checker)
{
	const struct config_webhook *webhook = &checker->config->webhook;
	struct err_detail reason = { "" };
	if (!webhook->configured)
		return;
	err_t err = base_url_check_whole(webhook->url, "secret_file, which signs requests,", &reason);
	if (err)
		FAIL(checker, err, "webhook.url", "%s", reason.message);
}

static void check_otlp(const struct checker *checker)
{
	const struct config_otlp *otlp = &checker->config->otlp;
	struct err_detail reason = { "" };
	if (!otlp->configured)
		return;
	size_t len = strlen(otlp->endpoint);
	err_t err = base_url_check_whole(otlp->endpoint, "authorization_file", &reason);
	if (!err && strpbrk(otlp->endpoint, "?#"))
		err = err_fail(
			&reason, ERR_CONFIG_RANGE,
			"the address contains a query or a fragment (? or #), after which no path can be "
			"appended; leave it out");
	if (!err && len >= 8 && strcmp(otlp->endpoint + len - 8, "/v1/logs") == 0)
		err = err_fail(&reason, ERR_CONFIG_RANGE,
			       "the address ends with /v1/logs, which assayd appends itself; leave it out");
	if (err)
		FAIL(checker, err, "otlp.endpoint", "%s", reason.message);
}

void config_check(const struct config *config, const struct conf_file *file, struct conf_problems *problems)
{
	static const struct {
		const char *path;
		void (*check)(const struct checker *checker);
	} groups[] = {
		{ "kafka", check_kafka },
		{ "kafka.bootstrap_servers", check_brokers },
		{ "registry", check_registry },
		{ "", check_judges }, /* each by itself: whatever is wrong with another */
		{ "", check_every_judge },
		{ "", check_judges_cache },
		{ "calibration", check_calibration },
		{ "calibration.dsn", check_calibration_dsn },
		{ "", check_audit },
		{ "audit", check_audit_log },
		{ "retrieval.weights", check_weights },
		{ "webhook.url", check_webhook },
		{ "otlp.endpoint", check_otlp },
		{ "http.listen", check_listen },
	};
	struct checker checker = { config, file, problems };
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (!conf_problems_within(problems, groups[i].path))
			groups[i].check(&checker);
	check_targets(&checker);
	config_each_secret(config, check_secret_file, &checker);
	check_thresholds(&checker, &config->confidence_thresholds, "confidence.thresholds");
	check_thresholds(&checker, &config->retrieval_thresholds, "retrieval.thresholds");
}
