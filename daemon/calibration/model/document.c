#include "calibration/model/internal.h"

#include <jansson.h>
#include <math.h>

#include "calibration/statistics/outcomes.h"

/* Of one with steps; others have 1. */
#define FORMAT 2

/* Whatever a number of a document is. */
#define NUMBER_MAX 1e9

static void json_cleanup(json_t **json)
{
	json_decref(*json);
}

/* ---- writing ---- */

static void set(json_t *object, const char *name, double value)
{
	json_object_set_new(object, name, json_real(value));
}

static void set_integer(json_t *object, const char *name, int64_t value)
{
	json_object_set_new(object, name, json_integer(value));
}

static void set_text(json_t *object, const char *name, str_t text)
{
	json_object_set_new(object, name, json_stringn_nocheck(text.ptr ? text.ptr : "", text.len));
}

static json_t *numbers(const double *values, int count)
{
	json_t *array = json_array();
	for (int i = 0; i < count; i++)
		json_array_append_new(array, json_real(values[i]));
	return array;
}

static json_t *write_quality(const struct model_quality *quality)
{
	json_t *object = json_object();
	set_integer(object, "cases", quality->cases);
	set(object, "log_loss", quality->log_loss);
	set(object, "log_loss_constant", quality->log_loss_constant);
	set(object, "auroc", quality->auroc);
	set(object, "auroc_low", quality->auroc_low);
	set(object, "auroc_high", quality->auroc_high);
	set(object, "auroc_overall", quality->auroc_overall);
	set(object, "ece", quality->ece);
	set(object, "ece_low", quality->ece_low);
	return object;
}

static json_t *write_spread(const struct model_spread *spread)
{
	json_t *object = json_object();
	set(object, "intercept", spread->intercept);
	set(object, "slope", spread->slope);
	return object;
}

static json_t *write_term(const struct model_term *term, int spans)
{
	json_t *object = json_object();
	json_object_set_new(object, "name", json_string(term->name));
	set(object, "mean", term->mean);
	set(object, "deviation", term->deviation);
	set(object, "scale", term->scale);
	set(object, "coefficient", term->coefficient);
	json_object_set_new(object, "left_out", numbers(term->left_out, spans));
	return object;
}

