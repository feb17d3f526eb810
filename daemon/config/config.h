/*
 * Configuration: the file assayd.conf as a plain value (settings.def has every setting with its unit, range,
 * default and sentence). Immutable once loaded and reference-counted: whoever works with one keeps it while a
 * reload brings another. Reading is safe in any thread.
 */
#pragma once

#include "common/conf_table.h"

enum config_delivery { CONFIG_EXACTLY_ONCE, CONFIG_AT_LEAST_ONCE };
enum config_wire_format { CONFIG_SINGLE_OBJECT, CONFIG_CONFLUENT, CONFIG_JSON };
/* In the order of enum target_engine; CONFIG_MONGODB stays the last. */
enum config_engine { CONFIG_POSTGRESQL, CONFIG_SQLITE, CONFIG_MARIADB, CONFIG_MONGODB };
#define CONFIG_ENGINES_COUNT (CONFIG_MONGODB + 1)

/* Whether a target of the engine is a file, with a path in place of a dsn. */
static inline bool config_engine_is_file(enum config_engine engine)
{
	return engine == CONFIG_SQLITE;
}

enum config_user_functions { CONFIG_FUNCTIONS_NON_VOLATILE, CONFIG_FUNCTIONS_NONE, CONFIG_FUNCTIONS_LIST };
enum config_foreign_tables { CONFIG_FOREIGN_READ, CONFIG_FOREIGN_REFUSE };
enum config_show_texts { CONFIG_TEXTS_LOCAL, CONFIG_TEXTS_ALWAYS, CONFIG_TEXTS_NEVER };
enum config_large_results { CONFIG_TRUNCATE, CONFIG_STREAM };
enum config_provider { CONFIG_OPENAI, CONFIG_ANTHROPIC };
enum config_saturated { CONFIG_SATURATED_SKIP, CONFIG_SATURATED_WAIT };
enum config_diagnostic_source { CONFIG_DIAGNOSTIC_OWN, CONFIG_DIAGNOSTIC_EVENT, CONFIG_DIAGNOSTIC_WORST };

/* In the order of the records' levels. */
enum config_level { CONFIG_VERY_LOW, CONFIG_LOW, CONFIG_MEDIUM, CONFIG_HIGH };

/* In the order of the scores' factors. */
enum config_factor {
	CONFIG_TECHNICAL,
	CONFIG_ADVISORY,
	CONFIG_RETRIEVAL,
	CONFIG_GENERATOR,
	CONFIG_AGREEMENT,
	CONFIG_RETRIEVAL_WITHOUT_ADVISORY
};

/* In the order of the log's levels. */
enum config_log_level {
	CONFIG_LOG_CRITICAL,
	CONFIG_LOG_ERROR,
	CONFIG_LOG_WARNING,
	CONFIG_LOG_NOTICE,
	CONFIG_LOG_INFO,
	CONFIG_LOG_DEBUG
};

struct config_kafka {
	const char *bootstrap_servers;
	const char *group_id;
	const char *instance_id; /* never NULL: the host name where it is not given */
	const char *input_topic;
	const char *scored_topic;
	const char *advisory_topic;
	const char *dead_letter_topic;
	const char *feedback_topic;
	enum config_delivery delivery;
	enum config_wire_format wire_format; /* of the outputs */
	bool cloud_events;
	struct conf_strings properties;	       /* "name=value" */
	struct conf_strings secret_properties; /* "name=file" */
	const char *schema_directory;	       /* or NULL */
	int64_t transaction_max_events;
	int64_t transaction_max_bytes;
	int64_t transaction_linger_ms;
	int64_t transaction_timeout_ms;
	int64_t session_timeout_ms;
	int64_t heartbeat_ms;
	int64_t drain_on_revoke_ms;
	int64_t max_message_bytes;
};

/* In the order of the registry's. */
enum config_strategy { CONFIG_TOPIC_NAME, CONFIG_RECORD_NAME, CONFIG_TOPIC_RECORD_NAME };

