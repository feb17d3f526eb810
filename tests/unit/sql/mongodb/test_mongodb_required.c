/* Fields that every query of a collection has to constrain: which commands do. */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct sql_required_column rules[] = { { STR("orders"), STR("tenant") },
						    { STR("users"), STR("tenant") } };
static const struct sql_policy policy = { .required_columns = rules, .required_columns_count = 2 };

static const struct {
	const char *text, *missing; /* objects with offsets */
} cases[] = {
	{ "db.orders.find({tenant: 5})", "" },
	{ "db.orders.find({tenant: {$eq: ObjectId('0123456789abcdef01234567')}, a: 1})", "" },
	{ "db.orders.find({tenant: {$in: [1, 2]}})", "" },
	{ "db.orders.find({$and: [{a: 1}, {$and: [{tenant: 'x'}]}]})", "" },
	{ "db.orders.find({$expr: {$and: [{$eq: ['$tenant', 5]}]}})", "" },
	{ "db.orders.find({$expr: {$eq: [{$literal: 5}, '$tenant']}})", "" },
	{ "db.orders.countDocuments({tenant: 5})", "" },
	{ "db.orders.distinct('a', {tenant: 5})", "" },
	{ "{\"find\": \"orders\", \"filter\": {\"tenant\": 5}}", "" },
	{ "db.other.find()", "" },
	{ "db.orders.find()", "orders.tenant@3 " },
	{ "db.orders.find({}, {tenant: 1})", "orders.tenant@3 " },
	{ "db.orders.find({Tenant: 5})", "orders.tenant@3 " },
	{ "db.orders.find({tenant: null})", "orders.tenant@3 " },
	{ "db.orders.find({tenant: /./})", "orders.tenant@3 " },
	{ "db.orders.find({tenant: {$gt: 0}})", "orders.tenant@3 " },
	{ "db.orders.find({tenant: {$ne: 5}})", "orders.tenant@3 " },
	{ "db.orders.find({tenant: {$in: []}})", "orders.tenant@3 " },
	{ "db.orders.find({tenant: {$in: [1, null]}})", "orders.tenant@3 " },
	{ "db.orders.find({tenant: {$exists: true}})", "orders.tenant@3 " },
	{ "db.orders.find({$or: [{tenant: 5}, {a: 1}]})", "orders.tenant@3 " },
	{ "db.orders.find({$nor: [{tenant: 5}]})", "orders.tenant@3 " },
	{ "db.orders.find({$expr: {$eq: ['$tenant', '$tenant']}})", "orders.tenant@3 " },
	{ "db.orders.find({$expr: {$or: [{$eq: ['$tenant', 5]}, true]}})", "orders.tenant@3 " },
	{ "db.orders.estimatedDocumentCount()", "orders.tenant@3 " },
	/* pipelines: what comes too late, or speaks of something else */
	{ "db.orders.aggregate([{$sort: {a: 1}}, {$match: {tenant: 5}}, {$group: {_id: '$a'}}])", "" },
	{ "db.orders.aggregate([{$group: {_id: '$tenant'}}, {$match: {tenant: 5}}])", "orders.tenant@3 " },
	{ "db.orders.aggregate([{$limit: 5}, {$match: {tenant: 5}}])", "orders.tenant@3 " },
	{ "db.orders.aggregate([{$project: {tenant: 1}}, {$match: {tenant: 5}}])", "orders.tenant@3 " },
	{ "db.orders.aggregate([{$addFields: {tenant: 5}}, {$match: {tenant: 5}}])", "orders.tenant@3 " },
	{ "db.orders.aggregate([{$addFields: {'tenant.x': 5}}, {$match: {tenant: 5}}])", "orders.tenant@3 " },
	{ "db.orders.aggregate([{$addFields: {b: 5}}, {$match: {tenant: 5}}])", "" },
	{ "db.orders.aggregate([{$facet: {a: [{$match: {tenant: 5}}], b: []}}])", "orders.tenant@3 " },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$facet: {a: [], b: []}}])", "" },
	/* further collections */
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$lookup: {from: 'users', localField: 'user', "
	  "foreignField: "
	  "'_id', as: 'u'}}])",
	  "users.tenant@61 " },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$lookup: {from: 'users', localField: 'tenant', "
	  "foreignField: 'tenant', as: 'u'}}])",
	  "" },
	{ "db.orders.aggregate([{$lookup: {from: 'users', localField: 'tenant', foreignField: 'tenant', as: "
	  "'u'}}, {$match: {tenant: 5}}])",
	  "" },
	{ "db.orders.aggregate([{$lookup: {from: 'users', localField: 'a', foreignField: 'b', as: "
	  "'tenant'}}, "
	  "{$match: {tenant: 5}}])",
	  "users.tenant@38 orders.tenant@3 " },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$lookup: {from: 'users', let: {t: '$tenant'}, "
	  "pipeline: "
	  "[{$match: {$expr: {$eq: ['$tenant', '$$t']}}}], as: 'u'}}])",
	  "" },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$lookup: {from: 'users', let: {t: '$other'}, "
	  "pipeline: "
	  "[{$match: {$expr: {$eq: ['$tenant', '$$t']}}}], as: 'u'}}])",
	  "users.tenant@61 " },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$lookup: {from: 'users', pipeline: [{$match: "
	  "{tenant: "
	  "5}}], as: 'u'}}])",
	  "" },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$unionWith: 'users'}])", "users.tenant@57 " },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$unionWith: {coll: 'users', pipeline: [{$match: "
	  "{tenant: "
	  "5}}]}}])",
	  "" },
	{ "db.orders.aggregate([{$unionWith: {coll: 'users', pipeline: [{$match: {tenant: 5}}]}}, {$match: "
	  "{tenant: 5}}])",
	  "orders.tenant@3 " },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$graphLookup: {from: 'users', startWith: '$boss', "
	  "connectFromField: 'boss', connectToField: '_id', as: 'b', maxDepth: 3}}])",
	  "users.tenant@66 " },
	{ "db.orders.aggregate([{$match: {tenant: 5}}, {$graphLookup: {from: 'users', startWith: '$boss', "
	  "connectFromField: 'boss', connectToField: '_id', as: 'b', maxDepth: 3, restrictSearchWithMatch: "
	  "{tenant: 5}}}])",
	  "" },
	{ "db.x.aggregate([{$lookup: {from: 'orders', let: {}, pipeline: [{$lookup: {from: 'users', "
	  "localField: "
	  "'a', foreignField: 'tenant', as: 'u'}}], as: 'o'}}])",
	  "users.tenant@80 orders.tenant@33 " },
};

static void what_is_not_constrained_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *arena = arena_new();
		const struct sql_request request = { .sql = str_from(cases[i].text),
						     .dialect = SQL_MONGODB,
						     .policy = &policy };
		struct sql_analysis analysis;
		str_t said = STR("");
		sql_analyse(&request, arena, &analysis);
		for (size_t k = 0; k < analysis.diagnostics_count; k++) {
			const struct sql_diagnostic *diagnostic = &analysis.diagnostics[k];
			if (strcmp(diagnostic->code, "missing_required") == 0)
				said = arena_printf(arena, STR_FMT STR_FMT "@%lld ", STR_ARG(said),
						    STR_ARG(diagnostic->object),
						    (long long)diagnostic->offset);
		}
		if (!analysis.valid || !str_is(said, cases[i].missing))
			fail_msg("%s: " STR_FMT, cases[i].text, STR_ARG(said));
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_not_constrained_is_told) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
