#include "calibration/replay/replay.h"

#include "calibration/store/cases.h"
#include "common/hash.h"
#include "score/agreement.h"

#include <math.h>

_Static_assert((int)LEVEL_HIGH == (int)SCORE_HIGH && LEVEL_HIGH + 2 == REPLAY_LEVELS, "levels are the same");
_Static_assert(LABEL_RELEVANCE + 1 == REPLAY_SOURCES, "a list for each label source");

/* ---- one record ---- */

static opt_double_t agreement_of(const struct scored_query *scored)
{
	const struct record_agreement *agreement = scored->confidence.agreement;
	str_t code = scored_query_agreement_error(scored);
	return agreement ? agreement_factor(agreement->canonical, agreement->results, code)
			 : (opt_double_t)OPT_NONE;
}

static void score_overall(const struct replay_rules *rules, const struct scored_query *scored,
			  struct overall_score *ret_score)
{
	const struct record_confidence *confidence = &scored->confidence;
	struct overall_input input = {
		.factors = rules->factors,
		.factors_count = rules->factors_count,
		.unsafe = scored->safety.verdict == VERDICT_UNSAFE,
		.technical_alone = rules->technical_alone,
		.thresholds = rules->thresholds,
	};
	if (confidence->technical)
		input.values[FACTOR_TECHNICAL] = opt_double(confidence->technical->score / 100);
	if (confidence->advisory)
		input.values[FACTOR_ADVISORY] = opt_double(confidence->advisory->confidence);
	if (confidence->retrieval)
		input.values[FACTOR_RETRIEVAL] = opt_double(confidence->retrieval->confidence);
	if (confidence->retrieval && !confidence->advisory)
		input.values[FACTOR_RETRIEVAL_WITHOUT_ADVISORY] = input.values[FACTOR_RETRIEVAL];
	input.values[FACTOR_GENERATOR] = confidence->generator;
	input.values[FACTOR_AGREEMENT] = agreement_of(scored);
	overall_score(&input, ret_score);
}

/* What this version does not know is left out; false: the record has none. */
static bool read_features(const struct record_confidence *confidence, double *values)
{
	for (size_t i = 0; i < confidence->features_count; i++)
		for (int feature = 0; feature < FEATURE_COUNT_; feature++)
			if (str_is(confidence->features[i].name, FEATURE_INFO[feature].name) &&
			    fabs(confidence->features[i].value) <= FEATURES_BOUND)
				values[feature] = confidence->features[i].value;
	return confidence->features_count > 0;
}

/* Of what is not run, or not analysed, nothing is claimed. */
static bool may_be_estimated(const struct scored_query *scored)
{
	if (scored->safety.verdict == VERDICT_UNSAFE)
		return false;
	for (size_t i = 0; i < scored->errors_count; i++)
		if (str_is(scored->errors[i].code, err_name(ERR_DIALECT_UNSUPPORTED)))
			return false;
	return true;
}

void replay_record(const struct replay_rules *rules, const struct scored_query *scored,
		   struct replay_verdict *ret_verdict)
{
	double features[FEATURE_COUNT_] = { 0 };
	struct overall_score overall;
	struct replay_verdict verdict = { .level = ENUM_ABSENT };
	score_overall(rules, scored, &overall);
	verdict.overall = overall.confidence;
	if (overall.confidence.set)
		verdict.level = (int)overall.level;
	if (rules->model && may_be_estimated(scored)) {
		const struct model_case item = {
			.segment = { scored->application, scored->model, scored->prompt_version },
			.overall = overall.confidence,
			.features = read_features(&scored->confidence, features) ? features : NULL,
		};
		verdict.estimated = model_estimate(rules->model, &item, &verdict.estimate);
	}
	verdict.by_probability = verdict.estimated && rules->level_follows;
	if (verdict.by_probability)
		verdict.level = (int)level_of_estimate(verdict.estimate.value, verdict.estimate.low,
						       &rules->thresholds);
	*ret_verdict = verdict;
}

/* ---- many ---- */

struct outcome_list {
	struct outcome *items;
	size_t count, capacity;
};

struct replay_sums {
	int64_t cases;
	double weight, weight_squared, weight_correct;
};

struct replay_source {
	int64_t times[REPLAY_TIMES];
	int64_t cases, ranked, learnt_from;
	struct replay_sums groups[REPLAY_TIMES][REPLAY_SIDES][REPLAY_LEVELS];
	struct outcome_list overall[REPLAY_SIDES], probability[REPLAY_SIDES];
};

