#include "calibration/learn/model_store.h"

#include "calibration/store/cases.h"
#include "calibration/store/retention.h"
#include "calibration/store/rules.h"
#include "database/values.h"

#include <jansson.h>
#include <math.h>

/* ---- examples ---- */

#define MS_OF(time) "(extract(epoch FROM " time ") * 1000)::bigint"

#define READ_EXAMPLES                                                                                        \
	"SELECT DISTINCT ON (event_key, partition, record_offset) application, model, prompt_version, "      \
	"scored_ms, replace(event_key::text, '-', ''), overall, weight, correct, features FROM ("            \
	"SELECT 0 AS place, application, model, prompt_version, " MS_OF(                                     \
		"scored_at") " AS scored_ms, "                                                               \
			     "event_key, partition, record_offset, overall, weight, correct::integer AS "    \
			     "correct, features, rules "                                                     \
			     "FROM calibration_examples UNION ALL "                                          \
			     "SELECT 1, application, model, prompt_version, " MS_OF(                         \
				     "scored_at") ", event_key, partition, "                                 \
						  "record_offset, confidence::double precision, 1, "         \
						  "correct::integer, features, rules "                       \
						  "FROM calibration_events WHERE correct IS NOT NULL) AS "   \
						  "labels WHERE " RULES_ARE(                                 \
							  "rules", "$2") "ORDER BY event_key, partition, "   \
									 "record_offset, place "             \
									 "LIMIT $1::bigint"

