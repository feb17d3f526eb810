/* Events through the whole pipeline: real workers, a real target, and a judge whose server is not there. */
#include "common/queue.h"
#include "event/event_metrics.h"
#include "event/pipeline.h"
#include "tests/unit/event/stages.h"

enum { EVENTS = 200 };

struct pipeline_rig {
	struct stages stages;
	struct pipeline *pipeline;
	struct queue ready; /* what has come out */
	size_t published;
};

static void on_ready(struct event *event, void *context)
{
	struct pipeline_rig *rig = context;
	queue_push(&rig->ready, &event->node);
}

static void on_published(struct event *event, void *context)
{
	struct pipeline_rig *rig = context;
	rig->published++;
	event_free(event);
}

static void rig_begin(struct pipeline_rig *rig, unsigned workers, bool with_judge)
{
	memset(rig, 0, sizeof *rig);
	stages_begin_with_target(&rig->stages);
	if (with_judge)
		rig->stages.context.judge = stages_judge();
	queue_init(&rig->ready, false);
	const struct pipeline_options options = {
		.config = rig->stages.config,
		.codec = rig->stages.codec,
		.targets = rig->stages.context.targets,
		.judge = rig->stages.context.judge,
		.default_catalog = rig->stages.context.default_catalog,
		.workers = workers,
		.lenient = true,
		.ready = on_ready,
		.published = on_published,
		.context = rig,
	};
	rig->pipeline = pipeline_start(&options);
}

static void rig_end(struct pipeline_rig *rig)
{
	targets_close(rig->stages.context.targets);
	judge_close(rig->stages.context.judge);
	pipeline_stop(rig->pipeline);
	queue_destroy(&rig->ready);
	stages_end(&rig->stages);
}

static struct event *submit(struct pipeline_rig *rig, const char *json, const struct event_origin *origin)
{
	struct event *event = pipeline_event(rig->pipeline, str_from(json), STR_NONE, origin);
	pipeline_submit(rig->pipeline, event);
	return event;
}

static struct event *next_ready(struct pipeline_rig *rig)
{
	struct list_node *node = queue_take(&rig->ready, PATIENCE_S * 1000);
	assert_non_null(node);
	return container_of(node, struct event, node);
}

static struct pipeline_statistics statistics_of(struct pipeline_rig *rig)
{
	struct pipeline_statistics statistics;
	pipeline_statistics(rig->pipeline, &statistics);
	return statistics;
}

/* Each comes out exactly once, scored or dead, also when both branches have to answer. */
static void all_come_out(void **state)
{
	static const char *const texts[] = {
		"{\"sql\":\"SELECT id FROM shop\"}",
		"{\"target\":\"shop\",\"sql\":\"SELECT name FROM shop\",\"ground_truth\":{\"sql\":"
		"\"SELECT name FROM shop WHERE id > 0\"}}",
		"{",
		"{\"sql\":\"DELETE FROM shop\"}",
	};
	struct pipeline_rig rig;
	size_t scored = 0, dead = 0, matched = 0;
	(void)state;
	rig_begin(&rig, 2, true);
	for (size_t i = 0; i < EVENTS; i++)
		submit(&rig, texts[i % COUNT_OF(texts)], &test_origin);
	for (size_t i = 0; i < EVENTS; i++) {
		struct event *event = next_ready(&rig);
		assert_int_equal(atomic_load(&event->step), STEP_READY);
		assert_true(event->publication.outputs_count > 0);
		dead += event->dead_reason == ERR_JSON_SYNTAX;
		scored += event->scored != NULL;
		if (event->scored && event->scored->result_validation)
			matched += event->scored->result_validation->score == 1;
		if (event->facts.judging.members_count > 0)
			assert_string_not_equal(stages_errors(event), "");
		event_free(event);
	}
	assert_int_equal(dead, EVENTS / 4);
	assert_int_equal(scored, EVENTS / 4 * 3);
	assert_int_equal(matched, EVENTS / 4);
	const struct pipeline_statistics statistics = statistics_of(&rig);
	assert_int_equal(statistics.received, EVENTS);
	assert_int_equal(statistics.scored, scored);
	assert_int_equal(statistics.dead, dead);
	assert_int_equal(statistics.at_step[STEP_READY], 0);
	rig_end(&rig);
}

