/* The catalog of MySQL and MariaDB: from lines, and from a real MariaDB where there is one. */
#include "common/buf.h"
#include "sql/catalog/content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

static const char lines[] =
	"[\"column\", \"shop\", \"Users\", 2, \"Name\", \"VARCHAR\", \"YES\"]\n" /* in any order */
	"[\"format\", 2, \"shop\"]\n"
	"[\"schema\", \"shop\"]\n"
	"[\"key\", \"shop\", \"Users\", \"both\", 2, \"Id\", null]\n"
	"[\"relation\", \"shop\", \"Users\", \"BASE TABLE\"]\n"
	"[\"relation\", \"shop\", \"bare\", \"BASE TABLE\"]\n"
	"[\"relation\", \"other\", \"names\", \"VIEW\"]\n"
	"[\"column\", \"shop\", \"Users\", 1, \"Id\", \"int\", \"NO\"]\n"
	"[\"column\", \"other\", \"names\", 1, \"n\", \"text\", \"YES\"]\n"
	"[\"key\", \"shop\", \"Users\", \"PRIMARY\", 1, \"Id\", null]\n"
	"[\"key\", \"shop\", \"Users\", \"both\", 1, \"Name\", null]\n"
	"[\"key\", \"shop\", \"Users\", \"short\", 1, \"Name\", 10]\n"
	"[\"key\", \"shop\", \"Users\", \"computed\", 1, null, null]\n"
	"[\"view\", \"other\", \"names\", \"select 1\"]\n"
	"[\"parameter\", \"shop\", \"Twice\", \"FUNCTION\", 1, \"x\"]\n"
	"[\"routine\", \"shop\", \"Twice\", \"FUNCTION\", \"int\", \"YES\", \"NO SQL\", \"INVOKER\"]\n"
	"[\"routine\", \"shop\", \"looks\", \"FUNCTION\", \"text\", \"NO\", \"READS SQL DATA\", "
	"\"DEFINER\"]\n"
	"[\"routine\", \"shop\", \"any\", \"FUNCTION\", \"text\", \"YES\", \"CONTAINS SQL\", \"DEFINER\"]\n"
	"[\"routine\", \"shop\", \"writes\", \"FUNCTION\", \"text\", \"YES\", \"MODIFIES SQL DATA\", "
	"\"DEFINER\"]\n"
	"[\"routine\", \"shop\", \"looks\", \"PROCEDURE\", \"\", \"NO\", \"CONTAINS SQL\", \"DEFINER\"]";