static int digit_of(char digit)
{
	return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

static int feature_of(const char *name)
{
	for (int i = 0; i < FEATURE_COUNT_; i++)
		if (strcmp(name, FEATURE_INFO[i].name) == 0)
			return i;
	return -1;
}

/* Those that this version has; what is no number counts as 0. Beside them stands which question it is. */
static double *read_features(const char *json, struct arena *arena, uint64_t *ret_question)
{
	double *values = ARENA_ARRAY(arena, double, FEATURE_COUNT_);
	json_t *object = json_loads(json, 0, NULL), *value;
	const char *name;
	json_object_foreach(object, name, value)
	{
		int feature = feature_of(name);
		double number = json_number_value(value);
		if (feature >= 0 && fabs(number) <= FEATURES_BOUND)
			values[feature] = number;
	}
	double question = json_number_value(json_object_get(object, CALIBRATION_QUESTION));
	*ret_question = question > 0 && question <= CALIBRATION_QUESTION_MAX ? (uint64_t)question : 0;
	json_decref(object);
	return values;
}

static struct model_example example_at(const PGresult *result, int row, struct arena *arena)
{
	struct model_example example = {
		.item = { .segment = { database_text_at(result, row, 0, arena),
				       database_text_at(result, row, 1, arena),
				       database_text_at(result, row, 2, arena) },
			  .overall = opt_double(database_number_at(result, row, 5)) },
		.scored_at_ms = database_integer_at(result, row, 3),
		.weight = database_number_at(result, row, 6),
		.correct = database_integer_at(result, row, 7) != 0,
	};
	const char *key = PQgetvalue(result, row, 4);
	for (size_t i = 0; i < MODEL_ID_BYTES && key[2 * i] && key[2 * i + 1]; i++)
		example.id[i] = (unsigned char)(16 * digit_of(key[2 * i]) + digit_of(key[2 * i + 1]));
	if (!PQgetisnull(result, row, 8))
		example.item.features = read_features(PQgetvalue(result, row, 8), arena, &example.question);
	return example;
}

err_t model_store_examples(struct database *database, str_t rules, struct arena *arena,
			   struct model_example **ret_examples, size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text most;
	struct rules_numbers numbers;
	const char *const parameters[] = { database_number_text(&most, MODEL_STORE_EXAMPLES),
					   rules_numbers(&numbers, rules) };
	err_t err = database_query(database, READ_EXAMPLES, 2, parameters, &result, detail);
	if (err)
		return err;
	size_t count = (size_t)PQntuples(result);
	struct model_example *examples = ARENA_ARRAY(arena, struct model_example, count);
	for (size_t i = 0; i < count; i++)
		examples[i] = example_at(result, (int)i, arena);
	*ret_examples = examples;
	*ret_count = count;
	return ERR_OK;
}

/* Also where both are, as labels: one that is a record's own and feedback. */
#define COUNT_OTHERS                                                                                         \
	"SELECT (SELECT count(*) FROM calibration_examples WHERE NOT " RULES_ARE(                            \
		"rules", "$1") ") + (SELECT count(*) FROM calibration_events WHERE correct IS NOT NULL "     \
			       "AND NOT " RULES_ARE("rules", "$1") ")"

err_t model_store_count_others(struct database *database, str_t rules, int64_t *ret_count,
			       struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct rules_numbers numbers;
	const char *const parameters[] = { rules_numbers(&numbers, rules) };
	err_t err = database_query(database, COUNT_OTHERS, 1, parameters, &result, detail);
	if (!err)
		*ret_count = database_integer_at(result, 0, 0);
	return err;
}

/* ---- models ---- */

/* $1 kind, $2 numbers of rules. A row that came into use again when the one that had replaced it went may
 * stand beside a newer one. */
#define MODEL_IN_USE                                                                                         \
	"SELECT version, (SELECT coalesce(max(judgement), 0) FROM calibration_model_judgements) "            \
	"FROM calibration_models WHERE kind = $1 AND replaced_by IS NULL AND " RULES_ARE(                    \
		"rules", "$2") "ORDER BY version DESC LIMIT 1"

/* That first, then those that were in use before it. */
#define MODELS_THERE                                                                                         \
	"SELECT version FROM calibration_models WHERE kind = $1 AND " RULES_ARE(                             \
		"rules", "$2") "ORDER BY replaced_by IS NULL DESC, version DESC LIMIT $3::bigint"

/* In use under other rules. */
#define MODEL_OF_OTHERS                                                                                      \
	"SELECT version, n.rules FROM (SELECT version, coalesce(rules, " RULES_FORMER                        \
	") AS number FROM calibration_models "                                                               \
	"WHERE kind = $1 AND replaced_by IS NULL AND NOT " RULES_ARE(                                        \
		"rules", "$2") ") AS m LEFT JOIN calibration_rules n USING (number) "                        \
			       "ORDER BY version DESC LIMIT 1"

/* No more of a document is fetched than tells that it is too large. */
#define READ_DOCUMENT "SELECT left(document, $2::integer) FROM calibration_models WHERE version = $1::bigint"

static err_t query_versions(struct database *database, const char *sql, enum model_kind kind, str_t rules,
			    int64_t most, PGresult **ret_versions, struct err_detail *detail)
{
	struct database_number_text limit;
	struct rules_numbers numbers;
	const char *const parameters[] = { model_kind_name(kind), rules_numbers(&numbers, rules),
					   database_number_text(&limit, most) };
	return database_query(database, sql, most ? 3 : 2, parameters, ret_versions, detail);
}

/* What is wrong with the document is no error: then there is no model, and `fault` says why. */
static err_t read_document(struct database *database, enum model_kind kind, int64_t version,
			   struct model **ret_model, struct err_detail *fault, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct database_number_text number, most;
	const char *const parameters[] = { database_number_text(&number, version),
					   database_number_text(&most, MODEL_DOCUMENT_MAX + 1) };
	err_t err = database_query(database, READ_DOCUMENT, 2, parameters, &result, detail);
	if (err)
		return err;
	if (PQntuples(result) == 0) /* it was deleted meanwhile */
		return ERR_OK;
	const str_t document = { PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0) };
	if (model_decode(document, &model, fault) != ERR_OK)
		return ERR_OK;
	if (model_info(model)->kind != kind) {
		err_fail(fault, ERR_JSON_SHAPE, "the model's document: \"kind\" is another one");
		return ERR_OK;
	}
	model_set_version(model, version);
	*ret_model = TAKE_PTR(model);
	return ERR_OK;
}

