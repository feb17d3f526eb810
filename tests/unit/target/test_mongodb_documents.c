/* Documents as rows: columns, classes, the texts of all kinds of values, limits, and what the role of a
 * session may do by the server's word. No server. */
#include "target/mongodb_documents.h" // first: its library calls what banned.h forbids

#include "target/mongodb_check.h"
#include "target/mongodb_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct rows {
	struct arena *arena;
	struct result_builder builder;
	struct mongodb_documents *documents;
};

static void rows_begin(struct rows *rows, int64_t max_rows, int64_t max_bytes)
{
	*rows = (struct rows){ .arena = arena_new() };
	rows->builder =
		(struct result_builder){ .arena = rows->arena, .max_rows = max_rows, .max_bytes = max_bytes };
	rows->documents = mongodb_documents_new(&rows->builder, max_rows, max_bytes, "last_");
}

static bool take(struct rows *rows, const char *json)
{
	bson_error_t error;
	bson_t *document = bson_new_from_json((const uint8_t *)json, -1, &error);
	if (!document)
		fail_msg("%s: %s", json, error.message);
	bool wanted = mongodb_documents_take(rows->documents, document);
	bson_destroy(document);
	return wanted;
}

static void rows_end(struct rows *rows)
{
	mongodb_documents_free(rows->documents);
	result_free(&rows->builder);
	arena_free(rows->arena);
}

/* All cells, as a|b\n; NULL is \N. */
static const char *print(struct rows *rows)
{
	str_t all = STR("");
	mongodb_documents_finish(rows->documents);
	struct result_set set = result_finish(&rows->builder);
	for (size_t i = 0; i < set.rows_count * set.columns_count; i++) {
		str_t cell = str_present(set.cells[i]) ? set.cells[i] : STR("\\N");
		all = arena_printf(rows->arena, STR_FMT STR_FMT "%s", STR_ARG(all), STR_ARG(cell),
				   (i + 1) % set.columns_count ? "|" : "\n");
	}
	return all.ptr;
}

static const struct {
	const char *fault, *documents[3], *columns, *rows;
	enum cell_class first;
} cases[] = {
	{ "fields come in another order",
	  { "{\"a\": 1, \"b\": \"x\"}", "{\"b\": \"y\", \"a\": 2}" },
	  "a|b",
	  "1|x\n2|y\n",
	  CELL_INTEGER },
	{ "a field that is missing is no NULL",
	  { "{\"a\": 1}", "{\"b\": true}", "{}" },
	  "a|b",
	  "1|\\N\n\\N|true\n\\N|\\N\n",
	  CELL_INTEGER },
	{ "what is to stand last does not",
	  { "{\"last_0\": 1, \"a\": 2}", "{\"b\": 3}" },
	  "a|b|last_0",
	  "2|\\N|1\n\\N|3|\\N\n",
	  CELL_INTEGER },
	{ "nothing but null has a class", { "{\"a\": null}" }, "a", "\\N\n", CELL_NULL },
	{ "numbers of two kinds are none",
	  { "{\"a\": 1}", "{\"a\": 0.1}", "{\"a\": null}" },
	  "a",
	  "1\n0.1\n\\N\n",
	  CELL_FLOAT },
	{ "a long is cut",
	  { "{\"a\": {\"$numberLong\": \"9007199254740993\"}}" },
	  "a",
	  "9007199254740993\n",
	  CELL_INTEGER },
	{ "a decimal is rounded",
	  { "{\"a\": {\"$numberDecimal\": \"0.10\"}}", "{\"a\": 3}" },
	  "a",
	  "0.10\n3\n",
	  CELL_DECIMAL },
	{ "what is no number is lost",
	  { "{\"a\": {\"$numberDouble\": \"NaN\"}}", "{\"a\": {\"$numberDouble\": \"-Infinity\"}}" },
	  "a",
	  "NaN\n-Infinity\n",
	  CELL_FLOAT },
	{ "numbers and texts are of one kind",
	  { "{\"a\": 1}", "{\"a\": \"1\"}" },
	  "a",
	  "1\n1\n",
	  CELL_UNKNOWN },
	{ "a date has no zone",
	  { "{\"a\": {\"$date\": \"2024-02-29T12:34:56.789Z\"}}" },
	  "a",
	  "2024-02-29T12:34:56.789Z\n",
	  CELL_TIMESTAMP_TZ },
	{ "an ObjectId is no text",
	  { "{\"a\": {\"$oid\": \"0123456789abcdef01234567\"}}" },
	  "a",
	  "0123456789abcdef01234567\n",
	  CELL_TEXT },
	{ "bytes are lost",
	  { "{\"a\": {\"$binary\": {\"base64\": \"AP8=\", \"subType\": \"00\"}}}" },
	  "a",
	  "00ff\n",
	  CELL_BYTES },
	{ "a pattern is lost",
	  { "{\"a\": {\"$regularExpression\": {\"pattern\": \"x\", \"options\": \"i\"}}}" },
	  "a",
	  "/x/i\n",
	  CELL_TEXT },
	{ "a timestamp is lost",
	  { "{\"a\": {\"$timestamp\": {\"t\": 5, \"i\": 6}}}" },
	  "a",
	  "5 6\n",
	  CELL_TEXT },
	{ "the ends of the order are lost",
	  { "{\"a\": {\"$minKey\": 1}}", "{\"a\": {\"$maxKey\": 1}}" },
	  "a",
	  "MinKey\nMaxKey\n",
	  CELL_TEXT },
	{ "a document is no JSON",
	  { "{\"a\": {\"b\": [1, 0.5, null, \"x\\\"\\\\\\n\", true], \"c\": {}}}" },
	  "a",
	  "{\"b\":[1,0.5,null,\"x\\\"\\\\\\u000a\",true],\"c\":{}}\n",
	  CELL_JSON },
	{ "JSON has what it has no kind for",
	  { "{\"a\": [{\"$date\": {\"$numberLong\": \"0\"}}, {\"$numberDouble\": \"NaN\"}, "
	    "{\"$numberDecimal\": \"1.50\"}, {\"$oid\": \"0123456789abcdef01234567\"}]}" },
	  "a",
	  "[\"1970-01-01T00:00:00.000Z\",\"NaN\",1.50,\"0123456789abcdef01234567\"]\n",
	  CELL_JSON },
	{ "an array and a text are of one kind",
	  { "{\"a\": []}", "{\"a\": \"x\"}" },
	  "a",
	  "[]\nx\n",
	  CELL_UNKNOWN },
};

