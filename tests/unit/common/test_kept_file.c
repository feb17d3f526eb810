/* Files that are kept for the next start: as a whole or not at all. */
#include "common/kept_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/kept-file.XXXXXX";
static char path[64], fresh[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/file", folder);
	snprintf(fresh, sizeof fresh, "%s/file.new", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	unlink(fresh);
	rmdir(fresh);
	return rmdir(folder);
}

static void test_content_is_replaced(void **state)
{
	(void)state;
	static const str_t contents[] = { { "first", 5 }, { "a\0b", 3 }, { "x", 1 } };
	struct stat status;
	for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
		_cleanup_(buf_free) struct buf read = BUF_INIT;
		buf_append_text(&read, "before ");
		assert_int_equal(kept_file_write(path, contents[i], NULL), ERR_OK);
		assert_int_equal(kept_file_read(path, 5, &read, NULL), ERR_OK);
		assert_int_equal(read.len, 7 + contents[i].len);
		assert_memory_equal(read.data, "before ", 7);
		assert_memory_equal(read.data + 7, contents[i].ptr, contents[i].len);
		assert_int_equal(read.data[read.len], 0);
	}
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_not_equal(access(fresh, F_OK), 0);
}

static void test_former_content_stays(void **state)
{
	(void)state;
	struct err_detail detail = { "" };
	_cleanup_(buf_free) struct buf read = BUF_INIT;
	assert_int_equal(kept_file_write(path, STR("former"), NULL), ERR_OK);
	assert_int_equal(mkdir(fresh, 0700), 0);
	assert_int_equal(kept_file_write(path, STR("new"), &detail), ERR_IO);
	assert_non_null(strstr(detail.message, path));
	assert_int_equal(rmdir(fresh), 0);
	assert_int_equal(kept_file_read(path, 100, &read, NULL), ERR_OK);
	assert_string_equal(read.data, "former");
	assert_int_equal(kept_file_write("/no/such/folder/file", STR("x"), &detail), ERR_IO);
}

static void test_what_is_no_such_file(void **state)
{
	(void)state;
	struct err_detail detail = { "" };
	_cleanup_(buf_free) struct buf read = BUF_INIT;
	assert_int_equal(kept_file_write(path, STR("123456"), NULL), ERR_OK);
	assert_int_equal(kept_file_read(path, 5, &read, &detail), ERR_FILE_UNREADABLE);
	assert_non_null(strstr(detail.message, "no file of 1 to 5 bytes"));
	assert_int_equal(kept_file_read(folder, 5, &read, &detail), ERR_FILE_UNREADABLE);
	assert_int_equal(kept_file_read("/no/such", 5, &read, &detail), ERR_FILE_UNREADABLE);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(kept_file_read(path, 5, &read, &detail), ERR_FILE_UNREADABLE);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(kept_file_read(path, 5, &read, &detail), ERR_FILE_UNREADABLE); /* at once */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(kept_file_read(path, 1 << 20, &read, &detail), ERR_FILE_UNREADABLE);
	assert_int_equal(read.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content_is_replaced),
		cmocka_unit_test(test_former_content_stays),
		cmocka_unit_test(test_what_is_no_such_file),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