/* ---- judgements ---- */

#define READ_JUDGEMENT                                                                                       \
	"SELECT judgement, looks, cases, " MS_OF(                                                            \
		"until") ", log_loss, log_loss_constant, auroc, auroc_low, auroc_high, "                     \
			 "auroc_overall, ece, ece_low, ece_deviation, proven::integer "                      \
			 "FROM calibration_model_judgements WHERE version = $1::bigint "                     \
			 "ORDER BY judgement DESC LIMIT 1"

err_t model_store_take_judgement(struct database *database, struct model *model,
				 struct model_judgement *ret_judgement, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text version;
	const char *const parameters[] = { database_number_text(&version, model_info(model)->version) };
	err_t err = database_query(database, READ_JUDGEMENT, 1, parameters, &result, detail);
	if (err)
		return err;
	*ret_judgement = (struct model_judgement){ 0 };
	if (PQntuples(result) == 0)
		return ERR_OK;
	*ret_judgement = (struct model_judgement){
		.looks = { .version = model_info(model)->version,
			   .count = database_integer_at(result, 0, 1),
			   .labels = database_integer_at(result, 0, 2),
			   .until_ms = database_integer_at(result, 0, 3) },
		.quality = { .cases = database_integer_at(result, 0, 2),
			     .log_loss = database_number_at(result, 0, 4),
			     .log_loss_constant = database_number_at(result, 0, 5),
			     .auroc = database_number_at(result, 0, 6),
			     .auroc_low = database_number_at(result, 0, 7),
			     .auroc_high = database_number_at(result, 0, 8),
			     .auroc_overall = database_number_at(result, 0, 9),
			     .ece = database_number_at(result, 0, 10),
			     .ece_low = database_number_at(result, 0, 11),
			     .ece_deviation = database_number_at(result, 0, 12) },
		.proven = database_integer_at(result, 0, 13) != 0,
	};
	model_set_quality(model, &ret_judgement->quality, ret_judgement->proven);
	model_set_judgement(model, database_integer_at(result, 0, 0));
	return ERR_OK;
}

/* Nobody deletes the model before that is done. */
#define ADD_JUDGEMENT                                                                                        \
	"INSERT INTO calibration_model_judgements (version, looks, cases, until, proven, log_loss, "         \
	"log_loss_constant, auroc, auroc_low, auroc_high, auroc_overall, ece, ece_low, ece_deviation) "      \
	"SELECT version, $2::bigint, $3::bigint, "                                                           \
	"timestamptz 'epoch' + $4::bigint * interval '1 millisecond', $5::boolean, $6::double precision, "   \
	"$7::double precision, $8::double precision, $9::double precision, $10::double precision, "          \
	"$11::double precision, $12::double precision, $13::double precision, $14::double precision "        \
	"FROM calibration_models WHERE version = $1::bigint FOR KEY SHARE"

enum { JUDGEMENT_NUMBERS = 9 };

err_t model_store_add_judgement(struct database *database, const struct model *model,
				const struct model_judgement *judgement, struct err_detail *detail)
{
	const struct model_quality *quality = &judgement->quality;
	const double numbers[JUDGEMENT_NUMBERS] = {
		quality->log_loss,  quality->log_loss_constant, quality->auroc,
		quality->auroc_low, quality->auroc_high,	quality->auroc_overall,
		quality->ece,	    quality->ece_low,		quality->ece_deviation,
	};
	struct database_number_text version, looks, cases, until;
	char texts[JUDGEMENT_NUMBERS][32];
	const char *parameters[5 + JUDGEMENT_NUMBERS] = {
		database_number_text(&version, model_info(model)->version),
		database_number_text(&looks, judgement->looks.count),
		database_number_text(&cases, quality->cases),
		database_number_text(&until, judgement->looks.until_ms),
		judgement->proven ? "true" : "false",
	};
	for (int i = 0; i < JUDGEMENT_NUMBERS; i++) {
		snprintf(texts[i], sizeof texts[i], "%.17g", numbers[i]);
		parameters[5 + i] = texts[i];
	}
	return database_query(database, ADD_JUDGEMENT, 5 + JUDGEMENT_NUMBERS, parameters, NULL, detail);
}