static void documents_are_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rows rows;
		str_t columns = STR("");
		rows_begin(&rows, 10, 100000);
		for (size_t k = 0; k < 3 && cases[i].documents[k]; k++)
			assert_true(take(&rows, cases[i].documents[k]));
		const char *printed = print(&rows);
		struct result_set set = result_finish(&rows.builder);
		for (size_t k = 0; k < set.columns_count; k++)
			columns = arena_printf(rows.arena, STR_FMT "%s" STR_FMT, STR_ARG(columns),
					       k ? "|" : "", STR_ARG(set.columns[k].name));
		if (strcmp(printed, cases[i].rows) != 0 || !str_is(columns, cases[i].columns) ||
		    set.columns[0].type != cases[i].first || set.truncated)
			fail_msg("%s: " STR_FMT ": %s, class %d", cases[i].fault, STR_ARG(columns), printed,
				 (int)set.columns[0].type);
		rows_end(&rows);
	}
}

static void texts_are_made_valid(void **state)
{
	struct rows rows;
	bson_t *document = bson_new();
	(void)state;
	bson_append_utf8(document, "a\xff", 2, "x\xc3(\xe2\x82", 5);
	rows_begin(&rows, 10, 1000);
	assert_true(mongodb_documents_take(rows.documents, document));
	assert_string_equal(print(&rows), "x\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\n");
	assert_string_equal(rows.builder.columns[0].name.ptr, "a\xEF\xBF\xBD");
	rows_end(&rows);
	bson_destroy(document);
}

static void results_are_bounded(void **state)
{
	struct rows rows;
	(void)state;
	rows_begin(&rows, 2, 1000);
	assert_true(take(&rows, "{\"a\": 1}"));
	assert_true(take(&rows, "{\"a\": 2}"));
	assert_false(take(&rows, "{\"a\": 3}"));
	assert_string_equal(print(&rows), "1\n2\n");
	assert_true(rows.builder.truncated);
	rows_end(&rows);
	rows_begin(&rows, 100, 30);
	assert_true(take(&rows, "{\"a\": 1}"));
	assert_true(take(&rows, "{\"a\": 2}"));
	assert_false(take(&rows, "{\"a\": 3}"));
	print(&rows);
	assert_true(rows.builder.truncated);
	rows_end(&rows);
	rows_begin(&rows, 100, 1000);
	print(&rows);
	assert_int_equal(rows.builder.columns_count, 0);
	assert_int_equal(rows.builder.rows_count, 0);
	assert_false(rows.builder.truncated);
	rows_end(&rows);
}

struct seen {
	size_t rows, columns, wanted;
};

