#include "calibration/model/internal.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

const char *model_kind_name(enum model_kind kind)
{
	return kind == MODEL_MAP ? "map" : "features";
}

struct model *model_new(void)
{
	struct arena *arena = arena_new();
	struct model *model = ARENA_NEW(arena, struct model);
	model->arena = arena;
	model->self = model;
	model->references = ARENA_NEW(arena, _Atomic int);
	atomic_store(model->references, 1);
	return model;
}

struct model *model_ref(const struct model *model)
{
	atomic_fetch_add_explicit(model->references, 1, memory_order_relaxed);
	return model->self;
}

void model_unref(struct model *model)
{
	if (model && atomic_fetch_sub_explicit(model->references, 1, memory_order_acq_rel) == 1)
		arena_free(model->arena);
}

const struct model_info *model_info(const struct model *model)
{
	return &model->info;
}

str_t model_document(const struct model *model)
{
	return model->document;
}

const char *model_digest(const struct model *model)
{
	return model->digest;
}

void model_set_version(struct model *model, int64_t version)
{
	model->info.version = version;
}

void model_set_quality(struct model *model, const struct model_quality *quality, bool proven)
{
	model->info.quality = *quality;
	model->info.proven = proven;
}

void model_set_judgement(struct model *model, int64_t judgement)
{
	model->info.judgement = judgement;
}

str_t model_rules(const struct model *model)
{
	return model->rules;
}

void model_set_rules(struct model *model, str_t rules)
{
	model->rules = str_present(rules) ? arena_str(model->arena, rules) : STR_NONE;
}

/* ---- terms ---- */

bool model_can_score(enum model_kind kind, const struct model_case *item)
{
	return kind == MODEL_FEATURES ? item->features != NULL : item->overall.set;
}

double model_term_value(const struct model_term *term, const struct model_case *item)
{
	if (term->feature >= 0)
		return item->features[term->feature];
	return term->feature == MODEL_TERM_OVERALL && item->overall.set ? item->overall.value : term->mean;
}

double model_term_standard(const struct model_term *term, double value)
{
	double standard = (value - term->mean) / term->deviation;
	if (!(standard < MODEL_FEATURE_LIMIT))
		standard = MODEL_FEATURE_LIMIT;
	else if (standard < -MODEL_FEATURE_LIMIT)
		standard = -MODEL_FEATURE_LIMIT;
	return term->scale * standard;
}

/* ---- nodes ---- */

int model_compare_nodes(const void *left, const void *right)
{
	const struct model_node *a = left, *b = right;
	int order = (int)a->depth - (int)b->depth;
	if (!order)
		order = str_compare(a->segment.application, b->segment.application);
	if (!order)
		order = str_compare(a->segment.model, b->segment.model);
	return order ? order : str_compare(a->segment.prompt_version, b->segment.prompt_version);
}

const struct model_node *model_find(const struct model *model, const struct model_segment *segment,
				    enum model_depth depth)
{
	struct model_node key = { .depth = depth };
	if (depth != MODEL_ALL)
		key.segment.application = segment->application;
	if (depth == MODEL_SEGMENT)
		key.segment = *segment;
	return bsearch(&key, model->nodes, model->nodes_count, sizeof key, model_compare_nodes);
}