/* ---- reading ---- */

/* Of another one's rules nothing but its number and their text is known. */
static err_t read_passed_over(struct database *database, enum model_kind kind, str_t rules,
			      struct model_found *found, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *others = NULL;
	err_t err = query_versions(database, MODEL_OF_OTHERS, kind, rules, 0, &others, detail);
	if (err || PQntuples(others) == 0)
		return err;
	found->passed_over = database_integer_at(others, 0, 0);
	snprintf(found->passed_over_rules, sizeof found->passed_over_rules, "%s", PQgetvalue(others, 0, 1));
	return ERR_OK;
}

static err_t read_newest(struct database *database, enum model_kind kind, str_t rules,
			 struct model_found *found, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *versions = NULL;
	err_t err = query_versions(database, MODELS_THERE, kind, rules, RETENTION_MODELS, &versions, detail);
	for (int row = 0; !err && !found->model && row < PQntuples(versions); row++) {
		struct err_detail fault = { "" };
		int64_t version = database_integer_at(versions, row, 0);
		err = read_document(database, kind, version, &found->model, &fault, detail);
		if (!err && fault.message[0] && version == found->known.used) {
			found->unreadable = true;
			found->fault = fault;
		}
	}
	return err;
}

/* That a document without rules counts as one of these stays so, whatever is set later. */
static err_t take_rules(struct database *database, str_t rules, struct model *model,
			struct err_detail *detail)
{
	err_t err = ERR_OK;
	if (!str_present(model_rules(model)))
		err = rules_note(database, rules, model_info(model)->from_ms, detail);
	model_set_rules(model, rules);
	return err;
}

err_t model_store_read(struct database *database, enum model_kind kind, str_t rules,
		       const struct model_known *known, struct model_found *ret_found,
		       struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *used = NULL;
	struct model_found found = { 0 };
	err_t err = query_versions(database, MODEL_IN_USE, kind, rules, 0, &used, detail);
	if (err)
		return err;
	if (PQntuples(used))
		found.known = (struct model_known){ database_integer_at(used, 0, 0),
						    database_integer_at(used, 0, 1) };
	found.same = found.known.used && found.known.used == known->used &&
		     found.known.judgement == known->judgement;
	if (found.known.used && !found.same)
		err = read_newest(database, kind, rules, &found, detail);
	else if (!found.known.used)
		err = read_passed_over(database, kind, rules, &found, detail);
	if (!err && found.model)
		err = model_store_take_judgement(database, found.model, &found.judgement, detail);
	if (!err && found.model)
		err = take_rules(database, rules, found.model, detail);
	if (err)
		model_unref(found.model);
	else
		*ret_found = found;
	return err;
}

/* $2 numbers of rules; $3: the row in use; $4: what was read, which is that one or the newest that can be, 0:
 * none. */
#define NOTE_READ                                                                                            \
	"UPDATE calibration_models SET unreadable = version <> $4::bigint WHERE kind = $1 AND " RULES_ARE(   \
		"rules",                                                                                     \
		"$2") "AND (version = $3::bigint OR (version >= $4::bigint AND $4::bigint < $3::bigint)) "   \
		      "AND unreadable <> (version <> $4::bigint)"

err_t model_store_note_read(struct database *database, enum model_kind kind, str_t rules,
			    const struct model_found *found, struct err_detail *detail)
{
	struct database_number_text used, read;
	struct rules_numbers numbers;
	const char *const parameters[] = {
		model_kind_name(kind), rules_numbers(&numbers, rules),
		database_number_text(&used, found->known.used),
		database_number_text(&read, found->model ? model_info(found->model)->version : 0)
	};
	return database_query(database, NOTE_READ, 4, parameters, NULL, detail);
}

