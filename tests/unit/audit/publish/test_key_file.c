/* Files of keys: made once, private to their owner, read strictly, and never shown. */
#include "audit/publish/key_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[] = "/tmp/assayd-keys-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static const char *write_file(const char *name, const char *text)
{
	const char *path = in_folder(name);
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	return path;
}

static void private_text(const char *name, unsigned char seed_byte, char text[400])
{
	unsigned char seed[NOTE_KEY_BYTES];
	struct note_signer signer;
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	memset(seed, seed_byte, sizeof seed);
	assert_int_equal(note_signer_make(str_from(name), seed, &signer), ERR_OK);
	note_signer_write(&signer, &out);
	snprintf(text, 400, "%s", out.data);
}

static void a_key_is_made_once_and_only_its_owner_may_read_it(void **state)
{
	(void)state;
	struct note_key key, other;
	struct key_file file;
	struct stat status;
	struct err_detail detail = { "" };
	assert_int_equal(key_file_make(in_folder("made"), STR("example.com/a"), &key, &detail), ERR_OK);
	assert_int_equal(stat(in_folder("made"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(key_file_read(in_folder("made"), &file, &detail), ERR_OK);
	assert_int_equal(file.count, 1);
	assert_memory_equal(&file.signers[0].key, &key, sizeof key);
	key_file_wipe(&file);
	assert_int_equal(key_file_make(in_folder("made"), STR("example.com/a"), &other, &detail), ERR_IO);
	assert_int_equal(key_file_make(in_folder("second"), STR("example.com/a"), &other, &detail), ERR_OK);
	assert_memory_not_equal(key.public_key, other.public_key, sizeof key.public_key);
	assert_int_equal(key_file_make(in_folder("third"), STR("a b"), &other, &detail), ERR_USAGE);
	assert_int_equal(access(in_folder("third"), F_OK), -1);
}

static void several_keys_of_one_name_sign_together(void **state)
{
	(void)state;
	char first[400], second[400], other[400], text[1300];
	struct key_file file;
	struct err_detail detail = { "" };
	private_text("log", 1, first);
	private_text("log", 2, second);
	private_text("other", 3, other);
	snprintf(text, sizeof text, "# of 2026\n%s\r\n\n  %s\n", first, second);
	assert_int_equal(key_file_read(write_file("two", text), &file, &detail), ERR_OK);
	assert_int_equal(file.count, 2);
	assert_int_not_equal(file.signers[0].key.id, file.signers[1].key.id);
	key_file_wipe(&file);
	snprintf(text, sizeof text, "%s\n%s\n", first, other);
	assert_int_equal(key_file_read(write_file("mixed", text), &file, &detail), ERR_AUDIT_MALFORMED);
	assert_non_null(strstr(detail.message, "\"log\" and \"other\""));
	assert_int_equal(key_file_read(write_file("none", "# nothing\n"), &file, &detail),
			 ERR_AUDIT_MALFORMED);
	assert_int_equal(key_file_read(in_folder("absent"), &file, &detail), ERR_FILE_UNREADABLE);
	first[strlen(first) - 10] ^= 1;
	assert_int_equal(key_file_read(write_file("spoilt", first), &file, &detail), ERR_AUDIT_MALFORMED);
	assert_null(strstr(detail.message, first + 30));
}

static void trusted_keys_are_texts_or_files_of_them(void **state)
{
	(void)state;
	char text[400], both[900];
	struct note_signer signer;
	struct note_key keys[NOTE_KEYS_MAX];
	size_t count = 0;
	struct err_detail detail = { "" };
	_cleanup_(buf_free) struct buf key = BUF_INIT;
	private_text("log", 1, text);
	assert_int_equal(note_signer_parse(str_from(text), &signer, &detail), ERR_OK);
	note_key_write(&signer.key, &key);
	assert_int_equal(key_file_trusted(key.data, keys, &count, &detail), ERR_OK);
	assert_int_equal(count, 1);
	snprintf(both, sizeof both, "# both\n%s\n%s\n", key.data, key.data);
	assert_int_equal(key_file_trusted(write_file("public", both), keys, &count, &detail), ERR_OK);
	assert_int_equal(count, 3);
	assert_int_equal(key_file_trusted("log+00000000+AA", keys, &count, &detail), ERR_USAGE);
	assert_int_equal(key_file_trusted(write_file("private", text), keys, &count, &detail),
			 ERR_AUDIT_MALFORMED);
	assert_null(strstr(detail.message, text + 20));
	count = NOTE_KEYS_MAX;
	assert_int_not_equal(key_file_trusted(in_folder("public"), keys, &count, &detail), ERR_OK);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	static const char *const names[] = { "made", "second", "two",	 "mixed",
					     "none", "spoilt", "public", "private" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(in_folder(names[i]));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_made_once_and_only_its_owner_may_read_it),
		cmocka_unit_test(several_keys_of_one_name_sign_together),
		cmocka_unit_test(trusted_keys_are_texts_or_files_of_them),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
