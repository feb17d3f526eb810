/* The file of checkpoints: only ever appended to, and read whatever an interrupted append has left behind. */
#include "audit/publish/checkpoint_file.h"

#include "audit/publish/checkpoint_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#define NOTE(name) name "\n1\nAAAA\n\n\xe2\x80\x94 key sig" name "\n"

static void appending_closes_off_what_was_torn(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-checkpoints-XXXXXX", path[64];
	struct err_detail detail = { "" };
	struct checkpoint_reader *reader;
	struct checkpoint_reader_item item;
	bool there = true;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/file", folder);
	assert_int_equal(checkpoint_file_try(path, &there, &detail), ERR_OK);
	assert_false(there);
	assert_int_equal(checkpoint_file_try("/tmp/there/is/no/such", &there, &detail), ERR_IO);
	assert_int_equal(checkpoint_file_try(folder, &there, &detail), ERR_IO);
	assert_non_null(strstr(detail.message, "a directory"));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(checkpoint_file_append(path, STR(NOTE("a")), &detail), ERR_IO);
	assert_non_null(strstr(detail.message, "no regular file"));
	unlink(path);
	assert_int_equal(checkpoint_file_append(path, STR(NOTE("a")), &detail), ERR_OK);
	FILE *file = fopen(path, "ae");
	assert_non_null(file);
	fputs("b\n1\nAA", file); /* the power failed */
	fclose(file);
	assert_int_equal(checkpoint_file_append(path, STR(NOTE("b")), &detail), ERR_OK);
	assert_int_equal(checkpoint_file_append(path, STR(NOTE("c")), &detail), ERR_OK);
	assert_int_equal(checkpoint_reader_open(path, &reader, &detail), ERR_OK);
	for (const char *name = "abbc"; *name; name++) {
		assert_int_equal(checkpoint_reader_next(reader, &item, &detail), ERR_OK);
		assert_int_equal(item.text.ptr[0], *name);
		assert_int_equal(item.kind == CHECKPOINT_READER_NOTE, !str_is(item.text, "b\n1\nAA\n"));
	}
	assert_int_equal(checkpoint_reader_next(reader, &item, &detail), ERR_OK);
	assert_int_equal(item.kind, CHECKPOINT_READER_END);
	checkpoint_reader_free(reader);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0); /* a link is not followed */
	assert_int_equal(checkpoint_file_append(path, STR(NOTE("a")), &detail), ERR_IO);
	unlink(path);
	rmdir(folder);
	assert_int_equal(checkpoint_file_append(path, STR(NOTE("a")), &detail), ERR_IO);
	assert_int_equal(checkpoint_file_append("/dev/full", STR(NOTE("a")), &detail), ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appending_closes_off_what_was_torn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