static json_t *write_steps(const struct model *model)
{
	json_t *array = json_array();
	for (size_t i = 0; i < model->steps_count; i++) {
		const struct model_step *step = &model->steps[i];
		json_t *object = json_object();
		set(object, "overall", step->overall);
		set(object, "score", step->score);
		json_object_set_new(object, "left_out", numbers(step->left_out, model->spans));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *write_node(const struct model_node *node)
{
	static const char *const DEPTHS[] = { "all", "application", "segment" };
	json_t *object = json_object();
	json_object_set_new(object, "depth", json_string(DEPTHS[node->depth]));
	if (node->depth != MODEL_ALL)
		set_text(object, "application", node->segment.application);
	if (node->depth == MODEL_SEGMENT) {
		set_text(object, "model", node->segment.model);
		set_text(object, "prompt_version", node->segment.prompt_version);
	}
	set_integer(object, "labels", node->labels);
	set(object, "intercept", node->line.intercept);
	set(object, "slope", node->line.slope);
	set(object, "variance_intercept", node->line.variance_intercept);
	set(object, "variance_slope", node->line.variance_slope);
	set(object, "covariance", node->line.covariance);
	return object;
}

static int append(const char *data, size_t size, void *buf)
{
	buf_append(buf, data, size);
	return 0;
}

static json_t *write_places(const struct model *model)
{
	json_t *array = json_array();
	for (size_t i = 0; i < model->places_count; i++) {
		json_t *object = json_object();
		set(object, "log_odds", model->places[i].log_odds);
		set(object, "shift", model->places[i].near.shift);
		set(object, "variance", model->places[i].near.variance);
		json_array_append_new(array, object);
	}
	return array;
}

void model_encode(const struct model *model, struct buf *document)
{
	const struct model_info *info = &model->info;
	_cleanup_(json_cleanup) json_t *root = json_object();
	set_integer(root, "format", model->steps_count > 0 ? FORMAT : 1);
	json_object_set_new(root, "kind", json_string(model_kind_name(info->kind)));
	if (str_present(model->rules))
		set_text(root, "rules", model->rules);
	set_integer(root, "version", info->version);
	set_integer(root, "from_ms", info->from_ms);
	set_integer(root, "to_ms", info->to_ms);
	set_integer(root, "labels", info->labels);
	set(root, "mean", model->mean);
	json_object_set_new(root, "proven", json_boolean(info->proven));
	json_object_set_new(root, "quality", write_quality(&info->quality));
	set(root, "constant", model->constant);
	json_object_set_new(root, "constant_left_out", numbers(model->constant_left_out, model->spans));
	json_t *terms = json_array();
	for (size_t i = 0; i < model->terms_count; i++)
		json_array_append_new(terms, write_term(&model->terms[i], model->spans));
	json_object_set_new(root, "terms", terms);
	if (model->steps_count > 0)
		json_object_set_new(root, "steps", write_steps(model));
	set(root, "centre", model->centre);
	json_object_set_new(root, "applications", write_spread(&model->applications));
	json_object_set_new(root, "segments", write_spread(&model->segments));
	set(root, "spans_variance", model->spans_variance);
	if (model->places_count > 0)
		json_object_set_new(root, "places", write_places(model));
	json_t *lines = json_array();
	for (size_t i = 0; i < model->nodes_count; i++)
		json_array_append_new(lines, write_node(&model->nodes[i]));
	json_object_set_new(root, "lines", lines);
	json_dump_callback(root, append, document, JSON_COMPACT | JSON_REAL_PRECISION(17));
}

/* ---- reading ---- */

/* The first fault stops nothing: what is read after it is not used. */
struct reader {
	struct model *model;
	struct err_detail *detail;
	bool failed;
};

static void fail(struct reader *reader, const char *name)
{
	if (!reader->failed)
		err_fail(reader->detail, ERR_JSON_SHAPE,
			 "the model's document: \"%s\" is missing or out of range", name);
	reader->failed = true;
}

static const json_t *member(struct reader *reader, const json_t *object, const char *name, json_type type)
{
	const json_t *value = json_object_get(object, name);
	if (value && json_typeof(value) == type)
		return value;
	fail(reader, name);
	return NULL;
}

static double number_of(struct reader *reader, const json_t *value, const char *name, double least,
			double most)
{
	if (json_is_number(value) && json_number_value(value) >= least && json_number_value(value) <= most)
		return json_number_value(value);
	fail(reader, name);
	return 0;
}

static double number(struct reader *reader, const json_t *object, const char *name, double least, double most)
{
	return number_of(reader, json_object_get(object, name), name, least, most);
}

static int64_t integer(struct reader *reader, const json_t *object, const char *name, int64_t least,
		       int64_t most)
{
	const json_t *value = json_object_get(object, name);
	if (json_is_integer(value) && json_integer_value(value) >= least && json_integer_value(value) <= most)
		return json_integer_value(value);
	fail(reader, name);
	return least;
}

static str_t text(struct reader *reader, const json_t *object, const char *name)
{
	const json_t *value = member(reader, object, name, JSON_STRING);
	return value ? arena_text(reader->model->arena, json_string_value(value), json_string_length(value))
		     : STR("");
}

/* Reads `spans` numbers. */
static void read_left_out(struct reader *reader, const json_t *object, const char *name, double *ret)
{
	const json_t *array = member(reader, object, name, JSON_ARRAY);
	if (array && json_array_size(array) != (size_t)reader->model->spans)
		fail(reader, name);
	for (size_t i = 0; i < (size_t)reader->model->spans; i++)
		ret[i] = number_of(reader, json_array_get(array, i), name, -NUMBER_MAX, NUMBER_MAX);
}

static void read_quality(struct reader *reader, const json_t *root, struct model_quality *ret)
{
	const json_t *object = member(reader, root, "quality", JSON_OBJECT);
	*ret = (struct model_quality){
		.cases = integer(reader, object, "cases", 0, INT64_MAX),
		.log_loss = number(reader, object, "log_loss", 0, NUMBER_MAX),
		.log_loss_constant = number(reader, object, "log_loss_constant", 0, NUMBER_MAX),
		.auroc = number(reader, object, "auroc", 0, 1),
		.auroc_low = number(reader, object, "auroc_low", 0, 1),
		.auroc_high = number(reader, object, "auroc_high", 0, 1),
		.auroc_overall = number(reader, object, "auroc_overall", 0, 1),
		.ece = number(reader, object, "ece", 0, 1),
		.ece_low = number(reader, object, "ece_low", 0, 1),
	};
}

static struct model_spread read_spread(struct reader *reader, const json_t *root, const char *name)
{
	const json_t *object = member(reader, root, name, JSON_OBJECT);
	return (struct model_spread){ number(reader, object, "intercept", 0, NUMBER_MAX),
				      number(reader, object, "slope", 0, NUMBER_MAX) };
}

static int feature_of(str_t name)
{
	if (str_is(name, "overall"))
		return MODEL_TERM_OVERALL;
	for (int i = 0; i < FEATURE_COUNT_; i++)
		if (str_is(name, FEATURE_INFO[i].name))
			return i;
	return MODEL_TERM_UNKNOWN;
}

static void read_term(struct reader *reader, const json_t *object)
{
	struct model *model = reader->model;
	struct model_term term = { .scale = number(reader, object, "scale", 0, NUMBER_MAX) };
	str_t name = text(reader, object, "name");
	term.name = name.ptr;
	term.feature = feature_of(name);
	term.mean = number(reader, object, "mean", -NUMBER_MAX, NUMBER_MAX);
	term.deviation = number(reader, object, "deviation", 1e-12, NUMBER_MAX);
	term.coefficient = number(reader, object, "coefficient", -NUMBER_MAX, NUMBER_MAX);
	read_left_out(reader, object, "left_out", term.left_out);
	if (model->info.kind == MODEL_MAP && term.feature != MODEL_TERM_OVERALL)
		fail(reader, "terms");
	for (size_t i = 0; i < model->terms_count; i++)
		if (strcmp(model->terms[i].name, term.name) == 0)
			fail(reader, "terms");
	model->terms[model->terms_count++] = term;
}

/* Beyond what this version has there may be features of another. */
enum { TERMS_READ_MAX = 512 };

static void read_terms(struct reader *reader, const json_t *root)
{
	const json_t *array = member(reader, root, "terms", JSON_ARRAY);
	size_t count = json_array_size(array);
	if (count > TERMS_READ_MAX) {
		fail(reader, "terms");
		return;
	}
	reader->model->terms = ARENA_ARRAY(reader->model->arena, struct model_term, count + 1);
	for (size_t i = 0; i < count; i++)
		read_term(reader, json_array_get(array, i));
}

static void read_node(struct reader *reader, const json_t *object)
{
	struct model *model = reader->model;
	struct model_node *node = &model->nodes[model->nodes_count];
	const char *depth = json_string_value(member(reader, object, "depth", JSON_STRING));
	str_t name = depth ? str_from(depth) : STR("");
	node->depth = str_is(name, "all")	    ? MODEL_ALL
		      : str_is(name, "application") ? MODEL_APPLICATION
						    : MODEL_SEGMENT;
	if (!STR_IS_ANY(name, "all", "application", "segment"))
		fail(reader, "depth");
	if (node->depth != MODEL_ALL)
		node->segment.application = text(reader, object, "application");
	if (node->depth == MODEL_SEGMENT) {
		node->segment.model = text(reader, object, "model");
		node->segment.prompt_version = text(reader, object, "prompt_version");
	}
	node->labels = integer(reader, object, "labels", 0, INT64_MAX);
	node->line = (struct model_line){
		.intercept = number(reader, object, "intercept", -NUMBER_MAX, NUMBER_MAX),
		.slope = number(reader, object, "slope", -NUMBER_MAX, NUMBER_MAX),
		.variance_intercept = number(reader, object, "variance_intercept", 0, NUMBER_MAX),
		.variance_slope = number(reader, object, "variance_slope", 0, NUMBER_MAX),
		.covariance = number(reader, object, "covariance", -NUMBER_MAX, NUMBER_MAX),
	};
	/* The first is that of all cases and the only one; the order is what searching needs. */
	if ((node->depth == MODEL_ALL) != (model->nodes_count == 0) ||
	    (model->nodes_count > 0 && model_compare_nodes(node - 1, node) >= 0))
		fail(reader, "lines");
	model->nodes_count++;
}

static void read_nodes(struct reader *reader, const json_t *root)
{
	const json_t *array = member(reader, root, "lines", JSON_ARRAY);
	size_t count = json_array_size(array);
	if (count == 0 || count > MODEL_LINES_MAX) {
		fail(reader, "lines");
		return;
	}
	reader->model->nodes = ARENA_ARRAY(reader->model->arena, struct model_node, count);
	for (size_t i = 0; i < count && !reader->failed; i++)
		read_node(reader, json_array_get(array, i));
}

static void read_info(struct reader *reader, const json_t *root)
{
	struct model_info *info = &reader->model->info;
	const char *kind = json_string_value(member(reader, root, "kind", JSON_STRING));
	if (kind && strcmp(kind, "map") != 0 && strcmp(kind, "features") != 0)
		fail(reader, "kind");
	info->kind = kind && strcmp(kind, "map") == 0 ? MODEL_MAP : MODEL_FEATURES;
	info->version = integer(reader, root, "version", 0, INT64_MAX);
	info->from_ms = integer(reader, root, "from_ms", INT64_MIN, INT64_MAX);
	info->to_ms = integer(reader, root, "to_ms", info->from_ms, INT64_MAX);
	info->labels = integer(reader, root, "labels", 1, INT64_MAX);
	info->proven = json_is_true(json_object_get(root, "proven"));
	if (!json_is_boolean(json_object_get(root, "proven")))
		fail(reader, "proven");
	read_quality(reader, root, &info->quality);
}

/* Those of before rules were written have none. */
static void read_rules(struct reader *reader, const json_t *root)
{
	if (!json_object_get(root, "rules"))
		return;
	reader->model->rules = text(reader, root, "rules");
	if (reader->model->rules.len == 0 || reader->model->rules.len > MODEL_RULES_MAX)
		fail(reader, "rules");
}

static void read_steps(struct reader *reader, const json_t *root)
{
	struct model *model = reader->model;
	const json_t *array = member(reader, root, "steps", JSON_ARRAY);
	size_t count = json_array_size(array);
	if (count == 0 || count > MODEL_STEPS_MAX || model->info.kind != MODEL_MAP) {
		fail(reader, "steps");
		return;
	}
	model->steps = ARENA_ARRAY(model->arena, struct model_step, count);
	for (size_t i = 0; i < count && !reader->failed; i++) {
		const json_t *object = json_array_get(array, i);
		struct model_step *step = &model->steps[i];
		step->overall = number(reader, object, "overall", 0, 1);
		step->score = number(reader, object, "score", -NUMBER_MAX, NUMBER_MAX);
		read_left_out(reader, object, "left_out", step->left_out);
		if (i > 0 && step->overall <= step[-1].overall)
			fail(reader, "overall");
	}
	model->steps_count = count;
}

/* Those of before this part of the interval have none. */
static void read_places(struct reader *reader, const json_t *root)
{
	struct model *model = reader->model;
	if (!json_object_get(root, "places"))
		return;
	const json_t *array = member(reader, root, "places", JSON_ARRAY);
	size_t count = json_array_size(array);
	if (count == 0 || count > MODEL_PLACES_MAX) {
		fail(reader, "places");
		return;
	}
	model->places = ARENA_ARRAY(model->arena, struct model_place, count);
	for (size_t i = 0; i < count && !reader->failed; i++) {
		const json_t *object = json_array_get(array, i);
		struct model_place *place = &model->places[i];
		place->log_odds = number(reader, object, "log_odds", -NUMBER_MAX, NUMBER_MAX);
		place->near.shift = number(reader, object, "shift", -NUMBER_MAX, NUMBER_MAX);
		place->near.variance = number(reader, object, "variance", 0, NUMBER_MAX);
		if (i > 0 && place->log_odds <= place[-1].log_odds)
			fail(reader, "log_odds");
	}
	model->places_count = count;
}

static void read_model(struct reader *reader, const json_t *root)
{
	struct model *model = reader->model;
	int64_t format = integer(reader, root, "format", 1, INT64_MAX);
	if (!reader->failed && format > FORMAT) {
		err_fail(reader->detail, ERR_JSON_SHAPE,
			 "the model's document has format %lld, this program reads up to %d",
			 (long long)format, FORMAT);
		reader->failed = true;
	}
	read_info(reader, root);
	read_rules(reader, root);
	model->mean = number(reader, root, "mean", 0, 1);
	model->constant = number(reader, root, "constant", -NUMBER_MAX, NUMBER_MAX);
	size_t spans = json_array_size(member(reader, root, "constant_left_out", JSON_ARRAY));
	if (spans > MODEL_SPANS)
		fail(reader, "constant_left_out");
	model->spans = spans > MODEL_SPANS ? 0 : (int)spans;
	read_left_out(reader, root, "constant_left_out", model->constant_left_out);
	read_terms(reader, root);
	if (format == FORMAT)
		read_steps(reader, root);
	model->centre = number(reader, root, "centre", -NUMBER_MAX, NUMBER_MAX);
	model->applications = read_spread(reader, root, "applications");
	model->segments = read_spread(reader, root, "segments");
	model->spans_variance = number(reader, root, "spans_variance", 0, NUMBER_MAX);
	read_places(reader, root);
	read_nodes(reader, root);
}

err_t model_decode(str_t document, struct model **ret_model, struct err_detail *detail)
{
	json_error_t error;
	if (document.len > MODEL_DOCUMENT_MAX)
		return err_fail(detail, ERR_JSON_SHAPE, "the model's document has more than %d bytes",
				MODEL_DOCUMENT_MAX);
	_cleanup_(json_cleanup) json_t *root =
		json_loadb(document.ptr ? document.ptr : "", document.len, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return err_fail(detail, ERR_JSON_SYNTAX, "the model's document: %s, at byte %d", error.text,
				error.position);
	_cleanup_(model_cleanup) struct model *model = model_new();
	struct reader reader = { model, detail, false };
	read_model(&reader, root);
	if (reader.failed)
		return ERR_JSON_SHAPE;
	model->document = arena_text(model->arena, document.ptr, document.len);
	hash_sha256_hex(document.ptr, document.len, model->digest);
	*ret_model = TAKE_PTR(model);
	return ERR_OK;
}