static bool see(void *context, const str_t *cells, size_t cells_count)
{
	struct seen *seen = context;
	seen->columns = cells_count;
	assert_true(cells_count == 0 || str_present(cells[0]));
	return ++seen->rows < seen->wanted;
}

/* Columns are those of the first documents; one that has another one ends the result. */
static void rows_are_handed_on(void **state)
{
	struct rows rows;
	struct seen seen = { .wanted = 5 };
	(void)state;
	rows_begin(&rows, 2, 1000);
	rows.builder.sink = (struct row_sink){ see, &seen };
	assert_true(take(&rows, "{\"a\": 1}"));
	assert_true(take(&rows, "{\"a\": 2, \"b\": 1}"));
	assert_int_equal(seen.rows, 0);
	assert_true(take(&rows, "{\"a\": 3}"));
	assert_int_equal(seen.rows, 3);
	assert_int_equal(seen.columns, 2);
	assert_false(take(&rows, "{\"a\": 4, \"c\": 1}"));
	assert_int_equal(seen.rows, 3);
	mongodb_documents_finish(rows.documents);
	assert_true(rows.builder.truncated);
	rows_end(&rows);
	seen = (struct seen){ .wanted = 3 };
	rows_begin(&rows, 1, 1000);
	rows.builder.sink = (struct row_sink){ see, &seen };
	assert_true(take(&rows, "{\"a\": 1}"));
	assert_true(take(&rows, "{\"a\": 2}"));
	assert_false(take(&rows, "{\"a\": 3}"));
	mongodb_documents_finish(rows.documents);
	assert_false(rows.builder.truncated);
	assert_int_equal(rows.builder.columns[0].type, CELL_INTEGER);
	rows_end(&rows);
}

/* --- values of queries --- */

static const struct {
	const char *text, *json; /* NULL: it cannot be written */
} values[] = {
	{ "[null, true, 1, 1.5, 'x', 3000000000]",
	  "{ \"0\" : null, \"1\" : true, \"2\" : { \"$numberInt\" : \"1\" }, \"3\" : { \"$numberDouble\" : "
	  "\"1.5\" }, \"4\" : \"x\", \"5\" : { \"$numberDouble\" : \"3000000000.0\" } }" },
	{ "{a: NumberLong('9007199254740993'), b: NumberDecimal('1.10'), c: NumberInt(5)}",
	  "{ \"a\" : { \"$numberLong\" : \"9007199254740993\" }, \"b\" : { \"$numberDecimal\" : \"1.10\" }, "
	  "\"c\" : { \"$numberInt\" : \"5\" } }" },
	{ "{a: ObjectId('0123456789ABCDEF01234567'), b: /x.y/gi}",
	  "{ \"a\" : { \"$oid\" : \"0123456789abcdef01234567\" }, \"b\" : { \"$regularExpression\" : { "
	  "\"pattern\" : \"x.y\", \"options\" : \"is\" } } }" },
	{ "{a: ISODate('1970-01-01T00:00:01Z'), b: new Date()}",
	  "{ \"a\" : { \"$date\" : { \"$numberLong\" : \"1000\" } }, \"b\" : { \"$date\" : { "
	  "\"$numberLong\" : \"77\" } } }" },
	{ "{a: UUID('00112233-4455-6677-8899-aabbccddeeff'), b: BinData(0, 'AP8='), c: Timestamp(5, 6)}",
	  "{ \"a\" : { \"$binary\" : { \"base64\" : \"ABEiM0RVZneImaq7zN3u/w==\", \"subType\" : \"04\" } }, "
	  "\"b\" : { \"$binary\" : { \"base64\" : \"AP8=\", \"subType\" : \"00\" } }, \"c\" : { "
	  "\"$timestamp\" : { \"t\" : 5, \"i\" : 6 } } }" },
	{ "{a: MinKey(), b: [{}, [], {c: [1]}]}",
	  "{ \"a\" : { \"$minKey\" : 1 }, \"b\" : [ {  }, [  ], { \"c\" : [ { \"$numberInt\" : \"1\" } ] } ] "
	  "}" },
	{ "{a: {$binary: {base64: 'AP8=', subType: '05'}}}",
	  "{ \"a\" : { \"$binary\" : { \"base64\" : \"AP8=\", \"subType\" : \"05\" } } }" },
	{ "{a: [{b: UUID('xyz')}]}", NULL },
	{ "{a: BinData(0, '***')}", NULL },
	{ "{a: BinData(999, 'AP8=')}", NULL },
	{ "{a: Timestamp(5, 'x')}", NULL },
	{ "{a: Timestamp(-5, 1)}", NULL },
	{ "{a: {$regularExpression: {pattern: 'x\\u0000y', options: ''}}}", NULL },
	{ "{a: NumberDecimal('1e99999')}", NULL },
};

