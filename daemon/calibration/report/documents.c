#include "calibration/report/documents.h"

#include "calibration/report/print_text.h"
#include "calibration/store/schema.h"
#include "common/terminal.h"
#include "database/values.h"

#include <jansson.h>

/* The view is there since this version of the tables. */
#define DOCUMENTS_SINCE_VERSION 20

/* A person is shown so many, of so many cases at least: fewer say nothing. */
#define DOCUMENTS_SHOWN 20
#define CASES_SHOWN	10

#define READ_DOCUMENTS                                                                                       \
	"SELECT application, document_id, cases, correct, accuracy, low, high, rest_cases, "                 \
	"coalesce(rest_accuracy, 0), count(*) OVER () FROM calibration_documents "                           \
	"WHERE window_s = $1::integer AND ($2::text IS NULL OR application = $2) "                           \
	"ORDER BY high - coalesce(rest_accuracy, 0), cases DESC, application, document_id LIMIT $3::bigint"

enum { APPLICATION, DOCUMENT, CASES, CORRECT, ACCURACY, LOW, HIGH, REST_CASES, REST_ACCURACY, ALL };

static err_t read_rows(struct database *database, const char *application, struct arena *arena,
		       struct calibration_documents *documents, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *rows = NULL;
	struct database_number_text window, most;
	const char *const parameters[] = { database_number_text(&window, documents->window_s), application,
					   database_number_text(&most, CALIBRATION_DOCUMENTS_MAX) };
	err_t err = database_query(database, READ_DOCUMENTS, 3, parameters, &rows, detail);
	if (err)
		return err;
	documents->count = (size_t)PQntuples(rows);
	documents->items = ARENA_ARRAY(arena, struct calibration_document, documents->count);
	for (int i = 0; i < PQntuples(rows); i++) {
		documents->all = database_integer_at(rows, i, ALL);
		documents->items[i] = (struct calibration_document){
			.application = database_text_at(rows, i, APPLICATION, arena),
			.document_id = database_text_at(rows, i, DOCUMENT, arena),
			.cases = database_integer_at(rows, i, CASES),
			.correct = database_integer_at(rows, i, CORRECT),
			.accuracy = database_number_at(rows, i, ACCURACY),
			.low = database_number_at(rows, i, LOW),
			.high = database_number_at(rows, i, HIGH),
			.rest_cases = database_integer_at(rows, i, REST_CASES),
			.rest_accuracy = database_number_at(rows, i, REST_ACCURACY),
		};
	}
	return ERR_OK;
}

err_t calibration_documents_read(struct database *database, int64_t window_s, const char *application,
				 struct arena *arena, struct calibration_documents *ret_documents,
				 struct err_detail *detail)
{
	struct calibration_documents documents = { .window_s = window_s };
	int version = 0;
	err_t err = database_connect(database, NULL, detail);
	if (!err)
		err = calibration_schema_read(database, &version, detail);
	if (!err && version > 0 && version < DOCUMENTS_SINCE_VERSION)
		err = calibration_schema_mismatch(version, detail);
	documents.tables = version > 0;
	if (!err && documents.tables)
		err = read_rows(database, application, arena, &documents, detail);
	if (!err)
		*ret_documents = documents;
	return err;
}

/* Whether even the upper end of its interval is below what comes without it. */
static bool is_worse(const struct calibration_document *document)
{
	return document->rest_cases > 0 && document->high < document->rest_accuracy;
}

static void print_row(FILE *stream, const struct calibration_document *document)
{
	fprintf(stream, "  %5.1f %%  (%5.1f to %5.1f)  %7lld  ", 100 * document->accuracy,
		100 * document->low, 100 * document->high, (long long)document->cases);
	if (document->rest_cases > 0)
		fprintf(stream, "%5.1f %%", 100 * document->rest_accuracy);
	else
		fputs("      -", stream);
	fputs(is_worse(document) ? "  worse  " : "         ", stream);
	terminal_print(stream, document->document_id);
	fputs(" (", stream);
	terminal_print(stream, document->application);
	fputs(")\n", stream);
}

void calibration_documents_print(FILE *stream, const struct calibration_documents *documents)
{
	size_t shown = 0, enough = 0;
	if (documents->count == 0) {
		fputs("No answer with a result names documents in that window. Results are sampled where "
		      "calibration.model is not \"off\", and documents are those of the retrieval that "
		      "records "
		      "repeat (records.embed_input).\n",
		      stream);
		return;
	}
	fputs("Right answers with each document, ", stream);
	print_window(stream, documents->window_s);
	fputs(", of a sample of results\n  right     95 % interval       cases   others          document\n",
	      stream);
	for (size_t i = 0; i < documents->count; i++) {
		const struct calibration_document *document = &documents->items[i];
		enough += document->cases >= CASES_SHOWN;
		if (document->cases >= CASES_SHOWN && shown < DOCUMENTS_SHOWN && ++shown)
			print_row(stream, document);
	}
	fprintf(stream,
		"  %lld documents, %zu of %d cases or more. By chance alone about one of forty is worse.\n",
		(long long)documents->all, enough, CASES_SHOWN);
}

void calibration_documents_print_json(FILE *stream, const struct calibration_documents *documents)
{
	json_t *items = json_array();
	for (size_t i = 0; i < documents->count; i++) {
		const struct calibration_document *item = &documents->items[i];
		json_array_append_new(
			items,
			json_pack("{s:s%, s:s%, s:I, s:I, s:f, s:f, s:f, s:I, s:o}", "application",
				  item->application.ptr, item->application.len, "document_id",
				  item->document_id.ptr, item->document_id.len, "cases",
				  (json_int_t)item->cases, "correct", (json_int_t)item->correct, "accuracy",
				  item->accuracy, "low", item->low, "high", item->high, "rest_cases",
				  (json_int_t)item->rest_cases, "rest_accuracy",
				  item->rest_cases > 0 ? json_real(item->rest_accuracy) : json_null()));
	}
	json_t *root = json_pack("{s:b, s:I, s:I, s:o}", "tables", (int)documents->tables, "window_s",
				 (json_int_t)documents->window_s, "documents_count",
				 (json_int_t)documents->all, "documents", items);
	json_dumpf(root, stream, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', stream);
	json_decref(root);
}
