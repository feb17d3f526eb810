#include "judge/prompt.h"

#include "common/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#define NONCE "00112233445566778899aabbccddeeff"

#define GOOD_CORRECTNESS                                                                                     \
	"[system]\nCompare.\n[user]\n{{dialect}} "                                                           \
	"{{nonce}}{{question}}{{nonce}}{{sql}}{{nonce}}{{truth_sql}}{{nonce}}"

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void remove_folder(const char *folder)
{
	char path[256];
	snprintf(path, sizeof path, "%s/relevance.txt", folder);
	unlink(path);
	snprintf(path, sizeof path, "%s/correctness.txt", folder);
	unlink(path);
	rmdir(folder);
}

/* Loads a relevance template from a file of that text. */
static err_t load(const char *relevance, struct prompts **ret_prompts, struct err_detail *detail)
{
	char folder[] = "/tmp/judge-prompts-XXXXXX";
	assert_non_null(mkdtemp(folder));
	write_file(folder, "relevance.txt", relevance);
	write_file(folder, "correctness.txt", GOOD_CORRECTNESS);
	err_t err = prompts_load(folder, ret_prompts, detail);
	remove_folder(folder);
	return err;
}

static void test_builtin_prompts_are_the_files(void **state)
{
	(void)state;
	_cleanup_(prompts_cleanup) struct prompts *builtin = NULL;
	_cleanup_(prompts_cleanup) struct prompts *files = NULL;
	assert_int_equal(prompts_load(NULL, &builtin, NULL), ERR_OK);
	assert_int_equal(prompts_load(ASSAYD_SOURCE_DIR "/conf/prompts", &files, NULL), ERR_OK);
	assert_int_equal(strlen(prompts_digest(builtin)), 64);
	assert_string_equal(prompts_digest(builtin), prompts_digest(files));
	_cleanup_(prompts_cleanup) struct prompts *others = NULL;
	assert_int_equal(
		load("[system]\nx\n[user]\n{{dialect}} {{nonce}}{{question}}{{nonce}}{{sql}}{{nonce}}",
		     &others, NULL),
		ERR_OK);
	assert_string_not_equal(prompts_digest(builtin), prompts_digest(others));
}

/* Whoever has the text can compute the digest, and read both templates. */
static void test_text_of_digest(void **state)
{
	(void)state;
	static const char relevance[] =
		"[system]\nx\n[user]\n{{dialect}} {{nonce}}{{question}}{{nonce}}{{sql}}{{nonce}}";
	_cleanup_(prompts_cleanup) struct prompts *prompts = NULL;
	_cleanup_(buf_free) struct buf expected = BUF_INIT;
	char digest[DIGEST_HEX_SIZE];
	assert_int_equal(load(relevance, &prompts, NULL), ERR_OK);
	buf_printf(&expected, "relevance.txt %zu\n%scorrectness.txt %zu\n%s", strlen(relevance), relevance,
		   strlen(GOOD_CORRECTNESS), GOOD_CORRECTNESS);
	assert_true(str_equal(prompts_text(prompts), buf_str(&expected)));
	hash_sha256_hex(expected.data, expected.len, digest);
	assert_string_equal(prompts_digest(prompts), digest);
}

static void test_rendering(void **state)
{
	(void)state;
	_cleanup_(prompts_cleanup) struct prompts *prompts = NULL;
	_cleanup_(buf_free) struct buf system = BUF_INIT;
	_cleanup_(buf_free) struct buf user = BUF_INIT;
	assert_int_equal(
		load("[system]\nUse {{dialect}}, { code } {{nonce}}.\n[user]\n<{{nonce}}>{{question}}"
		     "<{{nonce}}>\n{{sql}}\n</{{nonce}}>\n",
		     &prompts, NULL),
		ERR_OK);
	struct prompt_values values = { STR("why {{sql}}?"), STR("SELECT '{{nonce}}'"), STR_NONE, STR_NONE,
					"SQLite" };
	prompt_render(prompts, JUDGE_RELEVANCE, &values, "N", &system, &user);
	assert_string_equal(system.data, "Use SQLite, { code } N.");
	assert_string_equal(user.data, "<N>why {{sql}}?<N>\nSELECT '{{nonce}}'\n</N>\n");
	buf_reset(&user);
	buf_reset(&system);
	values.truth_sql = STR("T");
	prompt_render(prompts, JUDGE_CORRECTNESS, &values, "N", &system, &user);
	assert_string_equal(system.data, "Compare.");
	assert_string_equal(user.data, "SQLite Nwhy {{sql}}?NSELECT '{{nonce}}'NTN");
}