#define LOCK_MODEL_IN_USE MODEL_IN_USE " FOR UPDATE OF calibration_models"

/* Not in use yet. A program before migration 11 may have taken numbers without the sequence: then the next
 * one. */
#define ADD_MODEL                                                                                            \
	"INSERT INTO calibration_models (kind, document, trained_from, trained_to, labels, later_cases, "    \
	"log_loss, auroc, ece, proven, replaced_by, rules) VALUES ($1, '', "                                 \
	"to_timestamp($2::bigint / 1000.0), to_timestamp($3::bigint / 1000.0), $4::bigint, $5::bigint, "     \
	"$6::double precision, $7::double precision, $8::double precision, $9::boolean, "                    \
	"nullif($10::bigint, 0), nullif($11::bigint, 0)) ON CONFLICT (version) DO NOTHING RETURNING version"

enum { NUMBER_ATTEMPTS = 1000 };

#define REPLACE_MODEL "UPDATE calibration_models SET replaced_by = $1::bigint WHERE version = $2::bigint"

/* Into use only when the former one is out of it: one is in use at a time. */
#define USE_MODEL "UPDATE calibration_models SET replaced_by = NULL, document = $2 WHERE version = $1::bigint"

static err_t check_in_use(struct database *database, const struct model *model, int64_t expected,
			  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *used = NULL;
	err_t err = query_versions(database, LOCK_MODEL_IN_USE, model_info(model)->kind, model_rules(model),
				   0, &used, detail);
	if (err)
		return err;
	int64_t version = PQntuples(used) ? database_integer_at(used, 0, 0) : 0;
	return version == expected
		       ? ERR_OK
		       : err_fail(detail, ERR_CONFLICT, "model %lld is not in use any more, but %lld is",
				  (long long)expected, (long long)version);
}

struct model_texts {
	struct database_number_text replaced, from, to, labels, cases, rules;
	char log_loss[32], auroc[32], ece[32];
};

static err_t add_row(struct database *database, struct model *model, int64_t replaced,
		     struct err_detail *detail)
{
	struct model_texts texts;
	const struct model_info *info = model_info(model);
	snprintf(texts.log_loss, sizeof texts.log_loss, "%.17g", info->quality.log_loss);
	snprintf(texts.auroc, sizeof texts.auroc, "%.17g", info->quality.auroc);
	snprintf(texts.ece, sizeof texts.ece, "%.17g", info->quality.ece);
	const char *const parameters[] = {
		model_kind_name(info->kind),
		database_number_text(&texts.from, info->from_ms),
		database_number_text(&texts.to, info->to_ms),
		database_number_text(&texts.labels, info->labels),
		database_number_text(&texts.cases, info->quality.cases),
		texts.log_loss,
		texts.auroc,
		texts.ece,
		info->proven ? "true" : "false",
		database_number_text(&texts.replaced, replaced),
		database_number_text(&texts.rules, rules_number(model_rules(model))),
	};
	for (int attempt = 0; attempt < NUMBER_ATTEMPTS; attempt++) {
		_cleanup_(database_result_cleanup) PGresult *added = NULL;
		err_t err = database_query(database, ADD_MODEL, 11, parameters, &added, detail);
		if (!err && PQntuples(added))
			model_set_version(model, database_integer_at(added, 0, 0));
		if (err || PQntuples(added))
			return err;
	}
	return err_fail(detail, ERR_CONFLICT, "the next %d numbers of models are taken", NUMBER_ATTEMPTS);
}

static err_t use(struct database *database, const struct model *model, int64_t replaced,
		 struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf document = BUF_INIT;
	struct database_number_text version, former;
	model_encode(model, &document);
	const char *const replacement[] = { database_number_text(&version, model_info(model)->version),
					    database_number_text(&former, replaced) };
	const char *const used[] = { version.text, buf_str(&document).ptr };
	err_t err = database_query(database, REPLACE_MODEL, 2, replacement, NULL, detail);
	return err ? err : database_query(database, USE_MODEL, 2, used, NULL, detail);
}