static struct catalog *compile(str_t text)
{
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	if (catalog_compile_mysql(text, &catalog, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return catalog;
}

static void compiles_lines(void **state)
{
	(void)state;
	struct catalog *catalog = compile(str_from(lines));
	const struct catalog_relation *users = catalog_relation_on_path(catalog, STR("Users"));
	assert_non_null(users);
	assert_int_equal(catalog_dialect(catalog), SQL_MYSQL);
	assert_int_equal(users->columns_count, 2);
	assert_string_equal(users->columns[0].name.ptr, "Id");
	assert_string_equal(users->columns[1].type.ptr, "varchar");
	assert_int_equal(users->columns[0].category, TYPE_INTEGER);
	assert_int_equal(users->columns[1].category, TYPE_TEXT);
	assert_true(users->columns[0].not_null && users->columns[0].is_key);
	assert_false(users->columns[1].not_null || users->columns[1].is_key || users->is_system);
	assert_int_equal(users->keys_count, 2); /* neither over a prefix nor over an expression */
	assert_true(users->keys[0].is_primary);
	assert_true(users->keys[1].columns[0] == 1 && users->keys[1].columns[1] == 0);
	const struct catalog_relation *view = catalog_relation(catalog, STR("other"), STR("names"));
	assert_true(view->is_view && view->kind == 'v');
	assert_string_equal(view->definition.ptr, "select 1");
	assert_true(catalog_relation_on_path(catalog, STR("bare"))->is_open);
	assert_null(catalog_relation_on_path(catalog, STR("names")));
	assert_true(catalog_has_schema(catalog, STR("shop")));
	catalog_unref(catalog);
}

static char volatility_of(const struct catalog *catalog, const char *name, size_t overloads)
{
	size_t count;
	const struct catalog_function *const *functions =
		catalog_functions(catalog, STR_NONE, str_from(name), &count);
	assert_int_equal(count, overloads);
	for (size_t i = 0; i < count; i++) {
		if (functions[i]->kind == 'f')
			return functions[i]->volatility;
	}
	return '\0';
}

static void compiles_routines(void **state)
{
	(void)state;
	struct catalog *catalog = compile(str_from(lines));
	size_t count;
	assert_int_equal(volatility_of(catalog, "twice", 1), 'i');
	assert_int_equal(volatility_of(catalog, "looks", 2), 's');
	assert_int_equal(volatility_of(catalog, "any", 1), 'v');
	assert_int_equal(volatility_of(catalog, "writes", 1), 'v');
	const struct catalog_function *const *twice =
		catalog_functions(catalog, STR("shop"), STR("twice"), &count);
	assert_int_equal(twice[0]->arguments, 1);
	assert_string_equal(twice[0]->argument_names[0].ptr, "x");
	assert_string_equal(twice[0]->result.ptr, "int");
	assert_false(twice[0]->is_system || twice[0]->takes_row || twice[0]->is_security_definer);
	assert_true(catalog_function_accepts(twice[0], 1) && !catalog_function_accepts(twice[0], 2));
	catalog_unref(catalog);
}

/* As utf8mb3_general_ci compares them, or less strictly: no call of a routine is overlooked. */
static void finds_routines_as_the_server_does(void **state)
{
	static const struct {
		const char *schema, *name;
		size_t count;
	} calls[] = {
		{ NULL, "TWICE", 1 },	   { "shop", "tWice", 1 },	 { "SHOP", "twice", 1 },
		{ NULL, "tw\u00ecce", 3 }, { NULL, "tw\u00ecc", 1 },	 { "shop", "\u0175ipe", 1 },
		{ NULL, "ete", 1 },	   { NULL, "\u00c9t\u00c9", 1 }, { NULL, "wipe", 1 },
		{ NULL, "wipes", 0 },	   { "other", "twice", 0 },	 { "d\u00c9", "f", 1 },
		{ "d\u00e9", "F", 1 },
	};
	(void)state;
	struct catalog *catalog = compile(
		STR("[\"format\", 2, \"shop\"]\n"
		    "[\"routine\", \"shop\", \"Twice\", \"FUNCTION\", \"int\", \"YES\", \"NO SQL\", \"\"]\n"
		    "[\"routine\", \"shop\", \"other\", \"FUNCTION\", \"int\", \"YES\", \"NO SQL\", \"\"]\n"
		    "[\"routine\", \"shop\", \"third\", \"FUNCTION\", \"int\", \"YES\", \"NO SQL\", \"\"]\n"
		    "[\"routine\", \"shop\", \"wipe\", \"FUNCTION\", \"int\", \"YES\", \"NO SQL\", \"\"]\n"
		    "[\"routine\", \"shop\", \"\u00e9t\u00e9\", \"FUNCTION\", \"int\", \"YES\", \"NO SQL\", "
		    "\"\"]\n"
		    "[\"routine\", \"d\u00e9\", \"f\", \"FUNCTION\", \"int\", \"YES\", \"NO SQL\", \"\"]"));
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		size_t count;
		(void)catalog_functions(catalog, str_from(calls[i].schema), str_from(calls[i].name), &count);
		if (count != calls[i].count)
			fail_msg("%s: %zu", calls[i].name, count);
	}
	catalog_unref(catalog);
}

/* Lines in another order are the same catalog. */
static void digests_content(void **state)
{
	(void)state;
	struct catalog *one =
		compile(STR("[\"format\",2,\"a\"]\n[\"column\",\"a\",\"t\",1,\"x\",\"int\",\"NO\"]\n"
			    "[\"column\",\"a\",\"u\",1,\"x\",\"int\",\"NO\"]"));
	struct catalog *same =
		compile(STR("[\"column\",\"a\",\"u\",1,\"x\",\"int\",\"NO\"]\n[\"format\",2,\"a\"]\n"
			    "[\"column\",\"a\",\"t\",1,\"x\",\"int\",\"NO\"]\n"));
	struct catalog *other =
		compile(STR("[\"format\",2,\"a\"]\n[\"column\",\"a\",\"t\",1,\"x\",\"int\",\"YES\"]\n"
			    "[\"column\",\"a\",\"u\",1,\"x\",\"int\",\"NO\"]"));
	assert_string_equal(catalog_digest(one), catalog_digest(same));
	assert_string_not_equal(catalog_digest(one), catalog_digest(other));
	catalog_unref(one);
	catalog_unref(same);
	catalog_unref(other);
}

static void refuses_other_lines(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} wrong[] = {
		{ "", "catalog: not of format 2" },
		{ "[\"format\",1,\"a\"]", "catalog: line 1 is malformed" },
		{ "[\"format\",2,\"a\"]\n{}", "catalog: line 2 is malformed" },
		{ "[\"format\",2,\"a\"]\n[\"what\"]", "catalog: line 2 is malformed" },
		{ "[\"format\",2,\"a\"]\n\n", "catalog: line 2 is malformed" },
		{ "[\"column\",\"a\",\"t\",0,\"x\",\"int\",\"NO\"]", "catalog: line 1 is malformed" },
		{ "[\"column\",\"a\",\"t\",99999,\"x\",\"int\",\"NO\"]", "catalog: line 1 is malformed" },
		{ "[\"column\",\"a\",\"t\",1,null,\"int\",\"NO\"]", "catalog: line 1 is malformed" },
		{ "[\"schema\"]", "catalog: line 1 is malformed" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct catalog *catalog = NULL;
		struct err_detail detail = { "" };
		assert_int_equal(catalog_compile_mysql(str_from(wrong[i].text), &catalog, &detail),
				 ERR_CATALOG_SYNTAX);
		assert_string_equal(detail.message, wrong[i].message);
		assert_null(catalog);
	}
}

static void survives_mutations(void **state)
{
	static const char bytes[] = "0\"[]{}n,-\n\\9";
	char text[sizeof lines];
	size_t compiled = 0;
	(void)state;
	for (size_t at = 0; at < sizeof lines - 1; at++) {
		for (size_t b = 0; b < sizeof bytes; b++) {
			struct catalog *catalog = NULL;
			struct err_detail detail = { "" };
			memcpy(text, lines, sizeof lines);
			text[at] = bytes[b];
			str_t mutant = { text, b == sizeof bytes - 1 ? at : sizeof lines - 1 };
			if (catalog_compile_mysql(mutant, &catalog, &detail) == ERR_OK)
				compiled++;
			else
				assert_int_equal(strncmp(detail.message, "catalog: ", 9), 0);
			catalog_unref(catalog);
		}
	}
	assert_true(compiled > 0);
}

/* --- a real server --- */

static char directory[200], socket_path[200];

static int start_server(void)
{
	char command[512], line[256];
	snprintf(command, sizeof command, "exec %s/tests/harness/servers/mariadb.sh start --owner %ld",
		 ASSAYD_SOURCE_DIR, (long)getpid());
	FILE *pipe = popen(command, "r");
	if (!pipe)
		return 1;
	while (fgets(line, sizeof line, pipe)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "dir=", 4) == 0)
			snprintf(directory, sizeof directory, "%s", line + 4);
		if (strncmp(line, "socket=", 7) == 0)
			snprintf(socket_path, sizeof socket_path, "%s", line + 7);
	}
	int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* What the command-line client prints for the statements, which it reads from a file. */
