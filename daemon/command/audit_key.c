#include "command/audit_key.h"

#include "audit/publish/key_file.h"

err_t audit_key_run(const char *name, const char *file, struct err_detail *detail)
{
	const char *path = file ? file : "audit-log.key";
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct note_key key;
	err_t err = key_file_make(path, str_from(name), &key, detail);
	if (err)
		return err;
	note_key_write(&key, &text);
	puts(text.data);
	fprintf(stderr,
		"The private key is in %s: move it to where audit.key_file looks for it, readable by the "
		"daemon "
		"alone.\nThe public key is the line on standard output: give it to whoever audits.\n",
		path);
	return ERR_OK;
}
