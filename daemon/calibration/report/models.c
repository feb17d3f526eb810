#include "calibration/report/models.h"

#include "calibration/learn/model_store.h"
#include "calibration/store/retention.h"
#include "calibration/store/rules.h"
#include "calibration/store/schema.h"
#include "common/clock.h"
#include "database/values.h"

/* Tables have models, their judgements and their rules since this version. */
#define MODELS_SINCE_VERSION 22

#define MS_OF(time) "floor(extract(epoch FROM " time ") * 1000)::bigint"

#define TRAINED_FROM MS_OF("m.trained_from")
#define TRAINED_TO   MS_OF("m.trained_to")
#define USED_FROM    MS_OF("m.used_from")
#define OF_THE_RULES "(" RULES_ARE("m.rules", "$1") ")::integer "

/* Figures are of the last judgement. $1 everywhere: numbers of the rules that are asked for. */
#define COLUMNS                                                                                              \
	"m.version, m.kind, " TRAINED_FROM ", " TRAINED_TO ", m.labels, coalesce(j.cases, m.later_cases), "  \
	"coalesce(j.log_loss, m.log_loss), coalesce(j.auroc, m.auroc), coalesce(j.ece, m.ece), "             \
	"coalesce(j.proven, m.proven)::integer, " USED_FROM                                                  \
	", coalesce(m.replaced_by, 0), n.rules, " OF_THE_RULES

#define FROM_MODELS                                                                                          \
	"FROM calibration_models m LEFT JOIN calibration_rules n "                                           \
	"ON n.number = coalesce(m.rules, " RULES_FORMER                                                      \
	") LEFT JOIN LATERAL (SELECT * FROM calibration_model_judgements "                                   \
	"WHERE version = m.version ORDER BY judgement DESC LIMIT 1) AS j ON true "

#define READ_ROWS                                                                                            \
	"SELECT " COLUMNS ", count(*) OVER () " FROM_MODELS "ORDER BY m.version DESC LIMIT $2::bigint"

/* Of one kind, or the one that came into use last. */
#define READ_USED                                                                                            \
	"SELECT " COLUMNS FROM_MODELS "WHERE m.replaced_by IS NULL AND " RULES_ARE(                          \
		"m.rules", "$1") "AND ($2::text IS NULL OR m.kind = $2) "                                    \
				 "ORDER BY m.used_from DESC, m.version DESC LIMIT 1"

/* The same of other rules. */
#define READ_PASSED_OVER                                                                                     \
	"SELECT " COLUMNS FROM_MODELS "WHERE m.replaced_by IS NULL AND NOT " RULES_ARE(                      \
		"m.rules", "$1") "AND ($2::text IS NULL OR m.kind = $2) ORDER BY m.version DESC LIMIT 1"

#define READ_ROW "SELECT " COLUMNS FROM_MODELS "WHERE m.version = $2::bigint"

/* What may be used instead of one that cannot be read, as the learner has it (learn/model_store.h). */
#define READ_OTHERS                                                                                          \
	"SELECT version FROM calibration_models WHERE version <> $2::bigint AND kind = "                     \
	"(SELECT kind FROM calibration_models WHERE version = $2::bigint) AND " RULES_ARE(                   \
		"rules", "$1") "ORDER BY version DESC LIMIT $3::bigint"

/* No more of a document is fetched than tells that it is too large. */
#define READ_DOCUMENT                                                                                        \
	"SELECT left(document, $2::integer), kind FROM calibration_models WHERE version = $1::bigint"

#define READ_FORMER "SELECT coalesce(max(version), 0) FROM calibration_models WHERE replaced_by = $1::bigint"

static struct calibration_model_row row_at(const PGresult *result, int row, struct arena *arena)
{
	return (struct calibration_model_row){
		.version = database_integer_at(result, row, 0),
		.kind = database_text_at(result, row, 1, arena),
		.trained_from_ms = database_integer_at(result, row, 2),
		.trained_to_ms = database_integer_at(result, row, 3),
		.labels = database_integer_at(result, row, 4),
		.later_cases = database_integer_at(result, row, 5),
		.log_loss = database_number_at(result, row, 6),
		.auroc = database_number_at(result, row, 7),
		.ece = database_number_at(result, row, 8),
		.proven = database_integer_at(result, row, 9) != 0,
		.used_from_ms = database_integer_at(result, row, 10),
		.replaced_by = database_integer_at(result, row, 11),
		.rules = database_text_at(result, row, 12, arena),
		.other_rules = database_integer_at(result, row, 13) == 0,
	};
}

static err_t read_row(struct database *database, const char *sql, str_t rules, const char *wanted,
		      struct arena *arena, const struct calibration_model_row **ret_row,
		      struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct rules_numbers numbers;
	const char *const parameters[] = { rules_numbers(&numbers, rules), wanted };
	*ret_row = NULL;
	err_t err = database_query(database, sql, 2, parameters, &result, detail);
	if (err || PQntuples(result) == 0)
		return err;
	struct calibration_model_row *row = ARENA_NEW(arena, struct calibration_model_row);
	*row = row_at(result, 0, arena);
	*ret_row = row;
	return ERR_OK;
}