static void run_client(const char *options, const char *statements, struct buf *ret_output)
{
	char command[800], path[300];
	snprintf(path, sizeof path, "%s/statements", directory);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(statements, file) >= 0);
	assert_int_equal(fclose(file), 0);
	snprintf(command, sizeof command, "mariadb --no-defaults -S %s -u root %s < %s", socket_path, options,
		 path);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	for (size_t got; (got = fread(buf_reserve(ret_output, 4096), 1, 4096, pipe)) > 0;)
		ret_output->len += got;
	assert_int_equal(pclose(pipe), 0);
}

static void reads_a_server(void **state)
{
	struct buf output = BUF_INIT;
	(void)state;
	int status = start_server();
	if (status == 77)
		skip();
	assert_int_equal(status, 0);
	run_client(
		"",
		"CREATE DATABASE shop; USE shop;"
		"CREATE TABLE users (Id INT PRIMARY KEY AUTO_INCREMENT, `E-Mail` VARCHAR(80) NOT NULL UNIQUE,"
		" note TEXT, UNIQUE KEY part (note(10)), price DECIMAL(10,2), at DATETIME);"
		"CREATE TABLE pairs (a INT, b BIGINT, c ENUM('x\"y'), PRIMARY KEY (b, a), UNIQUE KEY ab (a, "
		"c));"
		"CREATE VIEW cheap AS SELECT Id FROM users WHERE note = 'a\"b\\n';"
		"CREATE FUNCTION Twice(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN 2 * x;"
		"CREATE FUNCTION anything(a INT, b INT) RETURNS INT RETURN a;\n",
		&output);
	run_client("-N -r shop", CATALOG_QUERY_MYSQL, &output);
	struct catalog *catalog = compile(buf_str(&output));
	const struct catalog_relation *users = catalog_relation_on_path(catalog, STR("users"));
	assert_int_equal(users->columns_count, 5);
	assert_string_equal(users->columns[1].name.ptr, "E-Mail");
	assert_int_equal(users->columns[3].category, TYPE_NUMERIC);
	assert_int_equal(users->columns[4].category, TYPE_TEMPORAL);
	assert_int_equal(users->keys_count, 2);
	const struct catalog_relation *pairs = catalog_relation(catalog, STR("shop"), STR("pairs"));
	assert_true(pairs->keys[0].is_primary && pairs->keys[0].columns[0] == 1 &&
		    pairs->keys[0].columns[1] == 0);
	assert_non_null(strstr(catalog_relation_on_path(catalog, STR("cheap"))->definition.ptr, "a\"b\\n"));
	assert_int_equal(volatility_of(catalog, "twice", 1), 'i');
	assert_int_equal(volatility_of(catalog, "anything", 1), 'v');
	assert_false(catalog_has_schema(catalog, STR("mysql")));
	catalog_unref(catalog);
	buf_free(&output);
	char command[400];
	snprintf(command, sizeof command, "exec %s/tests/harness/servers/mariadb.sh stop %s",
		 ASSAYD_SOURCE_DIR, directory);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compiles_lines),      cmocka_unit_test(compiles_routines),
		cmocka_unit_test(digests_content),     cmocka_unit_test(finds_routines_as_the_server_does),
		cmocka_unit_test(refuses_other_lines), cmocka_unit_test(survives_mutations),
		cmocka_unit_test(reads_a_server),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