/* Of 64 bits: of eight million different records two are taken for one in one of 500,000 replays. */
struct record_keys {
	uint64_t *slots; /* open addressing; 0: free */
	size_t count, capacity;
};

struct replay {
	struct replay_rules rules;
	struct record_keys keys;
	int64_t records, repeated, first_ms, last_ms;
	int64_t moved[REPLAY_LEVELS][REPLAY_LEVELS];
	struct replay_source sources[REPLAY_SOURCES];
};

struct replay *replay_new(const struct replay_rules *rules)
{
	struct replay *replay = calloc(1, sizeof *replay);
	if (!replay)
		abort();
	replay->rules = *rules;
	return replay;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	for (int source = 0; source < REPLAY_SOURCES; source++)
		for (int side = 0; side < REPLAY_SIDES; side++) {
			free(replay->sources[source].overall[side].items);
			free(replay->sources[source].probability[side].items);
		}
	free(replay->keys.slots);
	free(replay);
}

/* ---- records that come twice ---- */

static bool insert_key(struct record_keys *keys, uint64_t key)
{
	size_t at = key & (keys->capacity - 1);
	while (keys->slots[at] && keys->slots[at] != key)
		at = (at + 1) & (keys->capacity - 1);
	bool is_new = keys->slots[at] == 0;
	keys->slots[at] = key;
	keys->count += is_new;
	return is_new;
}

static void grow_keys(struct record_keys *keys)
{
	struct record_keys grown = { .capacity = keys->capacity ? 2 * keys->capacity : 1024 };
	grown.slots = calloc(grown.capacity, sizeof *grown.slots);
	if (!grown.slots)
		abort();
	for (size_t i = 0; i < keys->capacity; i++)
		if (keys->slots[i])
			insert_key(&grown, keys->slots[i]);
	free(keys->slots);
	*keys = grown;
}

/* 0: nothing tells it from others. */
static uint64_t key_of(const struct scored_query *scored)
{
	_cleanup_(buf_free) struct buf key = BUF_INIT;
	const struct record_provenance *event = &scored->provenance;
	if (event->topic.len)
		buf_printf(&key, "%lld %lld " STR_FMT, (long long)event->partition, (long long)event->offset,
			   STR_ARG(event->topic));
	else if (scored->event_id.len)
		buf_printf(&key, "event " STR_FMT, STR_ARG(scored->event_id));
	else
		return 0;
	uint64_t hash = hash_seeded(key.data, key.len);
	return hash ? hash : 1;
}

static bool came_before(struct replay *replay, const struct scored_query *scored)
{
	struct record_keys *keys = &replay->keys;
	uint64_t key = key_of(scored);
	if (!key || keys->count >= REPLAY_KEYS_MAX)
		return false;
	if (2 * (keys->count + 1) > keys->capacity)
		grow_keys(keys);
	return !insert_key(keys, key);
}

/* ---- labels ---- */

/* Whatever a record claims: what is no score is none. */
static void push(struct outcome_list *list, double score, const struct record_label *label)
{
	if (!(score >= 0 && score <= 1))
		return;
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 1024;
		list->items = realloc(list->items, list->capacity * sizeof *list->items);
		if (!list->items)
			abort();
	}
	list->items[list->count++] = (struct outcome){ score, label->weight, label->correct };
}

static void add_to_group(struct replay_sums *sums, const struct record_label *label)
{
	sums->cases++;
	sums->weight += label->weight;
	sums->weight_squared += label->weight * label->weight;
	sums->weight_correct += label->correct ? label->weight : 0;
}

static int place_of(int level)
{
	return level >= LEVEL_VERY_LOW && level <= LEVEL_HIGH ? level + 1 : 0;
}

