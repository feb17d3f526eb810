/* The file of checkpoints: only ever appended to, and read whatever an interrupted append has left behind. */
#include "audit/publish/checkpoint_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#define NOTE(name) name "\n1\nAAAA\n\n\xe2\x80\x94 key sig" name "\n"

static void notes_are_found_between_fragments(void **state)
{
	(void)state;
	static const struct {
		const char *text, *notes[3];
		unsigned fragments;
	} cases[] = {
		{ "", { NULL }, 0 },
		{ "\n\n\n", { NULL }, 0 },
		{ NOTE("a"), { NOTE("a") }, 0 },
		{ NOTE("a") "\n" NOTE("b") "\n", { NOTE("a"), NOTE("b") }, 0 },
		{ "\n\n" NOTE("a") "\n\n\n" NOTE("b"), { NOTE("a"), NOTE("b") }, 0 },
		{ "a\n1\nAA\n\n" NOTE("b") "\n", { NOTE("b") }, 1 },	 /* torn in the text */
		{ "a\n1\nAA\n\n\n\n" NOTE("b") "\n", { NOTE("b") }, 1 }, /* before the signatures */
		{ NOTE("a") "\n" NOTE("b") "\nc\n1\n", { NOTE("a"), NOTE("b") }, 1 }, /* at the end */
		{ "\xe2\x80\x94 key sig\n\n" NOTE("b") "\n", { NOTE("b") }, 1 }, /* signatures of nothing */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		str_t rest = str_from(cases[i].text), note;
		unsigned fragments = 0;
		for (size_t n = 0; cases[i].notes[n]; n++) {
			assert_true(checkpoint_file_next(&rest, &note, &fragments));
			assert_true(str_is(note, cases[i].notes[n]));
		}
		assert_false(checkpoint_file_next(&rest, &note, &fragments));
		assert_int_equal(fragments, cases[i].fragments);
	}
}

static void appending_closes_off_what_was_torn(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-checkpoints-XXXXXX", path[64];
	struct err_detail detail = { "" };
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	str_t note;
	unsigned fragments = 0;
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
	assert_int_equal(checkpoint_file_read(path, &text, &detail), ERR_OK);
	str_t rest = buf_str(&text);
	for (const char *name = "abc"; *name; name++) {
		assert_true(checkpoint_file_next(&rest, &note, &fragments));
		assert_int_equal(note.ptr[0], *name);
	}
	assert_false(checkpoint_file_next(&rest, &note, &fragments));
	assert_int_equal(fragments, 1);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0); /* a link is not followed */
	assert_int_equal(checkpoint_file_append(path, STR(NOTE("a")), &detail), ERR_IO);
	unlink(path);
	assert_int_equal(checkpoint_file_read(path, &text, &detail), ERR_FILE_UNREADABLE);
	rmdir(folder);
	assert_int_equal(checkpoint_file_append(path, STR(NOTE("a")), &detail), ERR_IO);
	assert_int_equal(checkpoint_file_append("/dev/full", STR(NOTE("a")), &detail), ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_are_found_between_fragments),
		cmocka_unit_test(appending_closes_off_what_was_torn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