struct config_registry {
	bool configured; /* false: the rest has its defaults */
	struct conf_strings urls;
	const char *user;	   /* or NULL, likewise below */
	const char *password_file; /* resolved, likewise the other secrets */
	const char *token_file;
	const char *ca_file;
	const char *certificate_file;
	const char *key_file;
	int64_t timeout_ms;
	int64_t wait_ms;
	int64_t max_waiting_events;
	int64_t max_waiting_bytes;
	bool may_register; /* `register` */
	enum config_strategy subject_name_strategy;
	int64_t max_schemas;
	int64_t max_kept_bytes;
};

enum config_client_authentication { CONFIG_CLIENT_BASIC, CONFIG_CLIENT_POST };

struct config_oauth {
	bool configured;
	const char *token_url;
	const char *client_id;
	const char *client_secret_file; /* resolved */
	enum config_client_authentication client_authentication;
	const char *scope;		/* or NULL */
	struct conf_strings parameters; /* "name=value" */
	struct conf_strings extensions; /* likewise */
	const char *ca_file;		/* or NULL */
	int64_t timeout_ms;
};

struct config_target {
	const char *name;
	enum config_engine engine;
	const char *dsn;	   /* or NULL, likewise below */
	const char *password_file; /* resolved: see config_secret_file */
	const char *path;
	int64_t connections;
	int64_t idle_timeout_s;
	int64_t statement_timeout_ms;
	int64_t lock_timeout_ms;
	int64_t max_rows;
	int64_t max_result_bytes;
	enum config_large_results large_results;
	int64_t worker_memory_bytes;
	int64_t truth_cache_bytes;
	int64_t sample_documents;
	int64_t truth_cache_ttl_s;
	int64_t catalog_ttl_s;
	enum config_user_functions user_functions;
	struct conf_strings allowed_functions;
	enum config_foreign_tables foreign_tables;
	bool double_quoted_strings;
	struct conf_strings required_columns; /* "table.column" or "schema.table.column" */
};

/* Of judges, at most. */
enum { CONFIG_JUDGES_MAX = 8 };

struct config_judge {
	bool configured;  /* as the only judge; false: the rest has its defaults */
	const char *name; /* of one of several; NULL: it is alone, and has what is one for all besides */
	enum config_provider provider;
	const char *base_url;
	const char *model;
	const char *api_key_file; /* or NULL; resolved */
	const char *ca_file;	  /* or NULL */
	int64_t timeout_ms;
	int64_t max_in_flight;
	double sample_rate;
	enum config_level always_below; /* events below this level are always judged */
	int64_t cache_ttl_s;
	int64_t cache_bytes;
	const char *cache_dsn;		 /* or NULL, "": none */
	const char *cache_password_file; /* or NULL; resolved */
	int64_t cache_retention_s;
	int64_t cache_wait_ms;
	int64_t queue_wait_ms;
	enum config_saturated when_saturated;
	int64_t max_attempts;
	int64_t requests_per_minute; /* 0: no limit, likewise below */
	int64_t tokens_per_minute;
	int64_t tokens_per_day;
	double prompt_token_price; /* of a million; both 0: not known */
	double completion_token_price;
	bool unsafe;
	const char *prompt_directory; /* or NULL: the built-in prompts */
};

/* What is one for all judges. */
struct config_panel {
	bool configured; /* as a group of its own */
	double sample_rate;
	enum config_level always_below; /* events below this level are always judged */
	bool unsafe;
	const char *cache_dsn;		 /* or NULL, "": none */
	const char *cache_password_file; /* or NULL; resolved */
	int64_t cache_retention_s;
	int64_t cache_wait_ms;
};

enum config_model { CONFIG_MODEL_OFF, CONFIG_MODEL_MAP, CONFIG_MODEL_FEATURES };

struct config_calibration {
	bool configured;
	const char *dsn;
	const char *password_file; /* or NULL; resolved */
	int64_t bucket_s;
	int64_t retention_days;
	int64_t max_segments;
	int64_t min_cases;
	double drift_opens_below;
	double drift_closes_at;
	double drift_false_alarms_per_10k;
	enum config_model model;
	int64_t model_interval_s;
	int64_t model_reasons;	    /* at most, of a probability */
	int64_t feedback_horizon_s; /* 0: feedback is not read */
};