/* The publisher's reports move the event, and what is committed is counted. */
static void publisher_reports(void **state)
{
	struct pipeline_rig rig;
	(void)state;
	rig_begin(&rig, 1, false);
	submit(&rig, "{\"sql\":\"SELECT id FROM shop\"}", &test_origin);
	struct event *event = next_ready(&rig);
	struct publication *publication = &event->publication;
	publication->changed(publication, PUBLICATION_JOINED);
	assert_int_equal(statistics_of(&rig).at_step[STEP_IN_TXN], 1);
	publication->changed(publication, PUBLICATION_RETURNED);
	assert_int_equal(statistics_of(&rig).at_step[STEP_READY], 1);
	assert_int_equal(rig.published, 0);
	publication->changed(publication, PUBLICATION_JOINED);
	publication->changed(publication, PUBLICATION_COMMITTED);
	assert_int_equal(rig.published, 1);
	assert_int_equal(event_metrics_get(&pipeline_event_metrics(rig.pipeline)->scored[LEVEL_MEDIUM]), 1);
	submit(&rig, "{", &test_origin);
	event = next_ready(&rig);
	event->publication.changed(&event->publication, PUBLICATION_DISCARDED);
	assert_int_equal(rig.published, 2);
	assert_int_equal(event_metrics_get(&pipeline_event_metrics(rig.pipeline)->dead[ERR_JSON_SYNTAX]), 0);
	rig_end(&rig);
}

/* Whose assignment is over leaves without outputs. */
static void events_of_a_closed_assignment(void **state)
{
	struct pipeline_rig rig;
	struct assignment *assignment = assignment_new("input", NULL);
	struct event_origin origin = test_origin;
	(void)state;
	origin.assignment = assignment;
	assert_true(assignment_close(assignment, 0));
	rig_begin(&rig, 1, false);
	submit(&rig, "{\"sql\":\"SELECT id FROM shop\"}", &origin);
	struct event *event = next_ready(&rig);
	assert_int_equal(atomic_load(&event->step), STEP_DISCARDED);
	assert_int_equal(event->publication.outputs_count, 0);
	event_free(event);
	assert_int_equal(statistics_of(&rig).discarded, 1);
	rig_end(&rig);
	assignment_unref(assignment);
}

/* An event keeps the settings that it was made with. */
static void settings_are_those_of_the_start(void **state)
{
	struct pipeline_rig rig;
	struct config *fresh;
	struct err_detail detail;
	(void)state;
	rig_begin(&rig, 1, false);
	struct event *before = pipeline_event(rig.pipeline, STR("{\"sql\":\"SELECT 1\"}"), STR_NONE, NULL);
	assert_int_equal(config_load(NULL, &fresh, &detail), ERR_OK);
	fresh->records.embed_input = false;
	pipeline_reload(rig.pipeline, fresh);
	config_unref(fresh);
	pipeline_submit(rig.pipeline, before);
	before = next_ready(&rig);
	assert_non_null(before->scored->input);
	event_free(before);
	submit(&rig, "{\"sql\":\"SELECT 1\"}", NULL);
	struct event *after = next_ready(&rig);
	assert_null(after->scored->input);
	event_free(after);
	rig_end(&rig);
}

/* What was submitted before the pipeline closes comes out. */
static void closing_finishes_the_work(void **state)
{
	struct pipeline_rig rig;
	(void)state;
	rig_begin(&rig, 2, false);
	for (size_t i = 0; i < EVENTS; i++)
		submit(&rig, "{\"sql\":\"SELECT id FROM shop\"}", NULL);
	pipeline_close(rig.pipeline);
	for (size_t i = 0; i < EVENTS; i++)
		event_free(next_ready(&rig));
	assert_null(queue_take(&rig.ready, 0));
	rig_end(&rig);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_out),
		cmocka_unit_test(publisher_reports),
		cmocka_unit_test(events_of_a_closed_assignment),
		cmocka_unit_test(settings_are_those_of_the_start),
		cmocka_unit_test(closing_finishes_the_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
