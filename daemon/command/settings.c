#include "command/settings.h"

#include "command/teacher.h"
#include "command/unit.h"

/* One is cast to the other. */
_Static_assert((int)CONFIG_POSTGRESQL == (int)TARGET_POSTGRESQL && (int)CONFIG_SQLITE == (int)TARGET_SQLITE &&
		       (int)CONFIG_MARIADB == (int)TARGET_MARIADB &&
		       (int)CONFIG_MONGODB == (int)TARGET_MONGODB &&
		       (int)CONFIG_ENGINES_COUNT == (int)TARGET_ENGINES_COUNT,
	       "engines have one order");

_Static_assert((int)CONFIG_JUDGES_MAX == (int)JUDGE_MEMBERS_MAX, "as many judges as can be asked");

/* Calls that may wait for a worker process of a target, beyond which a target counts as overloaded. */
enum { TARGET_QUEUE_LIMIT = 8192 };

/* librdkafka 2.0.2 looks once a second whether a full queue has room: less than what is scored in that time
 * would hold up the rest. */
size_t settings_read_ahead_bytes(const struct config *config)
{
	return (size_t)config->pipeline.max_in_flight_bytes / 8;
}

static const struct kafka_oauth_settings *oauth_of(const struct config_oauth *oauth, struct arena *arena)
{
	struct kafka_oauth_settings *settings = ARENA_NEW(arena, struct kafka_oauth_settings);
	if (!oauth->configured)
		return NULL;
	*settings = (struct kafka_oauth_settings){
		.token_url = oauth->token_url,
		.client_id = oauth->client_id,
		.client_secret_file = oauth->client_secret_file,
		.secret_in_form = oauth->client_authentication == CONFIG_CLIENT_POST,
		.scope = oauth->scope,
		.parameters = oauth->parameters.items,
		.parameters_count = oauth->parameters.count,
		.extensions = oauth->extensions.items,
		.extensions_count = oauth->extensions.count,
		.ca_file = oauth->ca_file,
		.timeout_ms = (int)oauth->timeout_ms,
	};
	return settings;
}

err_t settings_kafka(const struct config *config, struct arena *arena, struct kafka_settings *ret_settings,
		     struct err_detail *detail)
{
	const struct config_kafka *kafka = &config->kafka;
	struct conf_strings properties;
	err_t err = config_kafka_properties(config, arena, &properties, detail);
	if (err)
		return err;
	*ret_settings = (struct kafka_settings){
		.bootstrap_servers = kafka->bootstrap_servers,
		.group_id = kafka->group_id,
		.instance_id = kafka->instance_id,
		.input_topic = kafka->input_topic,
		.scored_topic = kafka->scored_topic,
		.advisory_topic = kafka->advisory_topic,
		.dead_letter_topic = kafka->dead_letter_topic,
		.feedback_topic = config->calibration.configured && config->calibration.feedback_horizon_s > 0
					  ? kafka->feedback_topic
					  : NULL,
		.audits = config->audit.log,
		.webhook = config->webhook.configured,
		.otlp = config->otlp.configured,
		.checkpoint_topic = config->audit.checkpoint_topic,
		.properties = properties.items,
		.properties_count = properties.count,
		.oauth = oauth_of(&config->oauth, arena),
		.cloud_events = kafka->cloud_events,
		.exactly_once = kafka->delivery == CONFIG_EXACTLY_ONCE,
		.session_timeout_ms = (int)kafka->session_timeout_ms,
		.heartbeat_ms = (int)kafka->heartbeat_ms,
		.transaction_timeout_ms = (int)kafka->transaction_timeout_ms,
		.transaction_max_events = (size_t)kafka->transaction_max_events,
		.transaction_max_bytes = (size_t)kafka->transaction_max_bytes,
		.transaction_linger_ms = (int)kafka->transaction_linger_ms,
		.read_ahead_bytes = settings_read_ahead_bytes(config),
		.drain_on_revoke_ms = (int)kafka->drain_on_revoke_ms,
		.max_message_bytes = (size_t)kafka->max_message_bytes,
	};
	return ERR_OK;
}

