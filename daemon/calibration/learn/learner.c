#include "calibration/learn/learner.h"

#include "calibration/learn/model_file.h"
#include "calibration/store/schema.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"

#include <pthread.h>

enum { REFRESH_MS = 10000, ROUND_MS = 1000 };

/* What is left of the labels after a candidate's span, to judge it by: a part of PARTS. */
#define PARTS 5

struct learner {
	struct database *database; /* the thread's, likewise below */
	enum model_kind kind;
	struct model_current *current;
	struct model_known known; /* of the row in use, whether or not it can be read */
	int64_t interval_us;
	int64_t refresh_us, fit_us; /* when next */
	bool away;		    /* PostgreSQL, and it was said */
	char *file, *dsn;	    /* where the model is kept; NULL: nowhere */
	bool unkept;		    /* it cannot be, and it was said */
	char *rules;		    /* or NULL */
	bool left;		    /* a model of other rules is passed over, and it was said */
	bool other;		    /* the rules are, and what they have was not said yet */
	bool bare;		    /* PostgreSQL is away without a model of the rules, and it was said */
	struct pool *thread;
	struct heartbeat heartbeat;
	_Atomic bool stopping;
	_Atomic bool interrupted; /* what is being fitted is of no use: by the end, or by other rules */

	pthread_mutex_t mutex; /* guards what follows; never held for long */
	pthread_cond_t closing;
	char *latest;	  /* rules, or NULL */
	bool changed;	  /* and they are not taken over yet */
	int64_t known_us; /* when it was last known to be in use; 0: never */
	struct learner_statistics statistics;
};

/* ---- one fit ---- */

