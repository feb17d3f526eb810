/*
 * What tests of the stages share: a context of real services. The target is a SQLite file behind real worker
 * processes; the judge is started, but nobody listens where it asks.
 */
#pragma once

#include "event/analyse.h"
#include "event/context.h"
#include "event/encode.h"
#include "event/finalise.h"
#include "event/incidents.h"
#include "event/outages.h"
#include "event/query_times.h"
#include "event/rate_limiter.h"
#include "sql/postgresql/ddl/ddl.h"
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/unit/target/calls.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

struct stages {
	struct event_context context;
	struct codec *codec;
	struct config *config; /* the defaults; tests change them */
	struct test_sqlite shop;
	struct step_counts steps;
};

/* With these names; of one that is alone, NULL. */
static inline struct judge *stages_judges(const char *const names[], size_t count)
{
	struct judge_settings settings[JUDGE_MEMBERS_MAX];
	struct err_detail detail = { "" };
	struct judge *judge = NULL;
	for (size_t i = 0; i < count; i++)
		settings[i] = (struct judge_settings){
			.name = names[i],
			.provider = i == 1 ? "anthropic" : "openai",
			.base_url = "http://127.0.0.1:1",
			.model = i == 1 ? "other-model" : "test-model",
			.timeout_ms = 60000,
			.queue_wait_ms = 60000,
			.max_in_flight = 8,
			.max_attempts = 1,
			.cache_bytes = 1 << 20,
		};
	if (judge_start(settings, count, &judge, &detail))
		fail_msg("%s", detail.message);
	return judge;
}

static inline struct judge *stages_judge(void)
{
	return stages_judges((const char *const[]){ NULL }, 1);
}

/* With a catalog for events without a target; without targets and a judge. */
static inline void stages_begin(struct stages *stages)
{
	const struct codec_options options = { .output = WIRE_JSON };
	struct err_detail detail = { "" };
	memset(stages, 0, sizeof *stages);
	if (codec_new(&options, &stages->codec, &detail) || config_load(NULL, &stages->config, &detail) ||
	    ddl_compile(STR("CREATE TABLE shop (id integer PRIMARY KEY, name text NOT NULL, price numeric);"),
			&stages->context.default_catalog, &detail))
		fail_msg("%s", detail.message);
	stages->context.codec = stages->codec;
	stages->context.rate_limiter = rate_limiter_new();
	stages->context.outages = outages_new();
	stages->context.query_times = query_times_new();
	stages->context.incidents = incidents_new();
	stages->context.steps = &stages->steps;
	stages->context.lenient = true;
}

/* Also the target "shop": id and name of an apple and a pear. */
static inline void stages_begin_with_target(struct stages *stages)
{
	stages_begin(stages);
	test_sqlite_make(&stages->shop, "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT);"
					"INSERT INTO shop VALUES (1, 'apple'), (2, 'pear');");
	const struct target_settings settings = sqlite_settings("shop", stages->shop.path);
	stages->context.targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(stages->context.targets, PATIENCE_S * 1000);
}

static inline void stages_end(struct stages *stages)
{
	targets_stop(stages->context.targets);
	judge_stop(stages->context.judge);
	rate_limiter_free(stages->context.rate_limiter);
	outages_free(stages->context.outages);
	query_times_free(stages->context.query_times);
	incidents_free(stages->context.incidents);
	catalog_unref(stages->context.default_catalog);
	config_unref(stages->config);
	codec_free(stages->codec);
	if (stages->shop.path[0])
		assert_int_equal(test_sqlite_remove(&stages->shop), 0);
	for (size_t i = 0; i < STEP_COUNT_; i++)
		assert_int_equal(stages->steps.at[i], 0);
}

static const struct event_origin test_origin = { .topic = { "input", 5 }, .partition = 3, .offset = 42 };

static inline struct event *stages_event(struct stages *stages, const char *json)
{
	return event_new(&stages->context, config_ref(stages->config), str_from(json), STR("key"),
			 &test_origin);
}

/* A branch that is not asked in earnest leaves its arena. */
static inline void stages_event_free(struct event *event)
{
	arena_free(event->facts.validation.arena);
	for (size_t i = 0; i < event->facts.judging.members_count; i++)
		for (size_t question = 0; question < JUDGE_QUESTIONS; question++)
			arena_free(event->facts.judging.members[i].calls[question].arena);
	event_free(event);
}

/* An event that has been analysed, or else the test fails. */
static inline struct event *stages_analysed(struct stages *stages, const char *json)
{
	struct event *event = stages_event(stages, json);
	struct err_detail detail = { "" };
	if (event_analyse(event, &detail))
		fail_msg("%s: %s", json, detail.message);
	event_set_step(event, STEP_ANALYSED);
	event_set_step(event, STEP_AWAITING);
	return event;
}

/* "metric/code" of all errors, in their order, with blanks between them. */
static inline const char *stages_errors(const struct event *event)
{
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < event->facts.errors_count; i++)
		buf_printf(&text, "%s" STR_FMT "/" STR_FMT, i ? " " : "",
			   STR_ARG(event->facts.errors[i].metric), STR_ARG(event->facts.errors[i].code));
	const char *kept = arena_strdup(event->arena, text.len ? text.data : "");
	buf_free(&text);
	return kept;
}

/* "name:status" of all stages, likewise. */
static inline const char *stages_noted(const struct event *event)
{
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < event->facts.stages_count; i++)
		buf_printf(&text, "%s" STR_FMT ":" STR_FMT, i ? " " : "",
			   STR_ARG(event->facts.stages[i].name), STR_ARG(event->facts.stages[i].status));
	const char *kept = arena_strdup(event->arena, text.len ? text.data : "");
	buf_free(&text);
	return kept;
}
