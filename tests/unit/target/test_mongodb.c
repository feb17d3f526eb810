/* Validation on a real server that speaks MongoDB's protocol, through real worker processes. */
#include "mongodb_server.h"

#include <signal.h>

static struct targets *targets; /* one target `shop` */

static int set_up(void **state)
{
	(void)state;
	struct target_settings settings = mongodb_settings();
	settings.connections = 4;
	targets = start_targets(&settings, 1, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	return 0;
}

static const struct validation_result *validate(struct test_call *test, const char *generated,
						const char *truth)
{
	return run_pair(targets, "shop", test, generated, truth);
}

/* --- results --- */

#define ALL_IDS "db.sales.find({}, {_id: 0, id: 1})"

static const struct compared_case compared_cases[] = {
	{ "the same query", "db.sales.find()", "db.sales.find()", 1.0, 30, 30 },
	{ "a pipeline for a find", ALL_IDS, "db.sales.aggregate([{$project: {_id: 0, id: 1}}])", 1.0, 30,
	  30 },
	{ "a command document for a find", ALL_IDS,
	  "{\"find\": \"sales\", \"filter\": {}, \"projection\": {\"_id\": 0, \"id\": 1}}", 1.0, 30, 30 },
	{ "another order", "db.sales.find({}, {_id: 0, id: 1}).sort({id: -1})", ALL_IDS, 1.0, 30, 30 },
	{ "another name", "db.sales.aggregate([{$project: {_id: 0, number: '$id'}}])", ALL_IDS, 1.0, 30, 30 },
	{ "a field that is a key", "db.sales.find({}, {_id: 1})", ALL_IDS, 1.0, 30, 30 },
	{ "a double for a decimal",
	  "db.sales.aggregate([{$group: {_id: null, n: {$sum: '$price'}}}, {$project: {_id: 0}}])",
	  "db.sales.aggregate([{$group: {_id: null, n: {$sum: '$price'}}}, {$project: {_id: 0, m: '$n'}}])",
	  1.0, 1, 1 },
	{ "other values", "db.sales.aggregate([{$project: {_id: 0, id: {$add: ['$id', 1]}}}])",
	  "db.sales.aggregate([{$project: {_id: 0, id: {$multiply: ['$id', 100]}}}])", 0.0, 30, 30 },
	{ "more columns", "db.sales.find({}, {_id: 0, id: 1, region: 1})", ALL_IDS, 0.1, 30, 30 },
	{ "fewer rows", "db.sales.find({id: {$gt: 1}}, {_id: 0, id: 1})", ALL_IDS, 0.3, 29, 30 },
	{ "both empty", "db.sales.find({id: {$lt: 0}})", "db.sales.find({id: 0}, {_id: 1})", 1.0, 0, 0 },
	{ "empty for some", "db.sales.find({id: {$lt: 0}})", ALL_IDS, 0.3, 0, 30 },
	{ "some for empty", ALL_IDS, "db.sales.find({id: 0})", 0.3, 30, 0 },
	{ "a collection that is not there is empty", "db.nothing.find()", "db.sales.find({id: 0})", 1.0, 0,
	  0 },
	{ "27 of 30 rows",
	  "db.sales.aggregate([{$project: {_id: 0, id: {$cond: [{$lt: ['$id', 4]}, 0, '$id']}}}])", ALL_IDS,
	  0.8, 30, 30 },
	{ "null for missing", "db.sales.find({}, {_id: 0, id: 1, note: 1})",
	  "db.sales.aggregate([{$project: {_id: 0, id: 1, note: {$ifNull: ['$note', null]}}}])", 1.0, 30,
	  30 },
	{ "null in all for missing in all", "db.sales.find({id: {$mod: [5, 0]}}, {_id: 0, id: 1, note: 1})",
	  "db.sales.aggregate([{$match: {id: {$mod: [5, 0]}}}, {$project: {_id: 0, id: 1, note: {$literal: "
	  "null}}}])",
	  1.0, 6, 6 },
	{ "missing in all for null in all",
	  "db.sales.aggregate([{$match: {id: {$lt: 3}}}, {$project: {_id: 0, v: {$literal: null}}}])",
	  "db.sales.aggregate([{$match: {id: {$lt: 3}}}, {$project: {_id: 0, v: '$nothing'}}])", 1.0, 2, 2 },
	{ "null is not zero",
	  "db.sales.aggregate([{$match: {id: 1}}, {$project: {_id: 0, a: {$literal: 0}}}])",
	  "db.sales.aggregate([{$match: {id: 1}}, {$project: {_id: 0, a: {$literal: null}}}])", 0.0, 1, 1 },
	{ "documents by value", "db.sales.find({}, {_id: 0, extra: 1})",
	  "db.sales.aggregate([{$project: {_id: 0, extra: {tags: '$extra.tags', k: '$extra.k'}}}])", 1.0, 30,
	  30 },
	{ "arrays in order", "db.sales.find({id: 1}, {_id: 0, 'extra.tags': 1})",
	  "db.sales.aggregate([{$match: {id: 1}}, {$project: {_id: 0, extra: {tags: [1, 'a']}}}])", 0.0, 1,
	  1 },
	{ "a date", "db.sales.find({sold_at: ISODate('2024-01-05')}, {_id: 0, sold_at: 1})",
	  "db.sales.find({id: 5}, {_id: 0, sold_at: 1})", 1.0, 1, 1 },
	{ "a date in a range",
	  "db.sales.find({sold_at: {$gte: new Date('2024-01-05T00:00:00Z'), $lt: new Date(2024, 0, 8)}}, "
	  "{_id: "
	  "0, id: 1})",
	  "db.sales.find({id: {$in: [5, 6, 7]}}, {_id: 0, id: 1})", 1.0, 3, 3 },
	{ "a decimal", "db.sales.find({amount: NumberDecimal('1.5')}, {_id: 0, id: 1})",
	  "db.sales.find({id: 1}, {_id: 0, id: 1})", 1.0, 1, 1 },
	{ "a pattern", "db.sales.find({region: /^N/i}, {_id: 0, id: 1})",
	  "db.sales.find({region: 'north'}, {_id: 0, id: 1})", 1.0, 10, 10 },
	{ "a count", "db.sales.countDocuments({region: 'north'})",
	  "db.sales.aggregate([{$match: {region: 'north'}}, {$count: 'n'}])", 1.0, 1, 1 },
	{ "a count of nothing", "db.sales.countDocuments({region: 'west'})",
	  "db.sales.aggregate([{$limit: 1}, {$project: {_id: 0, n: {$literal: 0}}}])", 1.0, 1, 1 },
	{ "a count of nothing by a stage", "db.sales.countDocuments({region: 'west'})",
	  "db.sales.aggregate([{$match: {region: 'west'}}, {$count: 'n'}])", 1.0, 1, 1 },
	{ "a count of a find", "db.sales.find({id: {$lt: 9}}).count()",
	  "db.sales.countDocuments({id: {$lt: 9}})", 1.0, 1, 1 },
	{ "an estimate", "db.sales.estimatedDocumentCount()", "db.sales.countDocuments()", 1.0, 1, 1 },
	{ "a count of a part", "db.sales.countDocuments({}, {skip: 5, limit: 7})",
	  "db.sales.aggregate([{$skip: 5}, {$limit: 7}, {$count: 'n'}])", 1.0, 1, 1 },
	{ "values", "db.sales.distinct('region')", "db.sales.aggregate([{$group: {_id: '$region'}}])", 1.0, 3,
	  3 },
	{ "values below", "db.sales.distinct('extra.k', {id: {$lt: 4}})",
	  "db.sales.find({id: {$lt: 4}}, {_id: 0, id: 1})", 1.0, 3, 3 },
	{ "a single batch",
	  "{\"find\": \"sales\", \"sort\": {\"id\": 1}, \"batchSize\": 4, \"singleBatch\": true}",
	  "db.sales.find().sort({id: 1}).limit(4)", 1.0, 4, 4 },
	{ "one", "db.sales.findOne({id: 3})", "db.sales.find({id: 3})", 1.0, 1, 1 },
	{ "letters of any language", "db.getCollection('sales').find({id: 1}, {_id: 1}).limit(1)",
	  "db['sales'].find({id: 1}, {_id: 1})", 1.0, 1, 1 },
};

static void results_are_compared(void **state)
{
	(void)state;
	check_compared(targets, "shop", compared_cases, sizeof compared_cases / sizeof compared_cases[0]);
}

static const struct tie_case tie_cases[] = {
	{ "an order counts", "db.sales.find({}, {_id: 0, id: 1}).sort({id: 1})",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({id: -1})", false },
	{ "the same order", "db.sales.aggregate([{$sort: {id: -1}}, {$project: {_id: 0, id: 1}}])",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({id: -1})", true },
	{ "a tie of a hidden key is punished", "db.sales.find({}, {_id: 0, id: 1}).sort({region: 1, id: -1})",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({region: 1, id: 1})", false },
	{ "rows that tie by a hidden key may come in any order",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({region: 1, id: -1})",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({region: 1})", true },
	{ "rows of another tie may not", "db.sales.find({}, {_id: 0, id: 1}).sort({region: -1})",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({region: 1})", false },
	{ "a tie at a cut by a hidden key is punished", "db.sales.find({id: 29}, {_id: 0, id: 1})",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({region: 1}).limit(1)", true },
	{ "a row behind the tie is right", "db.sales.find({id: 30}, {_id: 0, id: 1})",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({region: 1}).limit(1)", false },
	{ "a tie in a pipeline is punished", "db.sales.find({id: 29}, {_id: 0, id: 1})",
	  "db.sales.aggregate([{$sort: {region: 1}}, {$limit: 1}, {$project: {_id: 0, id: 1}}])", true },
	{ "a tie behind a projection that leaves out is punished",
	  "db.sales.aggregate([{$match: {id: 29}}, {$project: {_id: 0, id: 1, ok: 1}}])",
	  "db.sales.aggregate([{$sort: {region: 1}}, {$skip: 2}, {$limit: 1}, {$project: {_id: 0, region: 0, "
	  "amount: 0, price: 0, sold_at: 0, extra: 0, note: 0}}])",
	  true },
	{ "a tie of a computed key is punished",
	  "db.sales.aggregate([{$match: {id: {$in: [3, 6]}}}, {$sort: {id: -1}}, {$project: {_id: 0, id: "
	  "1}}])",
	  "db.sales.aggregate([{$match: {id: {$in: [3, 6]}}}, {$addFields: {m: {$mod: ['$id', 3]}}}, {$sort: "
	  "{m: "
	  "1}}, {$project: {_id: 0, id: 1}}])",
	  true },
	{ "a limit without an order takes any rows", "db.sales.find({id: {$gt: 25}}, {_id: 0, id: 1})",
	  "db.sales.find({}, {_id: 0, id: 1}).limit(5)", true },
	{ "it takes no others",
	  "db.sales.aggregate([{$limit: 5}, {$project: {_id: 0, id: {$multiply: ['$id', -1]}}}])",
	  "db.sales.find({}, {_id: 0, id: 1}).limit(5)", false },
	{ "any of the documents has the fields that it has",
	  "db.sales.find({id: 5}, {_id: 0, id: 1, note: 1})",
	  "db.sales.find({}, {_id: 0, id: 1, note: 1}).limit(1)", true },
	{ "a document of a tie has the fields that it has",
	  "db.sales.find({id: 5}, {_id: 0, id: 1, note: 1})",
	  "db.sales.find({}, {_id: 0, id: 1, note: 1}).sort({ok: 1}).limit(1)", true },
	{ "it has no others", "db.sales.find({id: 5}, {_id: 0, id: 1, price: 1})",
	  "db.sales.find({}, {_id: 0, id: 1, note: 1}).limit(1)", false },
	{ "it has all of them", "db.sales.find({id: 5}, {_id: 0, id: 1})",
	  "db.sales.find({}, {_id: 0, id: 1, region: 1}).sort({ok: 1}).limit(1)", false },
	{ "a condition behind the order",
	  "db.sales.find({id: {$gt: 9}}, {_id: 0, id: 1}).sort({region: 1, id: -1})",
	  "db.sales.aggregate([{$sort: {region: 1}}, {$match: {id: {$gt: 9}}}, {$project: {_id: 0, id: 1}}])",
	  true },
	{ "a key below", "db.sales.find({id: {$lt: 5}}, {_id: 0, region: 1}).sort({'extra.k': 1})",
	  "db.sales.find({id: {$lt: 5}}, {_id: 0, region: 1}).sort({id: 1})", true },
	{ "what a limit leaves is grouped",
	  "db.sales.aggregate([{$sort: {id: 1}}, {$limit: 3}, {$group: {_id: null, s: {$sum: '$id'}}}])",
	  "db.sales.aggregate([{$sort: {id: -1}}, {$limit: 3}, {$group: {_id: null, s: {$sum: '$id'}}}])",
	  false },
	{ "what a limit takes is open, though it is sorted then",
	  "db.sales.aggregate([{$skip: 9}, {$limit: 3}, {$sort: {id: 1}}, {$project: {_id: 0, id: 1}}])",
	  "db.sales.aggregate([{$limit: 3}, {$sort: {id: 1}}, {$project: {_id: 0, id: 1}}])", NOT_PROVEN },
	{ "what a limit takes is open, though it is grouped then",
	  "db.sales.aggregate([{$skip: 9}, {$limit: 3}, {$group: {_id: null, s: {$sum: '$id'}}}])",
	  "db.sales.aggregate([{$limit: 3}, {$group: {_id: null, s: {$sum: '$id'}}}])", NOT_PROVEN },
	{ "a missing key ties with null", "db.sales.find({}, {_id: 0, id: 1}).sort({id: -1})",
	  "db.sales.find({}, {_id: 0, id: 1}).sort({note: 1})", true },
};

static void ties_are_asked_for(void **state)
{
	(void)state;
	check_ties(targets, "shop", SQL_MONGODB, tie_cases, sizeof tie_cases / sizeof tie_cases[0]);
}

#define TWO "db.sales.aggregate([{$match: {id: {$lt: 3}}}, {$project: {_id: 0, n: '$id', t: '$region'}}])"

static const struct table_case table_cases[] = {
	{ .fault = "cells are compared as texts",
	  .generated = TWO,
	  .columns = "n|t",
	  .rows = "2.0|east\n1|south\n",
	  .score = 1 },
	{ .fault = "a wrong value",
	  .generated = TWO,
	  .columns = "n|t",
	  .rows = "2|east\n1|x\n",
	  .score = 0.5 },
	{ .fault = "further columns",
	  .generated = TWO,
	  .columns = "n|t",
	  .rows = "1|x\n2|\\N\n",
	  .asked = "N ",
	  .score = 1 },
	{ .fault = "nothing is something", .generated = TWO, .columns = "n|t", .rows = "", .score = 0.3 },
	{ .fault = "nothing is not nothing",
	  .generated = "db.sales.find({id: 0})",
	  .columns = "n",
	  .rows = "",
	  .score = 1 },
	{ .fault = "something is nothing",
	  .generated = "db.sales.find({id: 0})",
	  .columns = "n",
	  .rows = "1\n",
	  .asked = "n",
	  .score = 0.3 },
	{ .fault = "a truth without documents lacks what is asked for",
	  .generated = TWO,
	  .sql = "db.sales.find({id: 0})",
	  .asked = "n",
	  .score = 0.3 },
};

static void truths_may_be_tables(void **state)
{
	(void)state;
	check_tables(targets, "shop", SQL_MONGODB, table_cases, sizeof table_cases / sizeof table_cases[0]);
}

/* --- failures of queries --- */

static void a_failing_query_scores_nothing(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "db.sales.aggregate([{$project: {a: {$divide: ['$id', 0]}}}])", "divide by zero" },
		{ "db.sales.find({a: UUID('x')})", "the value at byte 18 cannot be written as BSON" },
		{ "db.sales.aggregate([{$out: 'stolen'}])", "the text is not proven to be a read" },
		{ "db.sales.deleteMany({})", "the text is not proven to be a read" },
		{ "db.sales.find({$where: 'true'})", "the text is not proven to be a read" },
		{ "db.sales.find(", "the text is not proven to be a read" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct test_call test;
		const struct validation_result *result = validate(&test, cases[i].text, ALL_IDS);
		assert_int_equal(result->status, VALIDATION_EXECUTION_FAILED);
		if (!strstr(result->message.ptr, cases[i].message))
			fail_msg("%s: %s", cases[i].text, result->message.ptr);
		assert_true(result->score == 0.0);
		assert_int_equal(result->error, ERR_OK);
		test_call_free(&test);
	}
	check_match(targets, "shop", ALL_IDS, ALL_IDS);
}

static void a_broken_truth_is_flagged(void **state)
{
	(void)state;
	struct test_call test;
	const struct validation_result *result = validate(&test, ALL_IDS, "db.sales.find({a: UUID('x')})");
	assert_int_equal(result->status, VALIDATION_GROUND_TRUTH_FAILED);
	assert_int_equal(result->error, ERR_GROUND_TRUTH_FAILED);
	test_call_free(&test);
}

/* The server goes on with it, since this one knows no limits, and answers others meanwhile. */
static void an_endless_query_is_cut_short(void **state)
{
	(void)state;
	struct test_call test;
	struct target_settings settings = mongodb_settings();
	settings.statement_timeout_ms = 1000;
	mongodb_insert("many", "{\"_id\": %1$d, \"k\": %1$d}", 6000);
	struct targets *hasty = start_targets(&settings, 1, NULL);
	const struct validation_result *result = run_pair(
		hasty, "shop", &test,
		"db.many.aggregate([{$lookup: {from: 'many', localField: '_id', foreignField: 'k', as: "
		"'x'}}, {$unwind: '$x'}, {$count: 'n'}])",
		ALL_IDS);
	assert_int_equal(result->status, VALIDATION_TIMEOUT);
	assert_string_equal(result->message.ptr, "the query was cancelled at its time limit");
	assert_true(result->generated.time_ms >= 1000);
	test_call_free(&test);
	check_match(hasty, "shop", ALL_IDS, ALL_IDS);
	targets_stop(hasty);
}

/* --- limits --- */

static void too_many_rows_are_cut(void **state)
{
	(void)state;
	mongodb_insert("long", "{\"_id\": %d}", 12000);
	check_rows_cut(targets, "shop", "db.long.find()");
}

static void too_many_bytes_are_cut(void **state)
{
	struct test_call test;
	struct target_settings settings = mongodb_settings();
	(void)state;
	settings.max_result_bytes = 65536;
	struct targets *narrow = start_targets(&settings, 1, NULL);
	const struct validation_result *result =
		run_pair(narrow, "shop", &test, "db.long.find()", "db.long.find()");
	assert_int_equal(result->status, VALIDATION_COMPARED);
	assert_true(result->truncated);
	assert_true(result->generated.rows > 1000 && result->generated.rows < 10000);
	test_call_free(&test);
	targets_stop(narrow);
}

static void larger_results_can_be_proven_equal(void **state)
{
	static const struct {
		const char *generated, *truth;
		bool equal;
	} cases[] = {
		{ "db.long.find({}, {_id: 1})", "db.long.aggregate([{$project: {_id: 1}}])", true },
		{ "db.long.find({}, {_id: 1})",
		  "db.long.aggregate([{$project: {_id: {$cond: [{$lt: ['$_id', 3000]}, -1, '$_id']}}}])",
		  false },
		{ "db.long.find().sort({_id: 1})", "db.long.find({}, {_id: 1}).sort({_id: 1})", true },
	};
	(void)state;
	struct target_settings settings = mongodb_settings();
	settings.stream_large_results = true;
	struct targets *streaming = start_targets(&settings, 1, NULL);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct test_call test;
		test_call_init(&test, "shop", cases[i].generated, cases[i].truth);
		describe_truth(&test, SQL_MONGODB);
		targets_submit(streaming, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		assert_int_equal(result->status, VALIDATION_COMPARED);
		if (!result->conclusive || (result->score == 1.0) != cases[i].equal)
			fail_msg("%s: %g, %sconclusive", cases[i].truth, result->score,
				 result->conclusive ? "" : "not ");
		assert_int_equal(result->generated.rows, 12000);
		test_call_free(&test);
	}
	targets_stop(streaming);
}

/* --- the server --- */

/* More fields than are kept, and more elements than are looked at. */
static void insert_large(void)
{
	struct buf command = BUF_INIT;
	buf_append_text(&command, "{\"insert\": \"wide\", \"documents\": [{\"_id\": 1");
	for (int i = 0; i < 10001; i++)
		buf_printf(&command, ",\"f%d\":1", i);
	buf_append_text(&command, "}]}");
	mongodb_admin("shop", command.data);
	buf_reset(&command);
	buf_append_text(&command, "{\"insert\": \"deep\", \"documents\": [{\"_id\": 1, \"a\": [0");
	for (int i = 0; i < 1000; i++)
		buf_append_text(&command, ",1");
	buf_append_text(&command, "]}]}");
	mongodb_admin("shop", command.data);
	buf_free(&command);
}

static void catalogs_are_read_and_kept(void **state)
{
	char directory[] = "/tmp/assayd-test-mongodb-XXXXXX", path[128], command[160];
	(void)state;
	assert_non_null(mkdtemp(directory));
	struct target_settings settings = mongodb_settings();
	insert_large();
	struct targets *keeping = start_targets(&settings, 1, directory);
	targets_wait_catalogs(keeping, 60000);
	struct catalog *catalog = targets_catalog(keeping, targets_find(keeping, STR("shop")));
	assert_non_null(catalog);
	assert_int_equal(catalog_dialect(catalog), SQL_MONGODB);
	const char *source = catalog_source(catalog).ptr;
	assert_non_null(strstr(source, "{\"elements\":[\"string\",\"int\"],\"path\":\"extra.tags\",\"types\":"
				       "[\"array\"]}"));
	assert_non_null(strstr(source, "{\"path\":\"amount\",\"types\":[\"decimal\"]}"));
	assert_non_null(strstr(source, "\"collection\":\"sales\",\"complete\":true"));
	assert_non_null(strstr(source, "\"collection\":\"long\",\"complete\":false"));
	assert_non_null(strstr(source, "\"sampled\":1000"));
	assert_non_null(strstr(source, "\"kind\":\"collection\",\"open\":true,\"sampled\":1}"));
	assert_non_null(strstr(source, "\"collection\":\"deep\",\"complete\":false"));
	catalog_unref(catalog);
	targets_stop(keeping);
	snprintf(path, sizeof path, "%s/catalog-shop.mongodb", directory);
	assert_int_equal(access(path, R_OK), 0);
	snprintf(command, sizeof command, "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

static void check_says_what_is_odd_about_a_target(void **state)
{
	struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	struct target_settings settings = mongodb_settings();
	char empty_dsn[160];
	str_t notes;
	(void)state;
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_string_equal(
		notes.ptr,
		"the server has no snapshots (a replica set of MongoDB 5.0 or later has): what is "
		"written between the truth's read and the query's can make them differ; records say "
		"so\n"
		"the dsn names no user, and the server lets in whoever connects: turn its "
		"authorization on, and name a user with the role read and no other");
	snprintf(empty_dsn, sizeof empty_dsn, "mongodb://127.0.0.1:%d/none", documents_server.port);
	settings.dsn = empty_dsn;
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_non_null(strstr(notes.ptr, "\nthe database \"none\" has no collections"));
	settings.dsn = "mongodb://127.0.0.1:1/shop";
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_TARGET_UNAVAILABLE);
	assert_non_null(strstr(detail.message, "target \"shop\": "));
	arena_free(arena);
}

/* A server that accepts connections and says nothing is the target's fault, and is waited for a bounded time.
 */
static void a_server_that_hangs_is_given_up(void **state)
{
	(void)state;
	struct test_call test;
	struct target_settings settings = mongodb_settings();
	settings.statement_timeout_ms = 1000;
	struct targets *hasty = start_targets(&settings, 1, NULL);
	check_match(hasty, "shop", ALL_IDS, ALL_IDS);
	kill((pid_t)documents_server.pid, SIGSTOP);
	sleep_ms(200); /* until the last of its threads has */
	const struct validation_result *result = run_pair(hasty, "shop", &test, ALL_IDS, ALL_IDS);
	kill((pid_t)documents_server.pid, SIGCONT);
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
	assert_true(result->error == ERR_TARGET_LOST || result->error == ERR_TARGET_UNAVAILABLE ||
		    result->error == ERR_TARGET_TIMEOUT);
	test_call_free(&test);
	targets_stop(hasty);
}

/* The last test: idle connections are lost, calls fail, and all is well again afterwards. */
static void a_stopped_server_comes_back(void **state)
{
	(void)state;
	bool back = false;
	assert_int_equal(test_mongodb_do(&documents_server, "kill"), 0);
	for (int i = 0; i < 3; i++) {
		struct test_call test;
		const struct validation_result *result = validate(&test, ALL_IDS, ALL_IDS);
		assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
		test_call_free(&test);
	}
	assert_int_equal(test_mongodb_do(&documents_server, "resume"), 0);
	for (int i = 0; i < 600 && !back; i++) {
		struct test_call test;
		back = validate(&test, "db.none.countDocuments()", "db.none.countDocuments()")->score == 1.0;
		test_call_free(&test);
		sleep_ms(back ? 0 : 100);
	}
	assert_true(back);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = mongodb_start_shop();
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_compared),
		cmocka_unit_test(ties_are_asked_for),
		cmocka_unit_test(truths_may_be_tables),
		cmocka_unit_test(a_failing_query_scores_nothing),
		cmocka_unit_test(a_broken_truth_is_flagged),
		cmocka_unit_test(an_endless_query_is_cut_short),
		cmocka_unit_test(too_many_rows_are_cut),
		cmocka_unit_test(too_many_bytes_are_cut),
		cmocka_unit_test(larger_results_can_be_proven_equal),
		cmocka_unit_test(catalogs_are_read_and_kept),
		cmocka_unit_test(check_says_what_is_odd_about_a_target),
		cmocka_unit_test(a_server_that_hangs_is_given_up),
		cmocka_unit_test(a_stopped_server_comes_back),
	};
	int failed = cmocka_run_group_tests(tests, set_up, tear_down);
	test_mongodb_stop(&documents_server);
	return failed;
}
