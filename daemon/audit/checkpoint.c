#include "audit/checkpoint.h"

#include "audit/lines.h"
#include "common/utf8.h"

#include <inttypes.h>

#define TOPIC_NAME_MAX 249 /* of Kafka */

err_t checkpoint_origin(str_t name, str_t topic, int32_t partition, struct buf *out)
{
	if (!note_name_valid(name) || topic.len == 0 || topic.len > TOPIC_NAME_MAX || partition < 0)
		return ERR_AUDIT_MALFORMED;
	for (size_t i = 0; i < topic.len; i++) {
		char c = topic.ptr[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '.' || c == '_' || c == '-'))
			return ERR_AUDIT_MALFORMED;
	}
	buf_append_str(out, name);
	buf_append_char(out, '/');
	buf_append_str(out, topic);
	buf_printf(out, "/%" PRId32, partition);
	return ERR_OK;
}

str_t checkpoint_origin_name(str_t origin, str_t topic, int32_t partition)
{
	_cleanup_(buf_free) struct buf end = BUF_INIT;
	buf_printf(&end, "/%.*s/%" PRId32, (int)topic.len, topic.ptr, partition);
	if (origin.len <= end.len || memcmp(origin.ptr + origin.len - end.len, end.data, end.len) != 0)
		return STR_NONE;
	const str_t name = { origin.ptr, origin.len - end.len };
	return note_name_valid(name) ? name : STR_NONE;
}

static bool is_line(str_t line)
{
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.ptr[i] < ' ')
			return false;
	return line.len > 0 && utf8_valid(line.ptr, line.len);
}

static bool are_extensions(str_t text)
{
	str_t line;
	if (text.len > CHECKPOINT_EXTENSIONS_MAX)
		return false;
	while (line_take(&text, &line))
		if (!is_line(line))
			return false;
	return text.len == 0;
}

static err_t check(const struct checkpoint *checkpoint, struct err_detail *detail)
{
	struct merkle_hash empty;
	if (!is_line(checkpoint->origin) || checkpoint->origin.len > CHECKPOINT_ORIGIN_MAX)
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"the origin of the checkpoint is not a line of 1 to %d bytes",
				CHECKPOINT_ORIGIN_MAX);
	if (checkpoint->size > MERKLE_SIZE_MAX)
		return err_fail(detail, ERR_AUDIT_MALFORMED, "the checkpoint's size is too large");
	hash_sha256("", 0, empty.bytes);
	if (checkpoint->size == 0 && !merkle_hash_equal(&checkpoint->root, &empty))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"the checkpoint's size is 0 and its root is not that of an empty tree");
	if (!are_extensions(checkpoint->extensions))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"what is behind the checkpoint's root are not lines of at most %d bytes",
				CHECKPOINT_EXTENSIONS_MAX);
	return ERR_OK;
}

err_t checkpoint_write(const struct checkpoint *checkpoint, struct buf *out)
{
	err_t err = check(checkpoint, NULL);
	if (err)
		return err;
	buf_append_str(out, checkpoint->origin);
	buf_printf(out, "\n%" PRIu64 "\n", checkpoint->size);
	base64_append(out, checkpoint->root.bytes, sizeof checkpoint->root.bytes);
	buf_append_char(out, '\n');
	buf_append_str(out, checkpoint->extensions);
	return ERR_OK;
}

err_t checkpoint_sign(const struct checkpoint *checkpoint, const struct note_signer *signers, size_t count,
		      struct buf *out)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	err_t err = checkpoint_write(checkpoint, &text);
	return err ? err : note_sign(buf_str(&text), signers, count, out);
}

err_t checkpoint_parse(str_t text, struct checkpoint *ret_checkpoint, struct err_detail *detail)
{
	struct checkpoint checkpoint;
	str_t size, root;
	if (!line_take(&text, &checkpoint.origin) || !line_take(&text, &size) || !line_take(&text, &root))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"a checkpoint has at least three lines: origin, size, root");
	if (!line_number(size, &checkpoint.size))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"the second line of the checkpoint is not a size in decimal");
	if (!line_hash(root, &checkpoint.root))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"the third line of the checkpoint is not the base 64 of 32 bytes");
	checkpoint.extensions = text;
	err_t err = check(&checkpoint, detail);
	if (!err)
		*ret_checkpoint = checkpoint;
	return err;
}

err_t checkpoint_open(str_t note, str_t origin, const struct note_key *trusted, size_t count,
		      struct checkpoint *ret_checkpoint, uint64_t *ret_signed, struct err_detail *detail)
{
	struct checkpoint checkpoint;
	uint64_t by;
	str_t text;
	err_t err = note_open(note, trusted, count, &text, &by, detail);
	if (!err)
		err = checkpoint_parse(text, &checkpoint, detail);
	if (err)
		return err;
	if (!str_equal(checkpoint.origin, origin))
		return err_fail(detail, ERR_AUDIT_UNVERIFIED,
				"that is the checkpoint of " STR_FMT ", not of " STR_FMT,
				STR_ARG(checkpoint.origin), STR_ARG(origin));
	*ret_checkpoint = checkpoint;
	if (ret_signed)
		*ret_signed = by;
	return ERR_OK;
}