static void add_label(struct replay *replay, const struct scored_query *scored,
		      const struct replay_verdict *verdict)
{
	const struct record_label *label = scored->label;
	const struct record_confidence *then = &scored->confidence;
	if (!label)
		return;
	struct replay_source *source = &replay->sources[label->source];
	const struct model *model = replay->rules.model;
	bool learnt_from = model && scored->scored_at <= model_info(model)->to_ms;
	enum replay_time time = learnt_from ? REPLAY_LEARNT : REPLAY_LATER;
	source->cases++;
	source->times[time]++;
	add_to_group(&source->groups[time][REPLAY_THEN][place_of(then->level)], label);
	add_to_group(&source->groups[time][REPLAY_NOW][place_of(verdict->level)], label);
	if (source->ranked >= REPLAY_CASES_MAX)
		return;
	source->ranked++;
	source->learnt_from += learnt_from;
	if (then->overall.set && verdict->overall.set) {
		push(&source->overall[REPLAY_THEN], then->overall.value, label);
		push(&source->overall[REPLAY_NOW], verdict->overall.value, label);
	}
	if (then->probability && !learnt_from)
		push(&source->probability[REPLAY_THEN], then->probability->value, label);
	if (verdict->estimated && !learnt_from)
		push(&source->probability[REPLAY_NOW], verdict->estimate.value, label);
}

err_t replay_add(struct replay *replay, const struct scored_query *scored, struct err_detail *detail)
{
	const struct record_label *label = scored->label;
	struct replay_verdict verdict;
	if (label && (label->source < 0 || label->source >= REPLAY_SOURCES))
		return err_fail(detail, ERR_AVRO_VALUE, "its label has no known source");
	if (label && !calibration_weight_valid(label->weight))
		return err_fail(detail, ERR_AVRO_VALUE,
				"its label weighs %g; what is counted weighs from 1e-12 to 1e12",
				label->weight);
	if (came_before(replay, scored)) {
		replay->repeated++;
		return ERR_OK;
	}
	replay_record(&replay->rules, scored, &verdict);
	if (replay->records == 0 || scored->scored_at < replay->first_ms)
		replay->first_ms = scored->scored_at;
	if (replay->records == 0 || scored->scored_at > replay->last_ms)
		replay->last_ms = scored->scored_at;
	replay->records++;
	replay->moved[place_of(scored->confidence.level)][place_of(verdict.level)]++;
	add_label(replay, scored, &verdict);
	return ERR_OK;
}

/* ---- the result ---- */

static struct replay_group group_of(const struct replay_sums *sums)
{
	struct replay_group group = { .cases = sums->cases };
	if (sums->cases == 0)
		return group;
	group.accuracy = fmin(1, sums->weight_correct / sums->weight);
	outcomes_wilson(group.accuracy, sums->weight * sums->weight / sums->weight_squared, &group.low,
			&group.high);
	return group;
}

static void rank(enum ranking_score score, const struct outcome_list *list, double wish, struct arena *arena,
		 struct ranking *ret_ranking)
{
	if (list->count > 0)
		ranking_of_cases(score, list->items, list->count, wish, arena, ret_ranking, NULL);
}

static void finish_source(const struct replay_source *source, int label_source, double wish,
			  struct arena *arena, struct replay_labelled *labelled)
{
	*labelled = (struct replay_labelled){ .label_source = label_source,
					      .cases = source->cases,
					      .ranked = source->ranked,
					      .learnt_from = source->learnt_from };
	memcpy(labelled->times, source->times, sizeof labelled->times);
	for (int side = 0; side < REPLAY_SIDES; side++) {
		for (int time = 0; time < REPLAY_TIMES; time++)
			for (int level = 0; level < REPLAY_LEVELS; level++)
				labelled->groups[time][side][level] =
					group_of(&source->groups[time][side][level]);
		rank(RANKING_OVERALL, &source->overall[side], wish, arena, &labelled->overall[side]);
		rank(RANKING_PROBABILITY, &source->probability[side], wish, arena,
		     &labelled->probability[side]);
	}
}

void replay_finish(const struct replay *replay, double wish, struct arena *arena,
		   struct replay_result *ret_result)
{
	struct replay_result result = { .records = replay->records,
					.repeated = replay->repeated,
					.unchecked = replay->keys.count >= REPLAY_KEYS_MAX,
					.first_ms = replay->first_ms,
					.last_ms = replay->last_ms };
	memcpy(result.moved, replay->moved, sizeof result.moved);
	for (int then = 0; then < REPLAY_LEVELS; then++)
		for (int now = 0; now < REPLAY_LEVELS; now++) {
			int64_t *sum = now == then  ? &result.kept
				       : now > then ? &result.higher
						    : &result.lower;
			*sum += replay->moved[then][now];
		}
	for (int i = 0; i < REPLAY_SOURCES; i++)
		if (replay->sources[i].cases > 0)
			finish_source(&replay->sources[i], i, wish, arena,
				      &result.labelled[result.labelled_count++]);
	*ret_result = result;
}
