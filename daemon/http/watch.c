#include "http/watch.h"

#include <inttypes.h>

void watch_readiness(struct watch *watch, int64_t now_ms, bool ready, bool stuck, const char *reason,
		     struct changes *changes)
{
	if (watch->seen && watch->ready == ready && watch->stuck == stuck)
		return;
	if (watch->seen && stuck)
		changes_note(changes, now_ms, "stuck: %s", reason);
	else if (watch->seen && ready)
		changes_note(changes, now_ms, "ready");
	else if (watch->seen)
		changes_note(changes, now_ms, "not ready: %.*s", (int)strcspn(reason, "\n"), reason);
	watch->seen = true;
	watch->ready = ready;
	watch->stuck = stuck;
	watch->since_ms = now_ms;
}

/* What it was, and takes what it is. */
static bool swap_flag(bool *kept, bool now)
{
	bool before = *kept;
	*kept = now;
	return before;
}

static uint64_t swap_count(uint64_t *kept, uint64_t now)
{
	uint64_t before = *kept;
	*kept = now;
	return before;
}

/* What one look has at hand. */
struct look {
	struct watch *watch;
	struct changes *changes;
	int64_t now_ms;
	bool tell;
};

static void note_flag(const struct look *look, bool *kept, bool now, const char *what, const char *name,
		      const char *is, const char *is_not)
{
	if (swap_flag(kept, now) != now && look->tell)
		changes_note(look->changes, look->now_ms, "%s%s%s%s %s", what, *name ? " \"" : "", name,
			     *name ? "\"" : "", now ? is : is_not);
}

static void note_count(const struct look *look, uint64_t *kept, uint64_t now, const char *what)
{
	uint64_t before = swap_count(kept, now);
	if (now > before && look->tell)
		changes_note(look->changes, look->now_ms, "%s%s", what,
			     now - before > 1 ? " (several times)" : "");
}

/* None has been counted before the start: there is nothing to learn from a first look. */
static void look_at_reloads(const struct look *look, const struct reloads *reloads)
{
	struct look always = *look;
	always.tell = true;
	note_count(&always, &look->watch->accepted, atomic_load(&reloads->accepted),
		   "the configuration was loaded again");
	note_count(&always, &look->watch->refused, atomic_load(&reloads->refused),
		   "a configuration was refused");
}

static void look_at_targets(const struct look *look, struct targets *targets)
{
	for (size_t i = 0; i < targets_count(targets) && i < WATCH_TARGETS; i++) {
		struct target_statistics statistics;
		targets_statistics(targets, i, &statistics);
		note_flag(look, &look->watch->targets_up[i], statistics.up, "target", statistics.name,
			  "answers", "does not answer");
	}
}

static void look_at_judges(const struct look *look, struct judge *judge)
{
	for (size_t i = 0; i < judge_members(judge); i++) {
		const char *name = judge_name(judge, i);
		note_flag(look, &look->watch->breakers[i], judge_stats(judge, i).breaker_open, "judge",
			  name ? name : "", "is left alone for a while: it fails", "is asked again");
	}
}

static void look_at_calibration(const struct look *look, struct calibrator *calibrator)
{
	struct calibrator_statistics statistics;
	calibrator_statistics(calibrator, &statistics);
	note_flag(look, &look->watch->calibration_up, statistics.database_up, "the calibration's database",
		  "", "takes what is written", "does not take what is written");
	note_count(look, &look->watch->drift_opened, statistics.drift_opened,
		   "calibration drift: an episode was opened");
	note_count(look, &look->watch->drift_closed, statistics.drift_closed,
		   "calibration drift: an episode was closed");
}

static void look_at_model(const struct look *look, struct learner *learner)
{
	struct learner_statistics statistics;
	learner_statistics(learner, &statistics);
	if (statistics.version == look->watch->model)
		return;
	look->watch->model = statistics.version;
	if (look->tell && statistics.version)
		changes_note(look->changes, look->now_ms, "learnt model: version %" PRId64 " is in use",
			     statistics.version);
	else if (look->tell)
		changes_note(look->changes, look->now_ms, "learnt model: none is in use");
}

void watch_parts(struct watch *watch, int64_t now_ms, const struct metrics_parts *parts,
		 struct changes *changes)
{
	const struct look look = { watch, changes, now_ms, watch->parts_seen };
	struct source_lag lag;
	if (parts->reloads)
		look_at_reloads(&look, parts->reloads);
	if (parts->targets)
		look_at_targets(&look, parts->targets);
	if (parts->judge)
		look_at_judges(&look, parts->judge);
	if (parts->calibrator)
		look_at_calibration(&look, parts->calibrator);
	if (parts->learner)
		look_at_model(&look, parts->learner);
	if (parts->source) {
		source_lag(parts->source, &lag);
		note_count(&look, &watch->recreated, lag.recreated, "the input topic was made again");
	}
	watch->parts_seen = true;
}