static err_t read_rows(struct database *database, struct arena *arena, struct calibration_models *models,
		       struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *all = NULL;
	struct database_number_text most;
	struct rules_numbers numbers;
	const char *const limit[] = { rules_numbers(&numbers, models->rules),
				      database_number_text(&most, CALIBRATION_MODELS_MAX) };
	err_t err = database_query(database, READ_ROWS, 2, limit, &all, detail);
	if (!err)
		err = read_row(database, READ_USED, models->rules, models->kind, arena, &models->used,
			       detail);
	if (!err && !models->used)
		err = read_row(database, READ_PASSED_OVER, models->rules, models->kind, arena,
			       &models->passed_over, detail);
	if (err)
		return err;
	models->rows_count = (size_t)PQntuples(all);
	models->rows = ARENA_ARRAY(arena, struct calibration_model_row, models->rows_count);
	for (size_t i = 0; i < models->rows_count; i++)
		models->rows[i] = row_at(all, (int)i, arena);
	models->versions = models->rows_count ? database_integer_at(all, 0, 14) : 0;
	return ERR_OK;
}

/* A document that cannot be read is no error of the database. */
static err_t read_model(struct database *database, int64_t version, struct arena *arena,
			struct model **ret_model, str_t *ret_fault, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text number, most;
	struct err_detail fault = { "" };
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct model_judgement judgement;
	const char *const parameters[] = { database_number_text(&number, version),
					   database_number_text(&most, MODEL_DOCUMENT_MAX + 1) };
	*ret_model = NULL;
	err_t err = database_query(database, READ_DOCUMENT, 2, parameters, &result, detail);
	if (err || PQntuples(result) == 0)
		return err;
	const str_t document = { PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0) };
	err = model_decode(document, &model, &fault);
	if (!err && strcmp(model_kind_name(model_info(model)->kind), PQgetvalue(result, 0, 1)) != 0)
		err = err_fail(&fault, ERR_JSON_SHAPE, "the model's document: \"kind\" is another one");
	if (err) {
		*ret_fault = arena_str(arena, str_from(err_message(err, &fault)));
		return ERR_OK;
	}
	model_set_version(model, version);
	err = model_store_take_judgement(database, model, &judgement, detail);
	if (!err)
		*ret_model = TAKE_PTR(model);
	return err;
}

/* The newest of the others that can be read; NULL: none. */
static err_t read_other(struct database *database, str_t rules, int64_t unreadable, struct arena *arena,
			struct model **ret_model, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *others = NULL;
	struct database_number_text version, most;
	struct rules_numbers numbers;
	const char *const parameters[] = { rules_numbers(&numbers, rules),
					   database_number_text(&version, unreadable),
					   database_number_text(&most, RETENTION_MODELS - 1) };
	*ret_model = NULL;
	err_t err = database_query(database, READ_OTHERS, 3, parameters, &others, detail);
	for (int row = 0; !err && !*ret_model && row < PQntuples(others); row++) {
		str_t fault;
		err = read_model(database, database_integer_at(others, row, 0), arena, ret_model, &fault,
				 detail);
	}
	return err;
}

/* What the daemon uses while it cannot read the one that nothing has replaced. */
static err_t use_other(struct database *database, struct arena *arena, struct calibration_models *models,
		       struct err_detail *detail)
{
	struct database_number_text version;
	const struct calibration_model_row *row;
	models->unreadable = models->used->version;
	err_t err = read_other(database, models->rules, models->unreadable, arena, &models->model, detail);
	if (err || !models->model)
		return err;
	err = read_row(database, READ_ROW, models->rules,
		       database_number_text(&version, model_info(models->model)->version), arena, &row,
		       detail);
	if (!err && row)
		models->used = row;
	return err;
}

static err_t read_former(struct database *database, int64_t version, int64_t *ret_former,
			 struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text number;
	const char *const parameters[] = { database_number_text(&number, version) };
	err_t err = database_query(database, READ_FORMER, 1, parameters, &result, detail);
	if (!err)
		*ret_former = database_integer_at(result, 0, 0);
	return err;
}

/* ---- labels ---- */

/* What a model of the kind can learn from; NULL: all. */
static size_t keep_usable(const char *kind, struct model_example *examples, size_t count)
{
	for (int i = 0; kind && i < MODEL_KINDS; i++)
		if (strcmp(kind, model_kind_name((enum model_kind)i)) == 0)
			return model_keep_usable((enum model_kind)i, examples, count);
	return count;
}

static size_t keep_later(struct model_example *examples, size_t count, int64_t after_ms)
{
	size_t later = 0;
	for (size_t i = 0; i < count; i++)
		if (examples[i].scored_at_ms > after_ms)
			examples[later++] = examples[i];
	return later;
}