static int compare_times(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

/* The end of a candidate's span: what came at one time is on one side of it. */
static int64_t find_cut(const struct model_example *examples, size_t count, struct arena *arena)
{
	int64_t *times = ARENA_ARRAY(arena, int64_t, count);
	for (size_t i = 0; i < count; i++)
		times[i] = examples[i].scored_at_ms;
	qsort(times, count, sizeof *times, compare_times);
	size_t last = (count - 1) - count / PARTS;
	while (last > 0 && last + 1 < count && times[last] == times[last + 1])
		last--;
	return times[last];
}

/* Those of the span first; how many they are. */
static size_t divide(struct model_example *examples, size_t count, int64_t cut_ms)
{
	size_t inside = 0;
	for (size_t i = 0; i < count; i++) {
		struct model_example example = examples[i];
		if (example.scored_at_ms > cut_ms)
			continue;
		examples[i] = examples[inside];
		examples[inside++] = example;
	}
	return inside;
}

/* Of a candidate: those of its span first. */
struct labels {
	struct model_example *examples;
	size_t inside, count;
};

/* The place that is left is looked at again as soon as its model is in use again, as it is when the new one's
 * row is deleted or cannot be read; the new one's own place waits as if that look had been at it. */
static err_t pass_on_place(struct database *database, const struct model *taken,
			   const struct model_looks *look, struct err_detail *detail)
{
	const struct model_info *info = model_info(taken);
	struct model_looks left = *look, next = *look;
	left.labels = 0;
	next.version = info->version;
	next.count = 0;
	err_t err = model_store_note_look(database, info->kind, model_rules(taken), &left, detail);
	return err ? err : model_store_note_look(database, info->kind, model_rules(taken), &next, detail);
}

/* A look counts once it is noted, whatever becomes of it; but one that is interrupted has seen nothing. */
static err_t use_if_better(struct database *database, const struct model_options *options,
			   struct model *candidate, const struct model_found *found,
			   const struct model_looks *last, const struct labels *labels, bool *ret_replaced,
			   struct err_detail *detail)
{
	struct model_judgement judgement;
	bool better = false;
	const struct model_judgement none = { 0 };
	const struct model *current = found->model;
	const struct model_example *later = labels->examples + labels->inside;
	size_t later_count = labels->count - labels->inside;
	const struct model_looks look =
		model_look_next(last, last->version, options->kind, later, later_count);
	err_t err = model_store_note_look(database, options->kind, options->rules, &look, detail);
	if (!err)
		err = model_replaces(candidate, current, labels->examples, labels->count, options, look.count,
				     &better, detail);
	if (err == ERR_SHUTTING_DOWN)
		model_store_note_look(database, options->kind, options->rules, last, NULL);
	if (err || !better)
		return err;
	err = model_judge(candidate, &none, later, later_count, &judgement, detail);
	if (err)
		return err;
	model_set_quality(candidate, &judgement.quality, judgement.proven);
	err = model_store_write(database, candidate, &judgement, found->known.used, detail);
	*ret_replaced = !err;
	return err ? err : pass_on_place(database, candidate, &look, detail);
}

/* By the labels that came after its span. */
static err_t judge_again(struct database *database, const struct model_found *found,
			 struct model_example *examples, size_t count, bool *ret_judged,
			 struct err_detail *detail)
{
	struct model_judgement judgement;
	if (!found->model)
		return ERR_OK;
	const struct model_info *info = model_info(found->model);
	size_t inside = divide(examples, count, info->to_ms);
	if (!model_judgement_is_due(&found->judgement, info->kind, examples, inside, count))
		return ERR_OK;
	err_t err = model_judge(found->model, &found->judgement, examples + inside, count - inside,
				&judgement, detail);
	if (!err)
		err = model_store_add_judgement(database, found->model, &judgement, detail);
	*ret_judged = !err;
	return err == ERR_SAMPLES ? ERR_OK : err;
}

static err_t fit_candidate(struct database *database, const struct model_options *options,
			   const struct model_found *found, struct model_example *examples, size_t count,
			   bool *ret_replaced, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	_cleanup_(model_cleanup) struct model *candidate = NULL;
	struct model_looks last;
	if (count < MODEL_LABELS_MIN)
		return err_fail(detail, ERR_SAMPLES, "%zu labels that it can use: a model takes %d", count,
				MODEL_LABELS_MIN);
	const struct labels labels = {
		.examples = examples,
		.inside = divide(examples, count, find_cut(examples, count, scratch)),
		.count = count,
	};
	err_t err = model_store_looks(database, options->kind, options->rules,
				      found->model ? model_info(found->model)->version : 0, &last, detail);
	if (!err && !model_look_is_due(&last, options->kind, examples, labels.inside, count))
		return err_fail(detail, ERR_SAMPLES, "too few labels are new since the last look at them");
	if (!err)
		err = model_fit(examples, labels.inside, options, &candidate, detail);
	return err ? err
		   : use_if_better(database, options, candidate, found, &last, &labels, ret_replaced, detail);
}

err_t learner_fit(struct database *database, const struct model_options *options,
		  struct learner_outcome *ret_outcome, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct model_example *examples;
	struct model_found found;
	const struct model_known nothing = { 0 };
	size_t count;
	*ret_outcome = (struct learner_outcome){ 0 };
	err_t err = model_store_examples(database, options->rules, arena, &examples, &count, detail);
	if (!err)
		err = model_store_read(database, options->kind, options->rules, &nothing, &found, detail);
	if (err)
		return err;
	count = model_keep_usable(options->kind, examples, count);
	err = judge_again(database, &found, examples, count, &ret_outcome->judged, detail);
	if (!err)
		err = fit_candidate(database, options, &found, examples, count, &ret_outcome->replaced,
				    detail);
	model_unref(found.model);
	return err;
}

/* ---- the thread ---- */

static err_t connect(struct learner *learner, struct err_detail *detail)
{
	bool fresh = false;
	err_t err = database_connect(learner->database, &fresh, detail);
	if (!err && fresh)
		err = calibration_schema_migrate(learner->database, detail);
	if (err)
		database_disconnect(learner->database);
	return err;
}

/* Once for each such model: whoever looks again finds it in use still, and asks no further. */
static void complain(struct learner *learner, const struct model_found *found)
{
	char instead[96] = "without another one there are no probabilities";
	if (found->model)
		snprintf(instead, sizeof instead,
			 "probabilities come from model %lld, the newest that can be read",
			 (long long)model_info(found->model)->version);
	log_error(
		"model %lld, which calibration_models has in use, cannot be read (%s): %s, and learning goes "
		"on; where a newer version of assayd wrote it, update this one, else delete the row (version "
		"= %lld), and the one before it is in use again",
		(long long)found->known.used, found->fault.message, instead, (long long)found->known.used);
	pthread_mutex_lock(&learner->mutex);
	learner->statistics.failures++;
	pthread_mutex_unlock(&learner->mutex);
}

/* For the next start. */
static void keep(struct learner *learner, const struct model_found *found)
{
	struct err_detail detail = { "" };
	if (!learner->file || found->passed_over) /* which may be of use again */
		return;
	if (found->same) {
		model_file_touch(learner->file);
		return;
	}
	err_t err = model_file_write(learner->file, learner->dsn, found->model, &found->known, &detail);
	if (err && !learner->unkept)
		log_warning("the model cannot be kept for the next start: %s; make the directory, or mend "
			    "pipeline.state_directory",
			    err_message(err, &detail));
	learner->unkept = err != ERR_OK;
}

static char *copy(const char *text)
{
	char *own = strdup(text);
	if (!own)
		abort();
	return own;
}

static str_t rules_of(const struct learner *learner)
{
	return learner->rules ? str_from(learner->rules) : STR_NONE;
}

/* Once for these rules, however often it is looked at. */
static void tell_of_rules(struct learner *learner, const struct model_found *found)
{
	if (found->passed_over && !learner->left)
		log_warning(
			"model %lld was learnt under other rules of overall confidence (%s; now %s): without "
			"one of the present rules there are no probabilities, and levels follow overall "
			"confidence",
			(long long)found->passed_over,
			*found->passed_over_rules ? found->passed_over_rules : "not known",
			learner->rules ? learner->rules : "not known");
	else if (found->model && (learner->left || learner->other))
		log_notice("model %lld, which was learnt under the present rules, is in use",
			   (long long)model_info(found->model)->version);
	learner->left = found->passed_over || (learner->left && !found->model);
	learner->other = false;
}

/* Whether it is of the rules that are in force: else what these have is at hand already, or none is. */
static bool take_into_use(struct learner *learner, const struct model_found *found)
{
	pthread_mutex_lock(&learner->mutex);
	bool present = !learner->changed;
	if (present) {
		learner->known_us = clock_monotonic_us();
		if (!found->same) {
			model_current_set(learner->current, found->model ? model_ref(found->model) : NULL);
			learner->statistics.version = found->model ? model_info(found->model)->version : 0;
		}
	}
	pthread_mutex_unlock(&learner->mutex);
	return present;
}

static void found_cleanup(struct model_found *found)
{
	model_unref(found->model);
}

static err_t refresh(struct learner *learner, struct err_detail *detail)
{
	_cleanup_(found_cleanup) struct model_found found = { 0 };
	err_t err = model_store_read(learner->database, learner->kind, rules_of(learner), &learner->known,
				     &found, detail);
	if (err)
		return err;
	if (found.unreadable && found.known.used != learner->known.used)
		complain(learner, &found);
	if (!found.same) /* whether or not it can be noted, the model is used */
		err = model_store_note_read(learner->database, learner->kind, rules_of(learner), &found,
					    detail);
	if (!take_into_use(learner, &found))
		return err;
	tell_of_rules(learner, &found);
	keep(learner, &found);
	learner->known = found.known;
	return err;
}

static err_t fit(struct learner *learner, struct err_detail *detail)
{
	bool locked = false;
	struct learner_outcome outcome = { 0 };
	err_t err = model_store_lock(learner->database, &locked, detail);
	if (err || !locked)
		return err;
	const struct model_options options = { .kind = learner->kind,
					       .rules = rules_of(learner),
					       .stopping = &learner->interrupted };
	err = learner_fit(learner->database, &options, &outcome, detail);
	pthread_mutex_lock(&learner->mutex);
	learner->statistics.fits += err != ERR_SAMPLES;
	learner->statistics.replaced += outcome.replaced;
	pthread_mutex_unlock(&learner->mutex);
	if (err == ERR_SAMPLES)
		log_debug("no model is fitted: %s", err_message(err, detail));
	if (err == ERR_SAMPLES || err == ERR_CONFLICT || err == ERR_SHUTTING_DOWN)
		err = ERR_OK;
	if (outcome.judged || outcome.replaced)
		learner->refresh_us = 0;
	if (model_store_unlock(learner->database, NULL) != ERR_OK)
		database_disconnect(learner->database);
	return err;
}

static void note(struct learner *learner, err_t err, const struct err_detail *detail)
{
	pthread_mutex_lock(&learner->mutex);
	learner->statistics.failures += err != ERR_OK;
	bool changed = learner->changed; /* what was tried was of other rules */
	bool bare = err && learner->statistics.version == 0;
	pthread_mutex_unlock(&learner->mutex);
	if (changed)
		return;
	if (bare && !learner->bare)
		log_warning("the model of the learnt probability cannot be read or fitted, and none of the "
			    "present rules of overall confidence is at hand; meanwhile there are no "
			    "probabilities, and levels follow overall confidence: %s",
			    err_message(err, detail));
	else if (err && !learner->away)
		log_warning(
			"the model of the learnt probability cannot be read or fitted; scoring goes on with "
			"the last one: %s",
			err_message(err, detail));
	if (!err && learner->away)
		log_notice("the model of the learnt probability is read again");
	learner->away = err != ERR_OK;
	learner->bare = bare;
}

/* What is at hand of them was seen to (learner_set_rules); all of it is read again. */
static void take_rules(struct learner *learner)
{
	pthread_mutex_lock(&learner->mutex);
	char *fresh = learner->changed ? copy(learner->latest) : NULL;
	learner->changed = false;
	learner->interrupted = learner->stopping != 0;
	pthread_mutex_unlock(&learner->mutex);
	if (!fresh)
		return;
	learner->left = learner->left && learner->rules && strcmp(fresh, learner->rules) == 0;
	free(learner->rules);
	learner->rules = fresh;
	learner->known = (struct model_known){ 0 };
	learner->refresh_us = learner->fit_us = 0;
	learner->other = true;
	learner->bare = false;
}

/* What is due. */
static void work(struct learner *learner)
{
	struct err_detail detail = { "" };
	take_rules(learner);
	int64_t now_us = clock_monotonic_us();
	bool fits = learner->interval_us && now_us >= learner->fit_us;
	if (!fits && now_us < learner->refresh_us)
		return;
	heartbeat_waiting(&learner->heartbeat, "calibration database");
	learner->refresh_us = now_us + INT64_C(1000) * REFRESH_MS;
	err_t err = connect(learner, &detail);
	if (!err)
		err = refresh(learner, &detail);
	if (!err && fits) {
		err = fit(learner, &detail);
		learner->fit_us = clock_monotonic_us() + (learner->interrupted ? 0 : learner->interval_us);
	} else if (fits) {
		learner->fit_us = learner->refresh_us; /* not at every round meanwhile */
	}
	note(learner, err, &detail);
}

static bool wait_for_round(struct learner *learner)
{
	const struct timespec deadline = clock_deadline_after(ROUND_MS);
	pthread_mutex_lock(&learner->mutex);
	if (!learner->stopping && !learner->changed && learner->refresh_us > 0)
		pthread_cond_timedwait(&learner->closing, &learner->mutex, &deadline);
	bool goes_on = !learner->stopping;
	pthread_mutex_unlock(&learner->mutex);
	return goes_on;
}

static void learner_main(void *context, unsigned index)
{
	struct learner *learner = context;
	(void)index;
	do {
		work(learner);
		heartbeat_beat(&learner->heartbeat);
	} while (wait_for_round(learner));
	heartbeat_stop(&learner->heartbeat);
}

/* ---- life ---- */

static void set_file(struct learner *learner, const struct learner_options *options)
{
	struct buf path = BUF_INIT;
	if (!options->state_directory)
		return;
	model_file_path(options->state_directory, options->kind, &path);
	learner->file = path.data;
	learner->dsn = copy(options->dsn);
}

/* What was in use when this instance knew it last. */
static bool read_kept(const struct learner *learner, struct model_kept *ret_kept)
{
	struct err_detail detail = { "" };
	if (!learner->file || access(learner->file, F_OK) != 0)
		return false;
	if (model_file_read(learner->file, learner->dsn, learner->kind, ret_kept, &detail) == ERR_OK)
		return true;
	log_warning("the model that was kept is of no use: %s", detail.message);
	return false;
}

/* With the mutex, or before there is a thread. */
static void use_kept(struct learner *learner, const struct model_kept *kept)
{
	int64_t age_ms = clock_wall_ms() - kept->known_ms;
	learner->known_us = clock_monotonic_us() - (age_ms > 0 ? age_ms : 0) * 1000;
	learner->statistics.version = kept->known.used;
	log_info("model %lld is used as it was kept, until the calibration database says which one is in use",
		 (long long)kept->known.used);
	model_current_set(learner->current, model_ref(kept->model));
}

/* What of no rules is kept is of those that it starts with. */
static void start_with_kept(struct learner *learner)
{
	struct model_kept kept;
	if (!read_kept(learner, &kept))
		return;
	if (!str_present(model_rules(kept.model)) || !learner->rules)
		model_set_rules(kept.model, rules_of(learner));
	learner->other = !str_equal(model_rules(kept.model), rules_of(learner));
	if (!learner->other) {
		learner->known = kept.known;
		use_kept(learner, &kept);
	}
	model_unref(kept.model);
}

struct learner *learner_start(const struct learner_options *options)
{
	struct learner *learner = calloc(1, sizeof *learner);
	if (!learner)
		abort();
	learner->heartbeat.name = "learner";
	learner->kind = options->kind;
	learner->current = options->current;
	learner->interval_us = options->interval_ms * 1000;
	if (options->rules) {
		learner->rules = copy(options->rules);
		learner->latest = copy(options->rules);
	}
	learner->database = database_new(options->dsn, options->password_file);
	database_set_settings(learner->database, "calibration.");
	database_set_application(learner->database, "assayd learner");
	pthread_mutex_init(&learner->mutex, NULL);
	clock_cond_init(&learner->closing);
	heartbeat_beat(&learner->heartbeat);
	set_file(learner, options);
	start_with_kept(learner);
	learner->thread = pool_start("learner", 1, learner_main, learner);
	return learner;
}

static void set_stopping(struct learner *learner)
{
	pthread_mutex_lock(&learner->mutex);
	learner->stopping = true;
	learner->interrupted = true;
	pthread_cond_signal(&learner->closing);
	pthread_mutex_unlock(&learner->mutex);
}

/* The version of the model at hand if it is of these rules; else 0. Another one stays where it is: whoever
 * has events of other rules does not use it. */
static int64_t version_at_hand(const struct learner *learner, str_t rules)
{
	_cleanup_(model_cleanup) struct model *model = model_current_get(learner->current);
	return model && str_equal(model_rules(model), rules) ? model_info(model)->version : 0;
}

void learner_set_rules(struct learner *learner, const char *rules)
{
	struct model_kept kept = { 0 };
	if (!learner || (learner->latest && strcmp(learner->latest, rules) == 0))
		return;
	bool found = read_kept(learner, &kept) && str_equal(model_rules(kept.model), str_from(rules));
	pthread_mutex_lock(&learner->mutex);
	free(learner->latest);
	learner->latest = copy(rules);
	learner->changed = true;
	learner->interrupted = true;
	learner->statistics.version = version_at_hand(learner, str_from(rules));
	if (found && !learner->statistics.version)
		use_kept(learner, &kept);
	pthread_cond_signal(&learner->closing);
	pthread_mutex_unlock(&learner->mutex);
	model_unref(kept.model);
}

void learner_close(struct learner *learner, int64_t until_us)
{
	if (!learner)
		return;
	database_limit_waits(learner->database, until_us);
	set_stopping(learner);
}

bool learner_ended(struct learner *learner, int64_t timeout_ms)
{
	if (!learner || !learner->thread)
		return true;
	if (!pool_join_within(learner->thread, timeout_ms))
		return false;
	learner->thread = NULL;
	return true;
}

void learner_stop(struct learner *learner)
{
	if (!learner)
		return;
	set_stopping(learner);
	if (learner->thread)
		pool_join(learner->thread);
	database_free(learner->database);
	free(learner->file);
	free(learner->dsn);
	free(learner->rules);
	free(learner->latest);
	pthread_cond_destroy(&learner->closing);
	pthread_mutex_destroy(&learner->mutex);
	free(learner);
}

void learner_statistics(struct learner *learner, struct learner_statistics *ret_statistics)
{
	pthread_mutex_lock(&learner->mutex);
	*ret_statistics = learner->statistics;
	ret_statistics->age_ms = learner->known_us ? (clock_monotonic_us() - learner->known_us) / 1000 : -1;
	pthread_mutex_unlock(&learner->mutex);
}

struct heartbeat *learner_heartbeat(struct learner *learner)
{
	return &learner->heartbeat;
}