static void values_are_written_as_bson(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		struct arena *arena = arena_new();
		struct mongodb_reader reader = { .text = str_from(values[i].text), .arena = arena };
		const struct mongodb_value *value = mongodb_read_value(&reader), *wrong = NULL;
		bson_t *document = bson_new();
		if (!value)
			fail_msg("%s: %s", values[i].text, reader.failure);
		bool written = mongodb_values_append(document, value, 77, &wrong);
		if (written != (values[i].json != NULL) || written == (wrong != NULL))
			fail_msg("%s is %swritten", values[i].text, written ? "" : "not ");
		if (written) {
			char *json = bson_as_canonical_extended_json(document, NULL);
			assert_string_equal(json, values[i].json);
			bson_free(json);
		}
		bson_destroy(document);
		arena_free(arena);
	}
}

static void what_writes_is_found_wherever_it_stands(void **state)
{
	static const struct {
		const char *json, *refused;
	} refusals[] = {
		{ "{\"a\": {\"$gt\": 1}, \"b\": [\"$out\"]}", NULL },
		{ "{\"$out\": 1}", "$out" },
		{ "{\"pipeline\": [{\"$facet\": {\"$literal\": [{\"$merge\": \"x\"}]}}]}", "$merge" },
		{ "{\"a\": [[{\"b\": {\"$function\": {}}}]]}", "$function" },
		{ "{\"a\": 1, \"$where\": \"x\"}", "$where" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		bson_t *document = bson_new_from_json((const uint8_t *)refusals[i].json, -1, NULL);
		const char *refused = mongodb_values_refused(document);
		if ((refused == NULL) != (refusals[i].refused == NULL) ||
		    (refused && strcmp(refused, refusals[i].refused) != 0))
			fail_msg("%s: %s", refusals[i].json, refused ? refused : "nothing");
		bson_destroy(document);
	}
}

/* --- the role --- */

#define USER "\"authenticatedUsers\": [{\"user\": \"u\", \"db\": \"admin\"}]"

static const struct {
	const char *status, *user, *notes;
} roles[] = {
	{ "{\"authInfo\": {" USER ", \"authenticatedUserPrivileges\": [{\"resource\": {\"db\": \"shop\", "
	  "\"collection\": \"\"}, \"actions\": [\"find\", \"listCollections\", \"collStats\"]}]}}",
	  "u", "" },
	{ "{\"authInfo\": {" USER ", \"authenticatedUserPrivileges\": [{\"actions\": [\"find\", "
	  "\"insert\"]}, {\"actions\": [\"insert\", \"dropDatabase\"]}]}}",
	  "u",
	  "the role may do more than read (insert, dropDatabase): give it read on the database and no "
	  "other" },
	{ "{\"authInfo\": {" USER ", \"authenticatedUserPrivileges\": [{\"actions\": [\"a\", \"b\", \"c\", "
	  "\"d\", \"e\", \"f\", \"g\", \"h\", \"i\"]}]}}",
	  "u",
	  "the role may do more than read (a, b, c, d, e, f, g, h, …): give it read on the database and no "
	  "other" },
	{ "{\"authInfo\": {" USER "}}", "u",
	  "the server does not say what the role may do: give it read and no other" },
	{ "{\"authInfo\": {\"authenticatedUsers\": []}}", NULL,
	  "the dsn names no user, and the server lets in whoever connects: turn its authorization on, and "
	  "name a "
	  "user with the role read and no other" },
	{ "{\"ok\": 1}", "u",
	  "the server does not say who has logged in: whether the role may only read is not known" },
};

static void roles_that_write_are_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
		struct arena *arena = arena_new();
		struct buf notes = BUF_INIT;
		bson_t *status = bson_new_from_json((const uint8_t *)roles[i].status, -1, NULL);
		assert_non_null(status);
		mongodb_check_role(status, roles[i].user, arena, &notes);
		assert_string_equal(notes.data ? notes.data : "", roles[i].notes);
		bson_destroy(status);
		buf_free(&notes);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_rows),
		cmocka_unit_test(texts_are_made_valid),
		cmocka_unit_test(results_are_bounded),
		cmocka_unit_test(rows_are_handed_on),
		cmocka_unit_test(values_are_written_as_bson),
		cmocka_unit_test(what_writes_is_found_wherever_it_stands),
		cmocka_unit_test(roles_that_write_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
