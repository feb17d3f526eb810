#include "support.h"

#include "avro/canonical.h"

#include <dirent.h>
#include <inttypes.h>

struct form_case {
	const char *schema;
	const char *form;
};

static void check_form(const char *json, str_t expected)
{
	_cleanup_(buf_free) struct buf form = BUF_INIT;
	struct schema *schema = parse_schema(json);
	canonical_form(schema, &form);
	schema_free(schema);
	if (!str_equal(buf_str(&form), expected))
		fail_msg("%s\n gives  %s\n not    " STR_FMT, json, form.data, STR_ARG(expected));
}

static void test_forms(void **state)
{
	(void)state;
	static const struct form_case CASES[] = {
		{ "\"int\"", "\"int\"" },
		{ "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", "\"long\"" },
		{ "[\"null\",{\"type\":\"string\"}]", "[\"null\",\"string\"]" },
		{ "{\"type\":\"enum\",\"name\":\"E\",\"namespace\":\"a.b\",\"doc\":\"d\",\"symbols\":[\"X\"]"
		  "}",
		  "{\"name\":\"a.b.E\",\"type\":\"enum\",\"symbols\":[\"X\"]}" },
		{ "{\"size\":2,\"aliases\":[\"G\"],\"name\":\"F\",\"type\":\"fixed\"}",
		  "{\"name\":\"F\",\"type\":\"fixed\",\"size\":2}" },
		{ "{\"values\":{\"items\":\"int\",\"type\":\"array\"},\"type\":\"map\"}",
		  "{\"type\":\"map\",\"values\":{\"type\":\"array\",\"items\":\"int\"}}" },
		/* a type is spelt out once, and named in full from then on */
		{ "{\"type\":\"record\",\"name\":\"n.R\",\"fields\":[{\"name\":\"a\",\"default\":null,"
		  "\"type\":"
		  "[\"null\",\"R\"]},{\"name\":\"b\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":1}}"
		  ","
		  "{\"name\":\"c\",\"type\":\"n.F\"}]}",
		  "{\"name\":\"n.R\",\"type\":\"record\",\"fields\":[{\"name\":\"a\",\"type\":[\"null\",\"n."
		  "R\"]},"
		  "{\"name\":\"b\",\"type\":{\"name\":\"n.F\",\"type\":\"fixed\",\"size\":1}},"
		  "{\"name\":\"c\",\"type\":\"n.F\"}]}" },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++)
		check_form(CASES[i].schema, str_from(CASES[i].form));
}

static void test_rabin(void **state)
{
	(void)state;
	assert_true(canonical_rabin("", 0) == 0xc15d213aa4d7a795u);
	/* the specification's reference implementation on "int" with its quotes */
	assert_true((int64_t)canonical_rabin("\"int\"", 5) == 8247732601305521295);
}

/* One of <<INPUT, <<canonical, <<fingerprint: the text behind the tag, to the end of the line or, where
 * nothing stands there, to a line of the tag's name. */
static str_t entry_of(const char **at, const char *tag)
{
	const char *end_of_line = strchr(*at, '\n');
	if (end_of_line && strspn(*at, " \t") < (size_t)(end_of_line - *at)) {
		str_t text = { *at, (size_t)(end_of_line - *at) };
		*at = end_of_line;
		return text;
	}
	const char *end = strstr(*at, tag);
	assert_non_null(end);
	str_t text = { *at, (size_t)(end - *at) };
	*at = end + strlen(tag);
	return text;
}

static str_t trimmed(str_t text)
{
	while (text.len > 0 && strchr(" \t\r\n", text.ptr[0])) {
		text.ptr++;
		text.len--;
	}
	while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]))
		text.len--;
	return text;
}

static void test_corpus(void **state)
{
	(void)state;
	const char *path = corpus_path("avro/share/test/data/schema-tests.txt");
	if (!path)
		skip();
	_cleanup_(buf_free) struct buf corpus = BUF_INIT;
	assert_true(read_whole_file(path, &corpus));
	_cleanup_(buf_free) struct buf input = BUF_INIT;
	size_t forms = 0, fingerprints = 0;
	for (const char *at = corpus.data; *at;) {
		const char *line = at;
		bool tagged = strncmp(line, "<<", 2) == 0;
		if (tagged && strncmp(line, "<<INPUT", 7) == 0) {
			at += 7;
			buf_reset(&input);
			buf_append_str(&input, trimmed(entry_of(&at, "\nINPUT")));
		} else if (tagged && strncmp(line, "<<canonical", 11) == 0) {
			at += 11;
			check_form(input.data, trimmed(entry_of(&at, "\ncanonical")));
			forms++;
		} else if (tagged && strncmp(line, "<<fingerprint", 13) == 0) {
			struct schema *schema = parse_schema(input.data);
			int64_t expected = strtoll(line + 13, NULL, 10);
			if ((int64_t)canonical_fingerprint(schema) != expected)
				fail_msg("%s has another fingerprint than %" PRId64, input.data, expected);
			schema_free(schema);
			fingerprints++;
		}
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	print_message("%zu canonical forms, %zu fingerprints\n", forms, fingerprints);
	assert_true(forms > 30 && fingerprints > 20);
}

static void check_folder(const char *name, err_t expected, size_t at_least)
{
	const char *folder = corpus_path(name);
	if (!folder)
		skip();
	DIR *directory = opendir(folder);
	assert_non_null(directory);
	size_t count = 0;
	for (const struct dirent *file; (file = readdir(directory));) {
		char path[2048];
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		if (file->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
		assert_true(read_whole_file(path, &text));
		struct schema *schema = NULL;
		err_t err = schema_parse(buf_str(&text), &schema, NULL);
		schema_free(schema);
		if ((err == ERR_OK) != (expected == ERR_OK))
			fail_msg("%s: %s", file->d_name, err_name(err));
		count++;
	}
	closedir(directory);
	assert_true(count >= at_least);
}

static void test_corpus_valid_schemas(void **state)
{
	(void)state;
	check_folder("avro/lang/c/tests/schema_tests/pass", ERR_OK, 20);
}

static void test_corpus_invalid_schemas(void **state)
{
	(void)state;
	check_folder("avro/lang/c/tests/schema_tests/fail", ERR_SCHEMA_INCOMPATIBLE, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_rabin),
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_corpus_valid_schemas),
		cmocka_unit_test(test_corpus_invalid_schemas),
	};
	return cmocka_run_group_tests_name("canonical", tests, NULL, NULL);
}
