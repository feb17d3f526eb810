#include "sql/mongodb/front_end.h"

#include "sql/findings/front_end.h"
#include "sql/mongodb/canonical.h"
#include "sql/mongodb/check.h"
#include "sql/mongodb/required.h"
#include "sql/mongodb/resolve.h"
#include "sql/mongodb/unparsed.h"

static void report_failure(const struct mongodb_reader *reader, bool more, str_t text,
			   struct diagnostics *diagnostics, struct violations *violations)
{
	diagnostics_add(diagnostics, DIAG_SYNTAX_ERROR, SUB_NONE, STR("statement"),
			(int64_t)reader->failed_at, "%s", reader->failure);
	if (reader->too_deep)
		violations_add(violations, VIOLATION_TOO_DEEP, (int64_t)reader->failed_at, "%s",
			       reader->failure);
	if (reader->too_many)
		violations_add(violations, VIOLATION_TOO_LONG, (int64_t)reader->failed_at, "%s",
			       reader->failure);
	if (more)
		violations_add(violations, VIOLATION_MULTIPLE_STATEMENTS, (int64_t)reader->failed_at,
			       "more follows behind the query");
	mongodb_unparsed(text, reader->failure, violations);
}

/* Its own database has a name, too, which the catalog tells. The process that runs queries has none and could
 * not know it from another one: whoever names a database is not proven to read this. */
static void check_database(struct mongodb_command *command, const struct catalog *catalog,
			   struct violations *violations)
{
	if (!str_present(command->database))
		return;
	violations_doubt(violations, "database \"" STR_FMT "\" is named, which may be another one",
			 STR_ARG(command->database));
	if (catalog && str_equal(command->database, catalog_database(catalog)))
		command->database = STR_NONE;
}

static void check(struct mongodb_command *command, const struct sql_request *request, struct arena *arena,
		  struct diagnostics *diagnostics, struct violations *violations,
		  struct sql_analysis *analysis)
{
	struct mongodb_check check = { .arena = arena, .diagnostics = diagnostics, .violations = violations };
	/* A target of another dialect has a catalog, too. */
	bool has_catalog = request->catalog && catalog_dialect(request->catalog) == SQL_MONGODB;
	const struct catalog *catalog = has_catalog ? request->catalog : NULL;
	mongodb_check_command(&check, command);
	check_database(command, catalog, violations);
	analysis->names_resolved = catalog && !str_present(command->database);
	if (analysis->names_resolved)
		mongodb_resolve(command, catalog, arena, diagnostics);
	mongodb_check_required(command, request, arena, diagnostics);
	texts_unique(&check.collections);
	analysis->tables = check.collections.items;
	analysis->tables_count = check.collections.count;
	analysis->tables_known = true;
	if (mongodb_form_is_bounded(command)) {
		mongodb_canonical(command, arena, analysis);
	} else {
		analysis->canonical = analysis->text;
		violations_add(violations, VIOLATION_TOO_LONG, 0,
			       "its names are too long for how deep they stand");
	}
}

void sql_analyse_mongodb(const struct sql_request *request, struct arena *arena,
			 struct sql_analysis *ret_analysis)
{
	struct mongodb_command command;
	bool more = false;
	str_t sql = str_present(request->sql) ? request->sql : STR("");
	struct code_fence_result part = code_fence_unwrap(sql, SQL_MONGODB);
	struct diagnostics diagnostics = { .arena = arena };
	front_end_note_fence(&part, &diagnostics);
	str_t text = arena_text(arena, part.text.ptr, part.text.len);
	struct mongodb_reader reader = { .text = text, .arena = arena };
	bool read = mongodb_read_command(&reader, &command, &more);
	*ret_analysis = (struct sql_analysis){ .text = text, .text_offset = part.offset, .valid = read };
	struct violations violations = violations_begin(ret_analysis, arena);
	front_end_note_catalog(request, &diagnostics);
	if (!read)
		report_failure(&reader, more, text, &diagnostics, &violations);
	else if (command.verb == MONGODB_WRITE)
		violations_add(&violations, VIOLATION_NOT_A_READ, (int64_t)command.word_offset,
			       STR_FMT " is none of find, aggregate, count and distinct",
			       STR_ARG(command.word));
	else
		check(&command, request, arena, &diagnostics, &violations, ret_analysis);
	ret_analysis->diagnostics = diagnostics.items;
	ret_analysis->diagnostics_count = diagnostics.count;
	violations_end(&violations, request, ret_analysis);
}
