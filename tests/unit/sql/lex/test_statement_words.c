/* The words that begin a statement are those of the grammars themselves; and no statement that stands beside
 * a query is ever taken for prose: every word, in every dialect, before and behind the query, in and outside
 * of fences, behind comments, with prose around it, in any case. MariaDB's own words: test_mysql_oracle.c. */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/lex/identifier.h"
#include "sql/lex/statement_words.h"
#include "sql/lex/texts.h"

#include "common/buf.h"

#include <ctype.h>
#include <pg_query.h>
#include <sqlite3.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const words[] = {
#define STATEMENT_WORD(word, postgresql, sqlite, mysql) word,
#include "sql/lex/statement_words.def"
#undef STATEMENT_WORD
};

static bool begins(const char *word, enum sql_dialect dialect)
{
	return statement_word(str_from(word), dialect) != STATEMENT_WORD_NONE;
}

/* PostgreSQL's parser stumbles over a bracket behind a word that begins a statement, else over the word. */
static void words_of_postgresql(void **state)
{
	(void)state;
	static const char *const keywords[] = {
#define PG_KEYWORD(word, symbol, category, label) word,
#include "parser/kwlist.h"
#undef PG_KEYWORD
	};
	size_t found = 0;
	for (size_t i = 0; i < COUNT(keywords); i++) {
		char text[64];
		snprintf(text, sizeof text, "%s ]", keywords[i]);
		PgQueryParseResult result = pg_query_parse(text);
		bool statement = !result.error || result.error->cursorpos != 1;
		pg_query_free_parse_result(result);
		found += statement;
		if (statement != begins(keywords[i], SQL_POSTGRESQL))
			fail_msg("%s begins a statement: %d", keywords[i], statement);
	}
	assert_true(found > 50);
}

static void words_of_sqlite(void **state)
{
	(void)state;
	sqlite3 *database;
	size_t found = 0;
	assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
	for (int i = 0; i < sqlite3_keyword_count(); i++) {
		const char *word;
		int length;
		assert_int_equal(sqlite3_keyword_name(i, &word, &length), SQLITE_OK);
		char text[64], name[64], refusal[128];
		snprintf(name, sizeof name, "%.*s", length, word);
		snprintf(text, sizeof text, "%s ]", name);
		snprintf(refusal, sizeof refusal, "near \"%s\": syntax error", name);
		sqlite3_stmt *statement = NULL;
		sqlite3_prepare_v2(database, text, -1, &statement, NULL);
		bool statement_word = strcmp(sqlite3_errmsg(database), refusal) != 0;
		sqlite3_finalize(statement);
		found += statement_word;
		if (statement_word != begins(name, SQL_SQLITE))
			fail_msg("%s begins a statement: %d", name, statement_word);
	}
	sqlite3_close(database);
	assert_true(found > 20);
}

static void case_does_not_matter(void **state)
{
	(void)state;
	assert_int_equal(statement_word(STR("Rename"), SQL_MYSQL), STATEMENT_WORD_OTHER);
	assert_int_equal(statement_word(STR("RENAME"), SQL_POSTGRESQL), STATEMENT_WORD_NONE);
	assert_int_equal(statement_word(STR("renames"), SQL_MYSQL), STATEMENT_WORD_NONE);
	assert_int_equal(statement_word(STR("sElEcT"), SQL_SQLITE), STATEMENT_WORD_READ);
	assert_int_equal(statement_word(STR(""), SQL_MYSQL), STATEMENT_WORD_NONE);
	assert_int_equal(statement_word(STR("select"), SQL_MONGODB), STATEMENT_WORD_NONE);
}

/* ---- beside a query ---- */

/* `@` stands for the query, `%` for the other statement. */
static const char *const places[] = {
	"@;\n%",
	"%;\n@",
	"@;\n\n%;",
	"@; %",
	"@;%",
	"%;@",
	"% ; @ ;",
	"@;\n;%",
	"@;\n(%)",
	"@;\n( (\n%",
	"@;\r\n%",
	"@;\r%",
	"@;\n\t%",
	"@;\f%",
	"@;\n\v%",
	"@;\n\xEF\xBB\xBF%",
	"@;\n\xC2\xA0%",
	"@;\nSo \xE2\x80\x8Bit is.\n\xE2\x80\x8B \xE3\x80\x80%",
	"@;\n \n \n%",
	"@;\n%;\nI hope this helps",
	"@;\nThis is it.\n%",
	"@;\nThis is it.\n%\nAnd more.",
	"@;\nThis; %",
	"@;\nThis is all;\n%",
	"@;\nThis is all; and\n%",
	"Here it is:\n%;\n@",
	"Here it is: %;\n@",
	"Here; %\n@",
	"Here;\n%;\n@;\nThanks.",
	"%\nHere it is:\n@",
	"%:\n@",
	"@;\n/**/%",
	"@;\n/* x */ %",
	"@;\n/* x\n*/%",
	"@;\n-- x\n%",
	"@;\n-- x\r\n%",
	"/* x */ %;\n@",
	"-- x\n%;\n@",
	"Here it is:\n/* x */ %;\n@",
	"```sql\n@\n```\n%",
	"```sql\n@;\n```\nThis is it.\n%\nDone.",
	"%\n```sql\n@\n```",
	"%;\n```sql\n@\n```",
	"Sure.\n%\n```sql\n@\n```",
	"```\n@;\n%\n```",
	"```\n%;\n@\n```",
	"```sql %\n@\n```",
	"```%\n@\n```",
	"@\n```\n%",
	"@;\n```\n%\n```",
	"@\n```\nThis is it.\n/**/ %",
	"```\n@;\n```\n```\n%;\n```",
	"`@`;\n%",
	"```sql\n@\n```\n/**/%",
	"```sql\n@\n```\nFirst; %",
	"```sql\n@\n```\n-- x\n%",
};