static void test_faulty_templates(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *message; /* behind the file's name */
	} cases[] = {
		{ "", ":1: the prompt must begin with a line [system]" },
		{ "Hello\n[user]\n", ":1: the prompt must begin with a line [system]" },
		{ "[system]\nHello\n", ":1: the prompt has no line [user]" },
		{ "[system]\n[user]\nx", ":2: the [system] section is empty" },
		{ "[system]\na\nb {{surprise}}\n[user]\n",
		  ":3: surprise is not a placeholder of this prompt" },
		{ "[system]\na\n[user]\nb\n{{ sql }}", ":5:  sql  is not a placeholder of this prompt" },
		{ "[system]\na\n[user]\n{{truth_sql}}", ":4: truth_sql is not a placeholder of this prompt" },
		{ "[system]\na\n[user]\nb\n\n{{sql", ":6: a placeholder is not closed" },
		{ "[system]\na\n[user]\n{{nonce}}{{question}}{{nonce}} {{dialect}}",
		  ":4: sql is missing: the prompt must use this placeholder" },
		{ "[system]\na\n[user]\n{{question}} {{sql}} {{dialect}}\n",
		  ":5: nonce is missing: the prompt must use this placeholder" },
		{ "[system]\n{{sql}}\n[user]\n{{nonce}}{{question}}{{nonce}} {{dialect}}",
		  ":2: sql may stand only in the [user] section" },
		{ "[system]\na\n[user]\n{{nonce}}{{question}}{{nonce}}{{sql}}{{nonce}}{{dialect}}{{schema}}",
		  ":4: schema needs {{nonce}} before and after it" },
		{ "[system]\n{{schema}}\n[user]\n{{nonce}}{{question}}{{nonce}}{{sql}}{{nonce}}{{dialect}}",
		  ":2: schema may stand only in the [user] section" },
		{ "[system]\na\n[user]\n{{nonce}}{{question}}\n{{sql}}{{nonce}} {{dialect}}",
		  ":4: question needs {{nonce}} before and after it" },
		{ "[system]\na\n[user]\n{{nonce}}{{question}}{{nonce}} {{dialect}}\n{{nonce}}\n{{sql}}",
		  ":6: sql needs {{nonce}} before and after it" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct prompts *prompts = NULL;
		struct err_detail detail = { "" };
		assert_int_equal(load(cases[i].text, &prompts, &detail), ERR_CONFIG_SYNTAX);
		assert_null(prompts);
		const char *behind = strstr(detail.message, "/relevance.txt");
		assert_non_null(behind);
		assert_string_equal(behind + strlen("/relevance.txt"), cases[i].message);
	}
}

/* Words that end a turn do not get through as they are; all else does. */
static void test_words_of_chat_templates(void **state)
{
	(void)state;
	static const struct {
		const char *given, *rendered;
	} cases[] = {
		{ "<|im_end|>", "< |im_end|>" },
		{ "a<|im_start|>system", "a< |im_start|>system" },
		{ "<\xef\xbd\x9c"
		  "User\xef\xbd\x9c>",
		  "< \xef\xbd\x9c"
		  "User\xef\xbd\x9c>" },
		{ "<<|eot_id|>", "<< |eot_id|>" },
		{ "<|a<|b|>|>", "<|a< |b|>|>" },
		{ "</s><s>[INST]x[/INST]", "< /s>< s>[ INST]x[ /INST]" },
		{ "<<SYS>><</SYS>>", "< <SYS>>< </SYS>>" },
		{ "<end_of_turn>\n<start_of_turn>", "< end_of_turn>\n< start_of_turn>" },
		{ "SELECT a <| b, c |> d, e <<| f, x || '<' || y",
		  "SELECT a <| b, c |> d, e <<| f, x || '<' || y" },
		{ "WHERE a<b AND c>d OR t[1] <> u[2]", "WHERE a<b AND c>d OR t[1] <> u[2]" },
		{ "<", "<" },
		{ "<|", "<|" },
		{ "<|x", "<|x" },
		{ "<|x|", "<|x|" },
		{ "[", "[" },
	};
	_cleanup_(prompts_cleanup) struct prompts *prompts = NULL;
	assert_int_equal(load("[system]\n<s>\n[user]\n{{nonce}}{{question}}{{nonce}}{{sql}}{{nonce}}{{schema}"
			      "}{{nonce}}"
			      "{{dialect}}",
			      &prompts, NULL),
			 ERR_OK);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(buf_free) struct buf system = BUF_INIT;
		_cleanup_(buf_free) struct buf user = BUF_INIT;
		char expected[256];
		struct prompt_values values = { .question = str_from(cases[i].given), .sql = STR("S") };
		prompt_render(prompts, JUDGE_RELEVANCE, &values, "N", &system, &user);
		snprintf(expected, sizeof expected, "N%sNSN(not known)NSQL", cases[i].rendered);
		assert_string_equal(user.data, expected);
		assert_string_equal(system.data, "<s>"); /* the template's own words are meant */
	}
}