struct config_audit {
	const char *dsn;	   /* or NULL: the calibration's; "": none. See config_audit_database */
	const char *password_file; /* or NULL; resolved */
	bool archive;
	int64_t retention_days; /* 0: for ever */
	bool log;
	const char *key_file;	      /* or NULL; resolved */
	const char *checkpoint_topic; /* or NULL, likewise below */
	const char *checkpoint_file;
	int64_t checkpoint_interval_s;
};

struct config_webhook {
	bool configured;
	const char *url;
	const char *secret_file; /* resolved */
	const char *ca_file;	 /* or NULL: the system's authorities */
	struct conf_enums kinds; /* in the order of enum advisory_kind; none: all, likewise below */
	struct conf_enums levels;
	int64_t timeout_ms;
	int64_t give_up_after_s; /* 0: never */
};

struct config_otlp {
	bool configured;
	const char *endpoint;
	const char *authorization_file; /* or NULL; resolved */
	const char *ca_file;		/* or NULL: the system's authorities */
	bool explanations;
	int64_t max_records;
	int64_t linger_ms;
	int64_t timeout_ms;
	int64_t give_up_after_s; /* 0: never */
};

struct config_thresholds {
	double high;
	double medium;
	double low;
};

enum config_level_by { CONFIG_LEVEL_BY_AUTO, CONFIG_LEVEL_BY_OVERALL, CONFIG_LEVEL_BY_PROBABILITY };
enum config_technical_alone { CONFIG_ALONE_MEDIUM, CONFIG_ALONE_HIGH };

struct config_confidence {
	struct conf_enums factors; /* enum config_factor */
	enum config_technical_alone technical_alone;
	enum config_level_by level_by;
};

struct config_agreement {
	bool execute;
	int64_t budget_ms;
	int64_t max_rows;
};

struct config_retrieval {
	double rrf_scale;
	double consensus_above;
	double gap_scale;
	double spread_scale;
};

struct config_retrieval_weights {
	double top;
	double gap;
	double consensus;
	double agreement;
	double low_spread;
	double graph;
	double low_diversity;
};

struct config_advisories {
	int64_t max_per_minute; /* per kind and segment; 0: none at all */
	double low_confidence_below;
	double advisory_only_below;
	double low_relevance_below;
};

struct config_diagnostic {
	enum config_diagnostic_source source;
};

struct config_result {
	double absolute_tolerance;
	double relative_tolerance;
	double performance_factor;
	double performance_floor_ms;
};

struct config_evaluation {
	double pass_score;
};

struct config_records {
	bool embed_input;
	bool redact_literals;
	int64_t sample_rows;
};

struct config_http {
	bool configured;
	const char *listen; /* "address:port"; "": no server */
	int64_t max_series;
	enum config_show_texts show_texts;
};

struct config_pipeline {
	int64_t workers;
	int64_t max_in_flight;
	int64_t max_in_flight_bytes;
	int64_t analysis_cache_bytes;
	int64_t drain_timeout_ms;
	const char *state_directory; /* or NULL: nothing is kept */
};

struct config_log {
	enum config_log_level level;
};

struct config {
	struct config_kafka kafka;
	struct config_registry registry;
	struct config_oauth oauth;
	struct config_target *targets;
	size_t targets_count;
	struct config_judge judge;   /* the only one, or */
	struct config_judge *judges; /* several */
	size_t judges_count;
	struct config_panel panel; /* see config_judging */
	struct config_calibration calibration;
	struct config_audit audit;
	struct config_webhook webhook;
	struct config_otlp otlp;
	struct config_confidence confidence;
	struct config_thresholds confidence_thresholds;
	struct config_agreement agreement;
	struct config_retrieval retrieval;
	struct config_retrieval_weights retrieval_weights;
	struct config_thresholds retrieval_thresholds;
	struct config_advisories advisories;
	struct config_diagnostic diagnostic;
	struct config_result result;
	struct config_evaluation evaluation;
	struct config_records records;
	struct config_http http;
	struct config_pipeline pipeline;
	struct config_log log;
};