static err_t measure_former(struct database *database, const struct model_example *later, size_t count,
			    struct arena *arena, struct calibration_models *models, struct err_detail *detail)
{
	_cleanup_(model_cleanup) struct model *former = NULL;
	str_t fault = STR_NONE;
	err_t err = read_former(database, models->used->version, &models->former, detail);
	if (!err && models->former)
		err = read_model(database, models->former, arena, &former, &fault, detail);
	models->former_measured =
		former && model_measure(former, later, count, &models->former_now, NULL) == ERR_OK;
	return err;
}

static err_t look_at_labels(struct database *database, struct arena *arena, struct calibration_models *models,
			    struct err_detail *detail)
{
	struct model_example *examples;
	size_t count;
	err_t err = model_store_examples(database, models->rules, arena, &examples, &count, detail);
	if (!err)
		err = model_store_count_others(database, models->rules, &models->labels_of_others, detail);
	if (err)
		return err;
	count = keep_usable(models->kind, examples, count);
	models->labels = (int64_t)count;
	for (size_t i = 0; i < count; i++)
		models->correct += examples[i].correct;
	if (!models->model)
		return ERR_OK;
	count = keep_later(examples, count, model_info(models->model)->to_ms);
	models->measured = model_measure(models->model, examples, count, &models->now, NULL) == ERR_OK;
	return measure_former(database, examples, count, arena, models, detail);
}

err_t calibration_models_read(struct database *database, const char *kind, str_t rules, struct arena *arena,
			      struct calibration_models *ret_models, struct err_detail *detail)
{
	struct calibration_models models = { .now_ms = clock_wall_ms(), .kind = kind, .rules = rules };
	int version = 0;
	err_t err = database_connect(database, NULL, detail);
	if (!err)
		err = calibration_schema_read(database, &version, detail);
	if (!err && version > 0 && version < MODELS_SINCE_VERSION)
		err = calibration_schema_mismatch(version, detail);
	models.tables = version > 0;
	if (!err && models.tables)
		err = read_rows(database, arena, &models, detail);
	if (!err && models.used)
		err = read_model(database, models.used->version, arena, &models.model, &models.fault, detail);
	if (!err && str_present(models.fault))
		err = use_other(database, arena, &models, detail);
	if (!err && models.tables)
		err = look_at_labels(database, arena, &models, detail);
	if (err)
		calibration_models_free(&models);
	else
		*ret_models = models;
	return err;
}

static str_t text_of(str_t rules)
{
	return str_present(rules) ? rules : STR("not known");
}

static err_t refuse_other_rules(const struct calibration_model_row *row, str_t rules,
				struct err_detail *detail)
{
	const str_t learnt = text_of(row->rules), asked = text_of(rules);
	return err_fail(
		detail, ERR_SAMPLES,
		"version %lld of the model was learnt under other rules of overall confidence (" STR_FMT
		") than those of the file (" STR_FMT "): set confidence.factors and what else differs "
		"as they were",
		(long long)row->version, STR_ARG(learnt), STR_ARG(asked));
}

/* The row of that version, or for 0 the one in use; NULL: there is none. */
static err_t find_row(struct database *database, int64_t version, const char *kind, str_t rules,
		      struct arena *arena, const struct calibration_model_row **ret_row,
		      struct err_detail *detail)
{
	struct database_number_text number;
	if (!version)
		return read_row(database, READ_USED, rules, kind, arena, ret_row, detail);
	err_t err = read_row(database, READ_ROW, rules, database_number_text(&number, version), arena,
			     ret_row, detail);
	return !err && *ret_row && (*ret_row)->other_rules ? refuse_other_rules(*ret_row, rules, detail)
							   : err;
}

err_t calibration_model_load(struct database *database, int64_t version, const char *kind, str_t rules,
			     struct model **ret_model, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct model *model = NULL;
	const struct calibration_model_row *row = NULL;
	str_t fault = STR_NONE;
	int tables = 0;
	err_t err = database_connect(database, NULL, detail);
	if (!err)
		err = calibration_schema_read(database, &tables, detail);
	if (!err && tables > 0 && tables < MODELS_SINCE_VERSION)
		err = calibration_schema_mismatch(tables, detail);
	if (!err && tables > 0)
		err = find_row(database, version, kind, rules, arena, &row, detail);
	if (!err && row)
		err = read_model(database, row->version, arena, &model, &fault, detail);
	if (!err && str_present(fault) && !version)
		err = read_other(database, rules, row->version, arena, &model, detail);
	if (err)
		return err;
	if (str_present(fault) && !model)
		return err_fail(detail, ERR_JSON_SHAPE, "version %lld of the model: " STR_FMT,
				(long long)row->version, STR_ARG(fault));
	if (!row && version)
		return err_fail(
			detail, ERR_SAMPLES,
			"there is no version %lld of the model; \"assayd calibration --model\" lists them",
			(long long)version);
	*ret_model = model;
	return ERR_OK;
}

void calibration_models_free(struct calibration_models *models)
{
	model_unref(models->model);
	models->model = NULL;
}