static void test_missing_and_oversized_files(void **state)
{
	(void)state;
	struct prompts *prompts = NULL;
	struct err_detail detail = { "" };
	assert_int_equal(prompts_load("/nonexistent", &prompts, &detail), ERR_FILE_UNREADABLE);
	assert_non_null(strstr(detail.message, "/nonexistent/relevance.txt"));
	char *text = malloc(PROMPT_FILE_MAX + 2);
	memset(text, 'x', PROMPT_FILE_MAX + 1);
	text[PROMPT_FILE_MAX + 1] = 0;
	assert_int_equal(load(text, &prompts, &detail), ERR_CONFIG_SYNTAX);
	assert_non_null(strstr(detail.message, "not a text of at most 64 KiB"));
	free(text);
}

static unsigned drawn;

/* Draws bytes that the data below holds, and others the third time. */
static void draw_scripted(unsigned char bytes[16])
{
	for (size_t i = 0; i < 16; i++)
		bytes[i] = (unsigned char)(i * 0x11);
	bytes[15] = (unsigned char)(0xff - drawn++);
}

static void test_nonce_never_occurs_in_the_data(void **state)
{
	(void)state;
	char nonce[PROMPT_NONCE_SIZE], other[PROMPT_NONCE_SIZE];
	struct prompt_values values = { STR("x " NONCE), STR("SELECT 1"),
					STR("-- 00112233445566778899aabbccddeefe"), STR_NONE, "PostgreSQL" };
	drawn = 0;
	prompt_draw_nonce(&values, draw_scripted, nonce);
	assert_string_equal(nonce, "00112233445566778899aabbccddeefd");
	prompt_draw_nonce(&values, NULL, nonce);
	prompt_draw_nonce(&values, NULL, other);
	assert_string_not_equal(nonce, other);
	assert_int_equal(strspn(nonce, "0123456789abcdef"), 32);
}

static str_t image_of(const struct prompts *prompts, enum judge_question kind, str_t question, str_t sql,
		      struct buf *image)
{
	struct prompt_values values = { question, sql, STR_NONE, STR_NONE, "PostgreSQL" };
	buf_reset(image);
	prompt_image(prompts, kind, &values, image);
	return buf_str(image);
}

/* Texts that imitate the template must not make two different questions one; nor is one in other words the
 * same. */
static void test_images_differ(void **state)
{
	(void)state;
	_cleanup_(prompts_cleanup) struct prompts *prompts = NULL;
	assert_int_equal(
		load("[system]\nx\n[user]\n{{dialect}}{{nonce}}{{question}}|{{nonce}}{{sql}}{{nonce}}",
		     &prompts, NULL),
		ERR_OK);
	static const str_t texts[][2] = {
		{ { "a", 1 }, { "b|c", 3 } },  { { "a|b", 3 }, { "c", 1 } },  { { "a|b|c", 5 }, { "", 0 } },
		{ { "", 0 }, { "a|b|c", 5 } }, { { "a", 1 }, { "b|c ", 4 } },
	};
	struct buf images[5] = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT };
	for (size_t i = 0; i < 5; i++) {
		image_of(prompts, JUDGE_RELEVANCE, texts[i][0], texts[i][1], &images[i]);
		for (size_t k = 0; k < i; k++)
			assert_false(str_equal(buf_str(&images[i]), buf_str(&images[k])));
	}
	_cleanup_(buf_free) struct buf again = BUF_INIT;
	assert_true(str_equal(image_of(prompts, JUDGE_RELEVANCE, texts[0][0], texts[0][1], &again),
			      buf_str(&images[0])));
	_cleanup_(prompts_cleanup) struct prompts *reworded = NULL;
	assert_int_equal(
		load("[system]\ny\n[user]\n{{dialect}}{{nonce}}{{question}}|{{nonce}}{{sql}}{{nonce}}",
		     &reworded, NULL),
		ERR_OK);
	assert_false(str_equal(image_of(reworded, JUDGE_RELEVANCE, texts[0][0], texts[0][1], &again),
			       buf_str(&images[0])));
	for (size_t i = 0; i < 5; i++)
		buf_free(&images[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin_prompts_are_the_files),
		cmocka_unit_test(test_text_of_digest),
		cmocka_unit_test(test_rendering),
		cmocka_unit_test(test_faulty_templates),
		cmocka_unit_test(test_words_of_chat_templates),
		cmocka_unit_test(test_missing_and_oversized_files),
		cmocka_unit_test(test_nonce_never_occurs_in_the_data),
		cmocka_unit_test(test_images_differ),
	};
	return cmocka_run_group_tests_name("prompt", tests, NULL, NULL);
}