/* Reads and checks the file. The error says file, line, setting and what is allowed. NULL for `path`: the
 * defaults alone, without targets, judge and calibration. The caller owns one reference. Secrets are not
 * read. */
err_t config_load(const char *path, struct config **ret_config, struct err_detail *detail);

/* The same, and everything that is wrong instead of the first mistake alone: the error returned is the first
 * one's. `problems` is empty before. What could be read is returned with an error, too, as long as the syntax
 * is right, for whoever looks further: settings that `problems` names are not to be used. Else `ret_config`
 * is left as it is. */
err_t config_examine(const char *path, struct conf_problems *problems, struct config **ret_config);

/* All judges: those of the list, or the only one; none. They live as long as the configuration. */
const struct config_judge *config_judges(const struct config *config, size_t *ret_count);

/* That of this name; NULL is that of the only one. Or NULL: the configuration does not have it any more. */
const struct config_judge *config_judge_named(const struct config *config, const char *name);

/* What is one for all judges, in whichever group it stands; texts live as long as the configuration. */
struct config_panel config_judging(const struct config *config);

/* The database of the audit; texts live as long as the configuration. False: there is none. */
struct config_database {
	const char *dsn;
	const char *password_file; /* or NULL */
	const char *settings;	   /* how the names of its settings begin, "audit."; static */
};
bool config_audit_database(const struct config *config, struct config_database *ret_database);

/* Another reference, to be given back; any thread. */
struct config *config_ref(const struct config *config);
void config_unref(struct config *config); /* NULL is fine */

DEFINE_CLEANUP(struct config, config_cleanup, config_unref)

/* SHA-256 of the effective settings in hexadecimal, without the names of secrets and without what is filled
 * in from the machine (host name, state directory); lives as long as the configuration. */
const char *config_digest(const struct config *config);

/* The text that the digest is of: a line "path=value" for every setting. It holds no secret, since what a
 * secret would stand in is refused (config_check). Lives as long as the configuration. */
str_t config_text(const struct config *config);

/* "file:line" of a setting or group, such as "targets[1].dsn"; false: it is not in the file. Any thread. */
bool config_place(const struct config *config, const char *setting, char *ret_place, size_t size);

/* A text that follows from the settings: `make` appends it for whoever asks first, and it lives as long as
 * the configuration. One such text: always the same function. Any thread. */
str_t config_derived(const struct config *config, void (*make)(const struct config *config, struct buf *out));

/* Appends the settings that differ and that a running daemon cannot take over, separated by ", "; returns how
 * many. */
size_t config_restart_needed(const struct config *before, const struct config *after, struct buf *names);

/* Whether that is hardly the name of a file, but the secret that should be in one: what keys begin with, more
 * than a file's name can hold, several lines. It must not be printed. Pure. */
bool config_is_secret_itself(const char *name);

/* Where a secret's file is: the name itself where it is absolute; else a credential of that name that systemd
 * has passed; else NAME in the directory `credentials` beside the configuration, for NAME and for
 * credentials_NAME; else from the working directory. Where there is none, the one beside the configuration,
 * whose name is marked as not to be shown (secret.h) unless it has a slash or begins with credentials_.
 * In the arena. All settings that name secrets are resolved when they are loaded. */
const char *config_secret_file(const char *name, const char *config_file, struct arena *arena);

/* Calls `visit` with each setting that names the file of a secret, and with that file. */
void config_each_secret(const struct config *config,
			void (*visit)(const char *setting, const char *file, void *context), void *context);

/* The value of one of kafka.secret_properties, "name=file", of which one that is PEM itself has lines. The
 * caller wipes and frees it; errors as those of secret_read_password. */
err_t config_read_property(const char *property, char **ret_value, struct err_detail *detail);

/* All properties to pass to librdkafka, "name=value", those with secrets read from their files; in the arena.
 */
err_t config_kafka_properties(const struct config *config, struct arena *arena,
			      struct conf_strings *ret_properties, struct err_detail *detail);

/* Writes the reference of all settings as man(7) source. */
void config_print_reference(FILE *out);
