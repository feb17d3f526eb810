#include "audit/publish/key_file.h"

#include "common/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/random.h>
#include <sys/stat.h>

/* The next line that has something in it, without white space around it; false: there is none. */
static bool next_line(str_t *rest, str_t *ret_line)
{
	static const char white[] = " \t\r";
	while (rest->len > 0) {
		const char *end = memchr(rest->ptr, '\n', rest->len);
		size_t len = end ? (size_t)(end - rest->ptr) : rest->len, step = len + (end != NULL);
		str_t line = { rest->ptr, len };
		rest->ptr += step;
		rest->len -= step;
		while (line.len > 0 && strchr(white, line.ptr[0]))
			line.ptr++, line.len--;
		while (line.len > 0 && strchr(white, line.ptr[line.len - 1]))
			line.len--;
		*ret_line = line;
		if (line.len > 0 && line.ptr[0] != '#')
			return true;
	}
	return false;
}

static err_t read_signers(const char *path, str_t text, struct key_file *file, struct err_detail *detail)
{
	struct err_detail reason = { "" };
	str_t line;
	while (next_line(&text, &line)) {
		if (file->count == KEY_FILE_SIGNERS_MAX)
			return err_fail(detail, ERR_AUDIT_MALFORMED, "%s: more than %d keys", path,
					KEY_FILE_SIGNERS_MAX);
		struct note_signer *signer = &file->signers[file->count];
		err_t err = note_signer_parse(line, signer, &reason);
		if (err)
			return err_fail(detail, err, "%s: key %zu: %s; \"assayd audit key\" makes one", path,
					file->count + 1, err_message(err, &reason));
		file->count++;
		if (strcmp(signer->key.name, file->signers[0].key.name) != 0)
			return err_fail(detail, ERR_AUDIT_MALFORMED,
					"%s: keys of several names, \"%s\" and \"%s\": those that sign one "
					"log have one name",
					path, file->signers[0].key.name, signer->key.name);
	}
	return file->count ? ERR_OK
			   : err_fail(detail, ERR_AUDIT_MALFORMED, "%s: there is no key in it", path);
}

err_t key_file_read(const char *path, struct key_file *ret_file, struct err_detail *detail)
{
	_cleanup_(secret_free) char *text = NULL;
	ret_file->count = 0;
	err_t err = secret_read(path, &text, detail);
	if (!err)
		err = read_signers(path, str_from(text), ret_file, detail);
	if (err)
		key_file_wipe(ret_file);
	return err;
}

void key_file_wipe(struct key_file *file)
{
	OPENSSL_cleanse(file, sizeof *file);
}

/* ---- making ---- */

static err_t write_new(const char *path, const struct buf *text, struct err_detail *detail)
{
	_cleanup_(cleanup_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return err_fail(detail, ERR_IO,
				"%s: there is such a file already; a key is never written over another",
				path);
	if (fd < 0)
		return err_fail(detail, ERR_IO, "%s: %s", path, strerror(errno));
	if (fchmod(fd, 0600) != 0 || write(fd, text->data, text->len) != (ssize_t)text->len || fsync(fd) != 0)
		return err_fail(detail, ERR_IO, "%s: %s", path, strerror(errno));
	return ERR_OK;
}

err_t key_file_make(const char *path, str_t name, struct note_key *ret_key, struct err_detail *detail)
{
	unsigned char seed[NOTE_KEY_BYTES];
	struct note_signer signer;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed)
		return err_fail(detail, ERR_OS, "the system has no randomness: %s", strerror(errno));
	err_t err = note_signer_make(name, seed, &signer);
	OPENSSL_cleanse(seed, sizeof seed);
	if (err)
		return err_fail(detail, ERR_USAGE,
				"\"%.*s\" cannot name a key: 1 to %d bytes of UTF-8 without white space, "
				"control characters and '+'; a name of your domain is best, such as "
				"example.com/assayd",
				(int)(name.len < 60 ? name.len : 60), name.ptr, NOTE_NAME_MAX);
	buf_reserve(&text, 1024); /* so that no copy of it is left behind */
	note_signer_write(&signer, &text);
	buf_append_char(&text, '\n');
	err = write_new(path, &text, detail);
	if (!err)
		*ret_key = signer.key;
	OPENSSL_cleanse(text.data, text.len);
	note_signer_wipe(&signer);
	return err;
}

/* ---- trusted ones ---- */

static err_t add_trusted(str_t line, struct note_key *keys, size_t *count, struct err_detail *detail)
{
	if (*count == NOTE_KEYS_MAX)
		return err_fail(detail, ERR_USAGE, "more than %d keys to trust", NOTE_KEYS_MAX);
	err_t err = note_key_parse(line, &keys[*count], detail);
	if (!err)
		(*count)++;
	return err;
}

err_t key_file_trusted(const char *text, struct note_key *keys, size_t *count, struct err_detail *detail)
{
	_cleanup_(secret_free) char *content = NULL;
	struct err_detail reason = { "" };
	str_t line, rest;
	if (add_trusted(str_from(text), keys, count, &reason) == ERR_OK)
		return ERR_OK;
	if (access(text, F_OK) != 0) /* nor a file: what was wrong with the key */
		return err_fail(detail, ERR_USAGE, "--key: neither a file nor a public key: %s",
				reason.message);
	err_t err = secret_read(text, &content, detail);
	if (err)
		return err;
	rest = str_from(content);
	while (!err && next_line(&rest, &line)) {
		err = add_trusted(line, keys, count, &reason);
		if (err)
			err = err_fail(detail, err, "%s: %s", text, reason.message);
	}
	return err;
}