/* Places that hide a statement in MySQL alone. */
static const char *const places_of_mysql[] = {
	"@;\n# x\n%", "@;\n/*!%*/",	    "@;\n/*!50000 %*/",	    "@;\n/*M! %*/",
	"# x\n%;\n@", "@;\nThis is /*!%*/", "/*!%*/;\n@",	    "```sql\n@\n```\n/*! %*/",
	"@ /*!;%*/",  "@\n```\n/*!%*/",	    "@;\nSo: /*!99999 %*/",
};

/* What may follow the word. */
static const char *const objects[] = { "", " TABLE orders TO gone", " orders", " 'x', 2" };

static void fill(struct buf *text, const char *place, const char *word, const char *object)
{
	buf_reset(text);
	for (const char *at = place; *at; at++) {
		if (*at == '@')
			buf_append_str(text, STR("SELECT 1"));
		else if (*at == '%')
			buf_printf(text, "%s%s", word, object);
		else
			buf_append_char(text, *at);
	}
}

static bool is_safe(str_t sql, enum sql_dialect dialect)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	const struct sql_request request = { .sql = sql, .dialect = dialect };
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	return analysis.verdict == SQL_SAFE;
}

enum spelling { LOWER, UPPER, MIXED, SPELLINGS };

static void spell(const char *word, enum spelling spelling, char *ret_spelt)
{
	for (size_t i = 0; i <= strlen(word); i++)
		ret_spelt[i] = spelling == UPPER || (spelling == MIXED && i % 2 == 0)
				       ? (char)toupper((unsigned char)word[i])
				       : word[i];
}

static size_t texts, missed;

/* Without a semicolon a word that begins a query may be the beginning of this one: EXPLAIN in front of it, or
 * a code fence that is a quoted name to the grammar. */
static bool may_be_one_query(const char *place, const char *word, enum sql_dialect dialect)
{
	return !strchr(place, ';') && statement_word(str_from(word), dialect) == STATEMENT_WORD_READ;
}

static void beside(const char *place, const char *word, enum sql_dialect dialect)
{
	if (may_be_one_query(place, word, dialect))
		return;
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < COUNT(objects); i++) {
		for (enum spelling spelling = LOWER; spelling < SPELLINGS; spelling++) {
			char spelt[32];
			spell(word, spelling, spelt);
			fill(&text, place, spelt, objects[i]);
			texts++;
			if (!is_safe(buf_str(&text), dialect))
				continue;
			print_error("SAFE in dialect %d: " STR_FMT "\n", (int)dialect,
				    STR_ARG(buf_str(&text)));
			missed++;
		}
	}
	buf_free(&text);
}

static void nothing_beside_a_query_is_overlooked(void **state)
{
	(void)state;
	for (enum sql_dialect dialect = SQL_POSTGRESQL; dialect <= SQL_MYSQL; dialect++) {
		for (size_t i = 0; i < COUNT(words); i++) {
			if (!begins(words[i], dialect))
				continue;
			for (size_t j = 0; j < COUNT(places); j++)
				beside(places[j], words[i], dialect);
			for (size_t j = 0; dialect == SQL_MYSQL && j < COUNT(places_of_mysql); j++)
				beside(places_of_mysql[j], words[i], dialect);
		}
	}
	print_message("%zu texts\n", texts);
	assert_true(texts >= 20000);
	assert_int_equal(missed, 0);
}

static void names_are_compared_in_any_case(void **state)
{
	struct arena *arena = arena_new();
	(void)state;
	assert_true(identifier_same(STR("Größe"), STR("gRöße")) && identifier_same(STR(""), STR("")));
	assert_false(identifier_same(STR("GRÖSSE"), STR("größe")) || identifier_same(STR("a"), STR("ab")));
	assert_true(identifier_is(STR("Total"), "total"));
	assert_false(identifier_is(STR_NONE, "") || identifier_is(STR("total"), "tota"));
	assert_true(IDENTIFIER_IS_ANY(STR("SUM"), "count", "sum"));
	assert_false(IDENTIFIER_IS_ANY(STR("summ"), "count", "sum") || IDENTIFIER_IS_ANY(STR_NONE, "sum"));
	assert_string_equal(identifier_lower(STR("GRÖSSE_1"), arena).ptr, "grÖsse_1");
	arena_free(arena);
}

static void sets_of_texts_are_sorted(void **state)
{
	static const char *const added[] = { "b", "a", "ab", "b", "", "a", "B" };
	static const char *const kept[] = { "", "B", "a", "ab", "b" };
	struct arena *arena = arena_new();
	struct texts set = { 0 }, two = { 0 };
	(void)state;
	texts_unique(&set);
	assert_int_equal(set.count, 0);
	for (size_t i = 0; i < COUNT(added); i++)
		texts_add(arena, &set, str_from(added[i]));
	texts_unique(&set);
	assert_int_equal(set.count, COUNT(kept));
	for (size_t i = 0; i < COUNT(kept); i++)
		assert_string_equal(set.items[i].ptr, kept[i]);
	texts_add(arena, &two, STR("y"));
	texts_add(arena, &two, STR("x"));
	texts_sort(&two);
	assert_string_equal(two.items[0].ptr, "x");
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_postgresql),
		cmocka_unit_test(words_of_sqlite),
		cmocka_unit_test(case_does_not_matter),
		cmocka_unit_test(nothing_beside_a_query_is_overlooked),
		cmocka_unit_test(names_are_compared_in_any_case),
		cmocka_unit_test(sets_of_texts_are_sorted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
