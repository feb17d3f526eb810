/* Notes of a file of checkpoints, whatever lies between them, and however large it is. */
#include "audit/publish/checkpoint_reader.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MARK	   "\xe2\x80\x94 "
#define NOTE(name) name "\n1\nAAAA\n\n" MARK "key sig" name "\n"

static char path[64];

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "/tmp/assayd-checkpoints-XXXXXX");
	int fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(str_t text)
{
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text.ptr, 1, text.len, file), text.len);
	assert_int_equal(fclose(file), 0);
}

static struct checkpoint_reader *open_file(void)
{
	struct checkpoint_reader *reader = NULL;
	struct err_detail detail = { "" };
	assert_int_equal(checkpoint_reader_open(path, &reader, &detail), ERR_OK);
	return reader;
}

/* What is read, as "N" and "F" with what it begins with, and "." behind the last. */
static void describe(const char *name, str_t text, const char *expected)
{
	_cleanup_(checkpoint_reader_cleanup) struct checkpoint_reader *reader = NULL;
	_cleanup_(buf_free) struct buf found = BUF_INIT;
	struct checkpoint_reader_item item;
	write_file(text);
	reader = open_file();
	while (checkpoint_reader_next(reader, &item, NULL) == ERR_OK && item.kind != CHECKPOINT_READER_END) {
		buf_printf(&found, "%c%c%s", item.kind == CHECKPOINT_READER_NOTE ? 'N' : 'F',
			   (unsigned char)item.text.ptr[0] < 0x80 ? item.text.ptr[0] : '!',
			   item.is_last ? "." : "");
		assert_memory_equal(text.ptr + item.at, item.text.ptr, item.text.len);
	}
	if (strcmp(found.len ? found.data : "", expected) != 0)
		fail_msg("%s: %s, expected %s", name, found.len ? found.data : "", expected);
}

static void notes_are_found_between_fragments(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text, *found;
	} cases[] = {
		{ "nothing", "", "" },
		{ "empty lines", "\n\n\n", "" },
		{ "one", NOTE("a"), "Na." },
		{ "one, closed off", NOTE("a") "\n", "Na." },
		{ "two", NOTE("a") "\n" NOTE("b") "\n", "NaNb." },
		{ "many empty lines", "\n\n" NOTE("a") "\n\n\n" NOTE("b"), "NaNb." },
		{ "torn in the text", "a\n1\nAA\n\n" NOTE("b") "\n", "FaNb." },
		{ "torn before the signatures", "a\n1\nAA\n\n\n\n" NOTE("b") "\n", "FaNb." },
		{ "torn in the mark", "a\n1\nAA\n\n\xe2\x80\n\n" NOTE("b") "\n", "FaNb." },
		{ "torn behind the mark", "a\n1\nAA\n\n" MARK "\n\n" NOTE("b") "\n", "NaNb." },
		{ "torn in a signature", "a\n1\nAA\n\n" MARK "ke\n\n" NOTE("b") "\n", "NaNb." },
		{ "torn at the end", NOTE("a") "\n" NOTE("b") "\nc\n1\n", "NaNbFc." },
		{ "torn at the end behind the text",
		  NOTE("a") "\n"
			    "c\n1\nAA\n\n",
		  "NaFc." },
		{ "torn at the end in the mark",
		  NOTE("a") "\n"
			    "c\n1\nAA\n\n\xe2",
		  "NaFc." },
		{ "torn at the end in a signature",
		  NOTE("a") "\n"
			    "c\n1\nAA\n\n" MARK "key",
		  "NaNc." },
		{ "signatures of nothing", MARK "key sig\n\n" NOTE("b") "\n", "F!Nb." },
		{ "garbage", NOTE("a") "\nxyz\n\n" NOTE("b"), "NaFxNb." },
		{ "garbage of two blocks", NOTE("a") "\nxyz\n\nuvw\n\n" NOTE("b"), "NaFxFuNb." },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		describe(cases[i].name, str_from(cases[i].text), cases[i].found);
}

/* Pieces are read, whose borders lie anywhere in a note. */
static void a_large_file_is_read_piece_by_piece(void **state)
{
	(void)state;
	enum { NOTES = 40000 };
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	_cleanup_(checkpoint_reader_cleanup) struct checkpoint_reader *reader = NULL;
	struct checkpoint_reader_item item;
	for (int i = 0; i < NOTES; i++)
		buf_printf(&text, "log\n%d\nAAAA\n\n" MARK "key signature\n\n", i);
	write_file(buf_str(&text));
	reader = open_file();
	for (int i = 0; i < NOTES; i++) {
		assert_int_equal(checkpoint_reader_next(reader, &item, NULL), ERR_OK);
		assert_true(item.kind == CHECKPOINT_READER_NOTE && strtol(item.text.ptr + 4, NULL, 10) == i);
		assert_int_equal(item.is_last, i == NOTES - 1);
	}
	assert_int_equal(checkpoint_reader_next(reader, &item, NULL), ERR_OK);
	assert_int_equal(item.kind, CHECKPOINT_READER_END);
}

/* One without empty lines has no notes, and is not in memory as a whole. */
static void a_file_that_is_none_is_read_in_fragments(void **state)
{
	(void)state;
	enum { BYTES = 5 << 20 };
	_cleanup_(cleanup_free) char *text = malloc(BYTES);
	_cleanup_(checkpoint_reader_cleanup) struct checkpoint_reader *reader = NULL;
	struct checkpoint_reader_item item;
	size_t total = 0;
	assert_non_null(text);
	memset(text, 'x', BYTES);
	write_file((str_t){ text, BYTES });
	reader = open_file();
	while (checkpoint_reader_next(reader, &item, NULL) == ERR_OK && item.kind != CHECKPOINT_READER_END) {
		assert_int_equal(item.kind, CHECKPOINT_READER_FRAGMENT);
		assert_true(item.text.len < 1 << 20);
		total += item.text.len;
	}
	assert_int_equal(total, BYTES);
}

static void what_cannot_be_read_is_an_error(void **state)
{
	(void)state;
	struct checkpoint_reader *reader;
	struct checkpoint_reader_item item;
	struct err_detail detail = { "" };
	assert_int_equal(checkpoint_reader_open("/nowhere/file", &reader, &detail), ERR_FILE_UNREADABLE);
	assert_int_equal(checkpoint_reader_open("/tmp", &reader, &detail), ERR_OK);
	assert_int_equal(checkpoint_reader_next(reader, &item, &detail), ERR_FILE_UNREADABLE);
	assert_non_null(strstr(detail.message, "/tmp: "));
	checkpoint_reader_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_are_found_between_fragments),
		cmocka_unit_test(a_large_file_is_read_piece_by_piece),
		cmocka_unit_test(a_file_that_is_none_is_read_in_fragments),
		cmocka_unit_test(what_cannot_be_read_is_an_error),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
