#include "calibration/learn/model_file.h"

#include "common/hash.h"
#include "common/kept_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

/* A line with the digests of where the model comes from and of all that follows; a line of what is known of
 * it, its rules last; the document. */
#define HEADER "assayd-model 1 "
#define FACTS  "%" SCNd64 " %" SCNd64 " %d %" SCNd64 " %lf %lf %lf %lf %lf %lf %lf %lf %lf %" SCNd64 "%n"

enum { FACTS_COUNT = 14, LINE_BYTES = 512 + MODEL_RULES_MAX };

void model_file_path(const char *directory, enum model_kind kind, struct buf *out)
{
	buf_printf(out, "%s/model-%s", directory, model_kind_name(kind));
}

static void append_header(const char *dsn, str_t content, struct buf *out)
{
	char origin[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
	hash_sha256_hex(dsn, strlen(dsn), origin);
	hash_sha256_hex(content.ptr, content.len, digest);
	buf_printf(out, HEADER "%s %s\n", origin, digest);
}

static void append_facts(const struct model *model, const struct model_known *known, struct buf *out)
{
	const struct model_info *info = model_info(model);
	const struct model_quality *quality = &info->quality;
	const double numbers[] = { quality->log_loss,  quality->log_loss_constant, quality->auroc,
				   quality->auroc_low, quality->auroc_high,	   quality->auroc_overall,
				   quality->ece,       quality->ece_low,	   quality->ece_deviation };
	buf_printf(out, "%" PRId64 " %" PRId64 " %d %" PRId64, info->version, info->judgement, info->proven,
		   quality->cases);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		buf_printf(out, " %.17g", numbers[i]);
	buf_printf(out, " %" PRId64, known->judgement);
	if (str_present(model_rules(model)))
		buf_printf(out, " " STR_FMT, STR_ARG(model_rules(model)));
	buf_append_char(out, '\n');
}

err_t model_file_write(const char *path, const char *dsn, const struct model *model,
		       const struct model_known *known, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf content = BUF_INIT, file = BUF_INIT;
	if (!model) {
		unlink(path);
		return ERR_OK;
	}
	append_facts(model, known, &content);
	if (str_present(model_document(model))) /* by whose digest it is archived */
		buf_append_str(&content, model_document(model));
	else
		model_encode(model, &content);
	append_header(dsn, buf_str(&content), &file);
	buf_append_str(&file, buf_str(&content));
	return kept_file_write(path, buf_str(&file), detail);
}

void model_file_touch(const char *path)
{
	utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

/* What stands behind the header, if that is right; else absent. */
static str_t check_header(const struct buf *file, const char *dsn)
{
	_cleanup_(buf_free) struct buf expected = BUF_INIT;
	const char *end = memchr(file->data, '\n', file->len);
	if (!end)
		return STR_NONE;
	const str_t content = { end + 1, file->len - (size_t)(end + 1 - file->data) };
	append_header(dsn, content, &expected);
	return expected.len + content.len == file->len && memcmp(expected.data, file->data, expected.len) == 0
		       ? content
		       : STR_NONE;
}

static bool read_facts(str_t content, struct model_kept *kept, struct model_info *info, str_t *ret_rules,
		       str_t *ret_document)
{
	struct model_quality *quality = &info->quality;
	char line[LINE_BYTES];
	const char *end = memchr(content.ptr, '\n', content.len);
	int proven, read = 0;
	if (!end || end - content.ptr >= LINE_BYTES)
		return false;
	memcpy(line, content.ptr, (size_t)(end - content.ptr));
	line[end - content.ptr] = '\0';
	if (sscanf(line, FACTS, &info->version, &info->judgement, &proven, &quality->cases,
		   &quality->log_loss, &quality->log_loss_constant, &quality->auroc, &quality->auroc_low,
		   &quality->auroc_high, &quality->auroc_overall, &quality->ece, &quality->ece_low,
		   &quality->ece_deviation, &kept->known.judgement, &read) != FACTS_COUNT)
		return false;
	*ret_rules =
		line[read] == ' ' ? (str_t){ content.ptr + read + 1, strlen(line + read + 1) } : STR_NONE;
	info->proven = proven != 0;
	kept->known.used = info->version;
	*ret_document = (str_t){ end + 1, content.len - (size_t)(end + 1 - content.ptr) };
	return true;
}

err_t model_file_read(const char *path, const char *dsn, enum model_kind kind, struct model_kept *ret_kept,
		      struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf file = BUF_INIT;
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct model_kept kept = { 0 };
	struct model_info info = { 0 };
	struct stat status;
	str_t rules, document;
	err_t err = kept_file_read(path, MODEL_DOCUMENT_MAX + 2 * LINE_BYTES, &file, detail);
	if (err)
		return err;
	const str_t content = check_header(&file, dsn);
	if (!str_present(content) || !read_facts(content, &kept, &info, &rules, &document) ||
	    model_decode(document, &model, NULL) != ERR_OK || model_info(model)->kind != kind)
		return err_fail(detail, ERR_FILE_UNREADABLE,
				"%s: it is of another database or another version, or damaged", path);
	model_set_version(model, info.version);
	model_set_quality(model, &info.quality, info.proven);
	model_set_judgement(model, info.judgement);
	if (str_present(rules))
		model_set_rules(model, rules);
	kept.known_ms = stat(path, &status) == 0
				? (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000
				: 0;
	kept.model = TAKE_PTR(model);
	*ret_kept = kept;
	return ERR_OK;
}
