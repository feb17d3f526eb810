#include "config/table.h"

static const char *const deliveries[] = { "exactly_once", "at_least_once", NULL };
static const char *const wire_formats[] = { "single_object", "confluent", "json", NULL };
static const char *const client_authentications[] = { "basic", "post", NULL };
static const char *const strategies[] = { "topic_name", "record_name", "topic_record_name", NULL };
static const char *const engines[] = {
	[CONFIG_POSTGRESQL] = "postgresql", [CONFIG_SQLITE] = "sqlite",	   [CONFIG_MARIADB] = "mariadb",
	[CONFIG_MONGODB] = "mongodb",	    [CONFIG_ENGINES_COUNT] = NULL,
};
static const char *const user_functions[] = { "non_volatile", "none", "list", NULL };
static const char *const foreign_tables[] = { "read", "refuse", NULL };
static const char *const show_texts[] = { "local", "always", "never", NULL };
static const char *const large_results[] = { "truncate", "stream", NULL };
static const char *const providers[] = { "openai", "anthropic", NULL };
static const char *const saturated[] = { "skip", "wait", NULL };
static const char *const diagnostic_sources[] = { "own", "event", "worst", NULL };
static const char *const levels[] = { "VERY_LOW_CONFIDENCE", "LOW_CONFIDENCE", "MEDIUM_CONFIDENCE",
				      "HIGH_CONFIDENCE", NULL };
static const char *const advisory_kinds[] = { "LOW_CONFIDENCE",
					      "UNSAFE_QUERY",
					      "LOW_RELEVANCE",
					      "GROUND_TRUTH_FAILED",
					      "PERFORMANCE_REGRESSION",
					      "CALIBRATION_DRIFT",
					      "WRONG_ANSWER",
					      "OWN_FALSE_NEGATIVE",
					      "TARGET_UNAVAILABLE",
					      "REVIEW_REQUIRED",
					      NULL };
static const char *const factors[] = { "technical", "advisory",	 "retrieval",
				       "generator", "agreement", "retrieval_without_advisory",
				       NULL };
static const char *const level_by[] = { "auto", "overall", "probability", NULL };
static const char *const alone[] = { "medium", "high", NULL };
static const char *const models[] = { "off", "map", "features", NULL };
static const char *const log_levels[] = { "critical", "error", "warning", "notice", "info", "debug", NULL };

/* Structs of the groups under the members' names. */
#define GROUP(member, tag, path, kind, sentence) typedef struct tag type_##member;
#include "config/settings.def"

enum group_index {
#define GROUP(member, tag, path, kind, sentence) GROUP_##member,
#include "config/settings.def"
	GROUP_COUNT
};

static const struct conf_group groups[GROUP_COUNT] = {
#define GROUP(member, tag, path, kind, sentence)                                                             \
	[GROUP_##member] = { path, kind, sentence, offsetof(struct config, member), sizeof(struct tag) },
#include "config/settings.def"
};

/* Where a field is; fails to compile when it has not the C type of the setting. */
#define FIELD(member, name, c_type)                                                                          \
	(offsetof(type_##member, name) +                                                                     \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((type_##member *)0)->name), c_type)        \
				 ? 1                                                                         \
				 : -1]))
#define ENUM_FIELD(member, name)                                                                             \
	(offsetof(type_##member, name) +                                                                     \
	 0 * sizeof(char[sizeof(((type_##member *)0)->name) == sizeof(int) ? 1 : -1]))

static const struct conf_setting settings[] = {
#define SETTING(member, name, type, unit, min, max, standard, flags, symbols, sentence, field)               \
	{ GROUP_##member, #name, type, unit, min, max, standard, flags, symbols, sentence, field },
#define BOOL(member, name, standard, flags, sentence)                                                        \
	SETTING(member, name, CONF_BOOL, NULL, 0, 1, standard, flags, NULL, sentence,                        \
		FIELD(member, name, bool))
#define NAMED_BOOL(member, field, name, standard, flags, sentence)                                           \
	{ GROUP_##member,                                                                                    \
	  name,                                                                                              \
	  CONF_BOOL,                                                                                         \
	  NULL,                                                                                              \
	  0,                                                                                                 \
	  1,                                                                                                 \
	  standard,                                                                                          \
	  flags,                                                                                             \
	  NULL,                                                                                              \
	  sentence,                                                                                          \
	  FIELD(member, field, bool) },
#define INT(member, name, unit, min, max, standard, flags, sentence)                                         \
	SETTING(member, name, CONF_INT, unit, min, max, standard, flags, NULL, sentence,                     \
		FIELD(member, name, int64_t))
#define DOUBLE(member, name, unit, min, max, standard, flags, sentence)                                      \
	SETTING(member, name, CONF_DOUBLE, unit, min, max, standard, flags, NULL, sentence,                  \
		FIELD(member, name, double))
#define STRING(member, name, fewest, most, standard, flags, sentence)                                        \
	SETTING(member, name, CONF_STRING, NULL, fewest, most, standard, flags, NULL, sentence,              \
		FIELD(member, name, const char *))
#define STRINGS(member, name, most, flags, sentence)                                                         \
	SETTING(member, name, CONF_STRINGS, NULL, 0, most, NULL, flags, NULL, sentence,                      \
		FIELD(member, name, struct conf_strings))
#define ENUM(member, name, symbols, standard, flags, sentence)                                               \
	SETTING(member, name, CONF_ENUM, NULL, 0, 0, standard, flags, symbols, sentence,                     \
		ENUM_FIELD(member, name))
#define ENUMS(member, name, symbols, fewest, standard, flags, sentence)                                      \
	SETTING(member, name, CONF_ENUMS, NULL, fewest, 16, standard, flags, symbols, sentence,              \
		FIELD(member, name, struct conf_enums))
#define FORBIDDEN(member, name, sentence)                                                                    \
	SETTING(member, name, CONF_FORBIDDEN, NULL, 0, 0, NULL, 0, NULL, sentence, 0)
#include "config/settings.def"
};

/* The table reader writes a list of groups as one struct conf_groups. */
_Static_assert(offsetof(struct config, targets_count) - offsetof(struct config, targets) ==
		       offsetof(struct conf_groups, count),
	       "targets and targets_count have the layout of struct conf_groups");

_Static_assert(offsetof(struct config, judges_count) - offsetof(struct config, judges) ==
		       offsetof(struct conf_groups, count),
	       "so have judges and judges_count");

static const struct conf_synonym synonyms[] = {
	{ "mysql", "mariadb" },
	{ "postgres", "postgresql" },
	{ "pgsql", "postgresql" },
	{ "pg", "postgresql" },
	{ "sqlite3", "sqlite" },
	{ "mongo", "mongodb" },
	{ "claude", "anthropic" },
	{ "exactly-once", "exactly_once" },
	{ "at-least-once", "at_least_once" },
};

const struct conf_table config_table = { groups,   GROUP_COUNT,
					 settings, sizeof settings / sizeof *settings,
					 synonyms, sizeof synonyms / sizeof *synonyms };