/* Of a default: what the file has is no larger (config/check.c). */
static size_t smaller(int64_t a, int64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* An address is a prefix of paths. */
static const char *without_slash(const char *url, struct arena *arena)
{
	size_t len = strlen(url);
	while (len > 0 && url[len - 1] == '/')
		len--;
	return arena_text(arena, url, len).ptr;
}

const struct registry_settings *settings_registry(const struct config *config, struct arena *arena)
{
	const struct config_registry *registry = &config->registry;
	if (!registry->configured)
		return NULL;
	struct registry_settings *settings = ARENA_NEW(arena, struct registry_settings);
	const char **urls = ARENA_ARRAY(arena, const char *, registry->urls.count);
	for (size_t i = 0; i < registry->urls.count; i++)
		urls[i] = without_slash(registry->urls.items[i], arena);
	*settings = (struct registry_settings){
		.urls = urls,
		.urls_count = registry->urls.count,
		.user = registry->user,
		.password_file = registry->password_file,
		.token_file = registry->token_file,
		.ca_file = registry->ca_file,
		.certificate_file = registry->certificate_file,
		.key_file = registry->key_file,
		.timeout_ms = registry->timeout_ms,
		.wait_ms = registry->wait_ms,
		.max_waiting_events =
			smaller(registry->max_waiting_events, (config->pipeline.max_in_flight + 1) / 2),
		.max_waiting_bytes =
			smaller(registry->max_waiting_bytes, (config->pipeline.max_in_flight_bytes + 1) / 2),
		.max_schemas = (size_t)registry->max_schemas,
		.max_kept_bytes = (size_t)registry->max_kept_bytes,
		.state_directory = config->pipeline.state_directory,
	};
	return settings;
}

const char *settings_subject(const struct config *config, enum record_id record, struct arena *arena)
{
	const char *const topics[] = { [RECORD_QUERY] = config->kafka.input_topic,
				       [RECORD_SCORED] = config->kafka.scored_topic,
				       [RECORD_ADVISORY] = config->kafka.advisory_topic,
				       [RECORD_FEEDBACK] = config->kafka.feedback_topic };
	_cleanup_(buf_free) struct buf subject = BUF_INIT;
	registry_subject((enum registry_strategy)config->registry.subject_name_strategy, topics[record],
			 record, &subject);
	return arena_strdup(arena, subject.data);
}

enum wire_format settings_output(const struct config *config)
{
	switch (config->kafka.wire_format) {
	case CONFIG_JSON:
		return WIRE_JSON;
	case CONFIG_CONFLUENT:
		return WIRE_CONFLUENT;
	case CONFIG_SINGLE_OBJECT:
		break;
	}
	return WIRE_SINGLE_OBJECT;
}

static err_t learn_id(const struct config *config, const struct registry_settings *registry, bool keeps,
		      struct codec *codec, enum record_id record, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const char *subject = settings_subject(config, record, arena);
	uint32_t id;
	err_t err =
		registry_written_id(registry, subject, record, config->registry.may_register, &id, detail);
	if (err)
		return err;
	codec_set_written_id(codec, record, id);
	if (keeps)
		registry_keep_written_id(registry, subject, record, id);
	return ERR_OK;
}

err_t settings_written_ids(const struct config *config, struct codec *codec, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct registry_settings *registry = settings_registry(config, arena);
	err_t err = learn_id(config, registry, true, codec, RECORD_SCORED, detail);
	return err ? err : learn_id(config, registry, true, codec, RECORD_ADVISORY, detail);
}

/* The same with the state directory of the daemon on this host, which its unit may say instead of its
 * configuration. */
static const struct registry_settings *registry_of_daemon(const struct config *config, struct arena *arena)
{
	const struct registry_settings *registry = settings_registry(config, arena);
	struct unit unit;
	if (!registry || registry->state_directory)
		return registry;
	struct registry_settings *settings = ARENA_NEW(arena, struct registry_settings);
	unit_read(arena, &unit);
	*settings = *registry;
	settings->state_directory = unit.file ? unit.state_directory : NULL;
	return settings;
}

err_t settings_codec(const struct config *config, size_t max_message_bytes, bool writes,
		     struct codec **ret_codec, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	const struct registry_settings *registry = registry_of_daemon(config, arena);
	const struct codec_options options = { .output =
						       writes ? settings_output(config) : WIRE_SINGLE_OBJECT,
					       .schema_directory = config->kafka.schema_directory,
					       .max_event_bytes = max_message_bytes,
					       .max_named = registry ? registry->max_schemas : 0 };
	err_t err = codec_new(&options, &codec, detail);
	if (!err && options.output == WIRE_CONFLUENT)
		err = learn_id(config, registry, false, codec, RECORD_QUERY, detail);
	if (err)
		return err;
	if (registry)
		teacher_attach(registry, TAKE_PTR(arena), codec);
	*ret_codec = TAKE_PTR(codec);
	return ERR_OK;
}

static struct sql_policy policy_of(const struct config_target *target, struct arena *arena)
{
	size_t functions = target->allowed_functions.count, columns = target->required_columns.count;
	str_t *allowed = ARENA_ARRAY(arena, str_t, functions);
	struct sql_required_column *required = ARENA_ARRAY(arena, struct sql_required_column, columns);
	for (size_t i = 0; i < functions; i++)
		allowed[i] = str_from(target->allowed_functions.items[i]);
	for (size_t i = 0; i < columns; i++) {
		const char *name = target->required_columns.items[i];
		const char *dot = strrchr(name, '.'); /* the configuration has checked that there is one */
		required[i] = (struct sql_required_column){ arena_text(arena, name, (size_t)(dot - name)),
							    str_from(dot + 1) };
	}
	return (struct sql_policy){ .user_functions = (enum sql_user_functions)target->user_functions,
				    .allowed_functions = allowed,
				    .allowed_functions_count = functions,
				    .refuse_foreign_tables = target->foreign_tables == CONFIG_FOREIGN_REFUSE,
				    .double_quotes_are_names = !target->double_quoted_strings,
				    .required_columns = required,
				    .required_columns_count = columns };
}

void settings_target(const struct config *config, size_t index, struct arena *arena,
		     struct target_settings *ret_settings)
{
	const struct config_target *from = &config->targets[index];
	*ret_settings = (struct target_settings){
		.name = from->name,
		.engine = (enum target_engine)from->engine,
		.dsn = from->dsn,
		.password_file = from->password_file,
		.path = from->path,
		.connections = (unsigned)from->connections,
		.idle_timeout_s = from->idle_timeout_s,
		.statement_timeout_ms = from->statement_timeout_ms,
		.lock_timeout_ms = from->lock_timeout_ms,
		.max_rows = from->max_rows,
		.max_result_bytes = from->max_result_bytes,
		.stream_large_results = from->large_results == CONFIG_STREAM,
		.worker_memory_bytes = from->worker_memory_bytes,
		.truth_cache_bytes = from->truth_cache_bytes,
		.sample_documents = from->sample_documents,
		.truth_cache_ttl_s = from->truth_cache_ttl_s,
		.catalog_ttl_s = from->catalog_ttl_s,
		.absolute_tolerance = config->result.absolute_tolerance,
		.relative_tolerance = config->result.relative_tolerance,
		.policy = policy_of(from, arena),
	};
}

void settings_targets(const struct config *config, struct arena *arena, struct targets_options *ret_options)
{
	struct target_settings *targets = ARENA_ARRAY(arena, struct target_settings, config->targets_count);
	for (size_t i = 0; i < config->targets_count; i++)
		settings_target(config, i, arena, &targets[i]);
	*ret_options = (struct targets_options){ .targets = targets,
						 .targets_count = config->targets_count,
						 .state_directory = config->pipeline.state_directory,
						 .queue_limit = TARGET_QUEUE_LIMIT };
}

static struct judge_settings judge_of(const struct config_judge *judge, const struct config_panel *judging)
{
	return (struct judge_settings){
		.name = judge->name,
		.provider = judge->provider == CONFIG_ANTHROPIC ? "anthropic" : "openai",
		.base_url = judge->base_url,
		.model = judge->model,
		.api_key_file = judge->api_key_file,
		.ca_file = judge->ca_file,
		.prompt_directory = judge->prompt_directory,
		.timeout_ms = judge->timeout_ms,
		.queue_wait_ms = judge->queue_wait_ms,
		.wait_when_saturated = judge->when_saturated == CONFIG_SATURATED_WAIT,
		.max_in_flight = (unsigned)judge->max_in_flight,
		.max_attempts = (unsigned)judge->max_attempts,
		.cache_ttl_s = judge->cache_ttl_s,
		.cache_bytes = (size_t)judge->cache_bytes,
		.cache_dsn = judging->cache_dsn,
		.cache_password_file = judging->cache_password_file,
		.cache_retention_s = judging->cache_retention_s,
		.cache_wait_ms = judging->cache_wait_ms,
		.requests_per_minute = judge->requests_per_minute,
		.tokens_per_minute = judge->tokens_per_minute,
		.tokens_per_day = judge->tokens_per_day,
	};
}

size_t settings_judges(const struct config *config, struct arena *arena, struct judge_settings **ret_settings)
{
	size_t count;
	const struct config_judge *judges = config_judges(config, &count);
	const struct config_panel judging = config_judging(config);
	struct judge_settings *settings = ARENA_ARRAY(arena, struct judge_settings, count + 1);
	for (size_t i = 0; i < count; i++) {
		settings[i] = judge_of(&judges[i], &judging);
		bool listed = config->judges_count > 0;
		settings[i].setting = listed ? arena_printf(arena, "judges[%zu]", i).ptr : "judge";
		settings[i].cache_settings = listed ? "panel.cache_" : "judge.cache_";
	}
	*ret_settings = settings;
	return count;
}

const char *settings_judge_title(const struct judge_settings *settings, struct arena *arena)
{
	return settings->name ? arena_printf(arena, "judge \"%s\"", settings->name).ptr : "judge";
}

void settings_judges_daemon(const struct config *config, struct arena *arena, struct judge_settings *settings,
			    size_t count)
{
	const char *state = config->pipeline.state_directory;
	for (size_t i = 0; i < count; i++) {
		const char *name = settings[i].name;
		if (state)
			settings[i].budget_file = arena_printf(arena, "%s/judge-tokens%s%s", state,
							       name ? "-" : "", name ? name : "")
							  .ptr;
		if (settings[i].cache_dsn || !config->calibration.configured)
			continue;
		settings[i].cache_settings = "calibration.";
		settings[i].cache_dsn = config->calibration.dsn;
		settings[i].cache_password_file = config->calibration.password_file;
	}
}