err_t model_store_write(struct database *database, struct model *model,
			const struct model_judgement *judgement, int64_t replaced, struct err_detail *detail)
{
	err_t err = database_script(database, "BEGIN", detail);
	if (!err)
		err = check_in_use(database, model, replaced, detail);
	if (!err)
		err = add_row(database, model, replaced, detail);
	if (!err)
		err = use(database, model, replaced, detail);
	if (!err)
		err = rules_note(database, model_rules(model), model_info(model)->from_ms, detail);
	if (!err)
		err = model_store_add_judgement(database, model, judgement, detail);
	if (!err)
		err = database_script(database, "COMMIT", detail);
	if (err && database_script(database, "ROLLBACK", NULL) != ERR_OK)
		database_disconnect(database);
	return err;
}

/* ---- looks ---- */

/* The place of none is that of rules; that of a model has its number alone. Of before there were rules, it
 * was one for all. */
#define READ_LOOKS                                                                                           \
	"SELECT looks, labels, " MS_OF("until") " FROM calibration_model_looks "                             \
						"WHERE kind = $1 AND version = $2::bigint "                  \
						"AND rules IN ($3::bigint, 0) ORDER BY rules = 0 LIMIT 1"

#define NOTE_LOOK                                                                                            \
	"INSERT INTO calibration_model_looks (kind, version, rules, looks, labels, until) VALUES ($1, "      \
	"$2::bigint, $3::bigint, $4::bigint, $5::bigint, "                                                   \
	"timestamptz 'epoch' + $6::bigint * interval '1 millisecond') "                                      \
	"ON CONFLICT (kind, version, rules) DO UPDATE SET looks = excluded.looks, "                          \
	"labels = excluded.labels, until = excluded.until, looked_at = now()"

static int64_t rules_of_place(int64_t version, str_t rules)
{
	return version ? 0 : rules_number(rules);
}

err_t model_store_looks(struct database *database, enum model_kind kind, str_t rules, int64_t version,
			struct model_looks *ret_looks, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text place, number;
	const char *const parameters[] = { model_kind_name(kind), database_number_text(&place, version),
					   database_number_text(&number, rules_of_place(version, rules)) };
	err_t err = database_query(database, READ_LOOKS, 3, parameters, &result, detail);
	if (err)
		return err;
	*ret_looks = (struct model_looks){ .version = version };
	if (PQntuples(result))
		*ret_looks = (struct model_looks){ .version = version,
						   .count = database_integer_at(result, 0, 0),
						   .labels = database_integer_at(result, 0, 1),
						   .until_ms = database_integer_at(result, 0, 2) };
	return ERR_OK;
}

err_t model_store_note_look(struct database *database, enum model_kind kind, str_t rules,
			    const struct model_looks *look, struct err_detail *detail)
{
	struct database_number_text version, number, looks, labels, until;
	const char *const parameters[] = { model_kind_name(kind),
					   database_number_text(&version, look->version),
					   database_number_text(&number,
								rules_of_place(look->version, rules)),
					   database_number_text(&looks, look->count),
					   database_number_text(&labels, look->labels),
					   database_number_text(&until, look->until_ms) };
	return database_query(database, NOTE_LOOK, 6, parameters, NULL, detail);
}

/* ---- one at a time ---- */

err_t model_store_lock(struct database *database, bool *ret_locked, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, "SELECT pg_try_advisory_lock(7236837209)::integer", 0, NULL,
				   &result, detail);
	if (!err)
		*ret_locked = database_integer_at(result, 0, 0) != 0;
	return err;
}

err_t model_store_unlock(struct database *database, struct err_detail *detail)
{
	return database_query(database, "SELECT pg_advisory_unlock(7236837209)", 0, NULL, NULL, detail);
}
