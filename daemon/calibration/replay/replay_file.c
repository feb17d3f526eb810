#include "calibration/replay/replay_file.h"

#include "avro/bounds.h"
#include "avro/framing.h"

#include <errno.h>
#include <stdio.h>
#include <zlib.h>

#define MAGIC	   "Obj\x01"
#define MAGIC_SIZE 4
#define SYNC_SIZE  16

/* Of zlib's format, which is not that of a container. */
#define CHECKSUM_SIZE 4

/* Of a container: its schema and other entries of its head, and a block as it lies in the file. */
#define META_MAX  ((size_t)4 << 20)
#define BLOCK_MAX ((size_t)64 << 20)

struct replay_file {
	FILE *stream;
	bool ours; /* to be closed */
	bool container;
	struct codec *codec;
	size_t max_record_bytes;
	int64_t place;
	struct buf line; /* or a message of one record */

	struct schema *schema; /* what follows is of containers */
	uint64_t fingerprint;
	unsigned char sync[SYNC_SIZE];
	bool deflated;
	struct buf block, inflated;
	struct wire wire; /* what is left of it */
	int64_t left;	  /* records that it still has */
};

/* ---- bytes ---- */

static err_t fail_ended(const struct replay_file *file, struct err_detail *detail)
{
	if (ferror(file->stream))
		return err_fail(detail, ERR_IO, "the records cannot be read: %s", strerror(errno));
	return err_fail(detail, ERR_AVRO_TRUNCATED, "the container ends early, after record %lld",
			(long long)file->place);
}

static err_t read_exactly(struct replay_file *file, void *data, size_t size, struct err_detail *detail)
{
	return fread(data, 1, size, file->stream) == size ? ERR_OK : fail_ended(file, detail);
}

/* In pieces, so that memory is taken for what is there, not for what a length claims. */
static err_t read_into(struct replay_file *file, struct buf *to, size_t size, struct err_detail *detail)
{
	enum { PIECE = 65536 };
	buf_reset(to);
	while (size > 0) {
		size_t piece = size < PIECE ? size : PIECE;
		err_t err = read_exactly(file, buf_reserve(to, piece), piece, detail);
		if (err)
			return err;
		to->len += piece;
		size -= piece;
	}
	return ERR_OK;
}

static err_t read_long(struct replay_file *file, int64_t *ret_value, struct err_detail *detail)
{
	unsigned char bytes[10];
	size_t count = 0;
	int byte;
	do {
		byte = getc(file->stream);
		if (byte == EOF)
			return fail_ended(file, detail);
		bytes[count++] = (unsigned char)byte;
	} while ((byte & 0x80) && count < sizeof bytes);
	struct wire wire = { bytes, bytes + count };
	err_t err = wire_long(&wire, ret_value);
	return err ? err_fail(detail, err, "a number of the container is longer than 64 bits") : ERR_OK;
}

/* A length of what follows. */
static err_t read_length(struct replay_file *file, const char *what, size_t most, size_t *ret_length,
			 struct err_detail *detail)
{
	int64_t length = 0;
	err_t err = read_long(file, &length, detail);
	if (err)
		return err;
	if (length < 0 || (uint64_t)length > most)
		return err_fail(detail, ERR_AVRO_LENGTH,
				"%s of the container has %lld bytes; up to %zu can be read", what,
				(long long)length, most);
	*ret_length = (size_t)length;
	return ERR_OK;
}

/* ---- the head of a container ---- */

static err_t take_codec(struct replay_file *file, str_t value, struct err_detail *detail)
{
	file->deflated = str_is(value, "deflate");
	if (file->deflated || str_is(value, "null") || value.len == 0)
		return ERR_OK;
	if (value.len > 40)
		value.len = 40;
	return err_fail(
		detail, ERR_AVRO_VALUE,
		"the container is compressed with the codec \"" STR_FMT
		"\"; those that are read are \"null\" and \"deflate\": write it again with one of them",
		STR_ARG(value));
}

static err_t take_schema(struct replay_file *file, str_t text, struct err_detail *detail)
{
	if (file->schema)
		return err_fail(detail, ERR_AVRO_VALUE, "the container has two schemas");
	err_t err = schema_parse(text, &file->schema, detail);
	return err ? err : codec_learn_schema(file->codec, text, &file->fingerprint, detail);
}

static err_t read_entry(struct replay_file *file, size_t *room, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf name = BUF_INIT, value = BUF_INIT;
	size_t length;
	err_t err = read_length(file, "the head", *room, &length, detail);
	if (!err)
		err = read_into(file, &name, length, detail);
	if (err)
		return err;
	*room -= length;
	err = read_length(file, "the head", *room, &length, detail);
	if (!err)
		err = read_into(file, &value, length, detail);
	if (err)
		return err;
	*room -= length;
	if (str_is(buf_str(&name), "avro.schema"))
		return take_schema(file, buf_str(&value), detail);
	return str_is(buf_str(&name), "avro.codec") ? take_codec(file, buf_str(&value), detail) : ERR_OK;
}

/* A map in blocks; a negative count has a size behind it. Every entry takes two bytes of the room at least.
 */
static err_t read_head(struct replay_file *file, struct err_detail *detail)
{
	size_t room = META_MAX;
	int64_t count, size;
	err_t err;
	while (!(err = read_long(file, &count, detail)) && count != 0) {
		if (count < 0)
			err = read_long(file, &size, detail);
		if (err)
			return err;
		uint64_t entries = count < 0 ? -(uint64_t)count : (uint64_t)count;
		for (uint64_t i = 0; !err && i < entries; i++) {
			if (room < 2)
				return err_fail(detail, ERR_AVRO_LENGTH,
						"the head of the container is too large");
			room -= 2;
			err = read_entry(file, &room, detail);
		}
		if (err)
			return err;
	}
	if (!err)
		err = read_exactly(file, file->sync, SYNC_SIZE, detail);
	if (!err && !file->schema)
		err = err_fail(detail, ERR_SCHEMA_UNKNOWN, "the container has no schema");
	return err;
}

/* ---- records of a container ---- */

/* In pieces, into as much as a block may have, however small it is in the file. */
static err_t inflate_pieces(z_stream *zip, struct buf *to)
{
	enum { PIECE = 65536 };
	int status = Z_OK;
	buf_reset(to);
	while (status == Z_OK && to->len < BLOCK_MAX) {
		zip->next_out = (Bytef *)buf_reserve(to, PIECE);
		zip->avail_out = PIECE;
		status = inflate(zip, Z_NO_FLUSH);
		to->len += PIECE - zip->avail_out;
	}
	if (status == Z_OK)
		return ERR_AVRO_LENGTH;
	/* Apache's writer in Python leaves a part of zlib's checksum behind */
	return status == Z_STREAM_END && zip->avail_in <= CHECKSUM_SIZE ? ERR_OK : ERR_AVRO_VALUE;
}

static err_t inflate_block(struct replay_file *file, struct err_detail *detail)
{
	z_stream zip = { .next_in = (Bytef *)file->block.data, .avail_in = (uInt)file->block.len };
	if (inflateInit2(&zip, -MAX_WBITS) != Z_OK)
		abort();
	err_t err = inflate_pieces(&zip, &file->inflated);
	inflateEnd(&zip);
	if (err == ERR_AVRO_LENGTH)
		return err_fail(detail, err, "a block of the container has more than %zu bytes", BLOCK_MAX);
	return err ? err_fail(detail, err,
			      "the container is damaged after record %lld: a block is no deflate",
			      (long long)file->place)
		   : ERR_OK;
}

static err_t read_block(struct replay_file *file, bool *ret_end, struct err_detail *detail)
{
	unsigned char sync[SYNC_SIZE];
	size_t length;
	int first = getc(file->stream);
	*ret_end = first == EOF && !ferror(file->stream);
	if (first == EOF)
		return *ret_end ? ERR_OK : fail_ended(file, detail);
	ungetc(first, file->stream);
	err_t err = read_long(file, &file->left, detail);
	if (!err && file->left < 0)
		err = err_fail(detail, ERR_AVRO_LENGTH, "a block of the container has %lld records",
			       (long long)file->left);
	if (!err)
		err = read_length(file, "a block", BLOCK_MAX, &length, detail);
	if (!err)
		err = read_into(file, &file->block, length, detail);
	if (!err)
		err = read_exactly(file, sync, SYNC_SIZE, detail);
	if (!err && memcmp(sync, file->sync, SYNC_SIZE) != 0)
		err = err_fail(detail, ERR_AVRO_VALUE, "the container is damaged after record %lld",
			       (long long)file->place);
	if (!err && file->deflated)
		err = inflate_block(file, detail);
	const struct buf *plain = file->deflated ? &file->inflated : &file->block;
	const unsigned char *data = (const unsigned char *)buf_str(plain).ptr;
	file->wire = (struct wire){ data, data + plain->len };
	return err;
}

/* The bytes of the next record, framed as a message. */
static err_t frame_record(struct replay_file *file, struct err_detail *detail)
{
	const struct bounds_limits limits = { BOUNDS_MAX_ITEMS, BOUNDS_MAX_DEPTH };
	const unsigned char *start = file->wire.at;
	err_t err = bounds_skip(file->schema->root, &limits, &file->wire);
	/* one that takes no bytes is no record of ours, and there could be any number of them */
	if (!err && file->wire.at == start)
		err = ERR_AVRO_VALUE;
	file->place++;
	if (err)
		return err_fail(detail, err,
				"record %lld of the container is damaged, and so is what follows",
				(long long)file->place);
	buf_reset(&file->line);
	framing_write_single_object(file->fingerprint, &file->line);
	buf_append(&file->line, start, (size_t)(file->wire.at - start));
	file->left--;
	return ERR_OK;
}

static err_t next_of_container(struct replay_file *file, bool *ret_end, struct err_detail *detail)
{
	err_t err = ERR_OK;
	*ret_end = false;
	while (!err && !*ret_end && file->left == 0) {
		if (wire_left(&file->wire) > 0)
			return err_fail(detail, ERR_AVRO_TRAILING,
					"a block of the container has bytes behind record %lld",
					(long long)file->place);
		err = read_block(file, ret_end, detail);
	}
	return err || *ret_end ? err : frame_record(file, detail);
}

/* ---- lines ---- */

/* What is longer than a record may be is passed over, and its fault told. */
static err_t next_line(struct replay_file *file, bool *ret_end, err_t *ret_fault, struct err_detail *detail)
{
	size_t length = 0;
	int byte;
	buf_reset(&file->line);
	file->place++;
	while ((byte = getc_unlocked(file->stream)) != EOF && byte != '\n')
		if (++length <= file->max_record_bytes)
			buf_append_char(&file->line, (char)byte);
	if (ferror(file->stream))
		return err_fail(detail, ERR_IO, "the records cannot be read: %s", strerror(errno));
	*ret_end = byte == EOF && length == 0;
	if (length > file->max_record_bytes)
		*ret_fault = err_fail(detail, ERR_EVENT_TOO_LARGE,
				      "the line has %zu bytes, more than the %zu allowed", length,
				      file->max_record_bytes);
	return ERR_OK;
}

static bool is_blank(const struct buf *line)
{
	for (size_t i = 0; i < line->len; i++)
		if (!strchr(" \t\r", line->data[i]) || line->data[i] == '\0')
			return false;
	return true;
}

static err_t next_text(struct replay_file *file, bool *ret_end, err_t *ret_fault, struct err_detail *detail)
{
	err_t err;
	do {
		err = next_line(file, ret_end, ret_fault, detail);
	} while (!err && !*ret_end && !*ret_fault && is_blank(&file->line));
	return err;
}

/* ---- all ---- */

/* What begins like a file that is compressed as a whole; no JSON begins so. Both bytes are given back. */
static const char *compressed_with(FILE *stream)
{
	static const struct {
		unsigned char first, second;
		const char *name;
	} kinds[] = { { 0x1f, 0x8b, "gzip" },
		      { 'B', 'Z', "bzip2" },
		      { 0xfd, '7', "xz" },
		      { 0x28, 0xb5, "zstd" },
		      { 'P', 'K', "zip" } };
	int first = getc(stream), second = first == EOF ? EOF : getc(stream);
	const char *name = NULL;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (first == kinds[i].first && second == kinds[i].second)
			name = kinds[i].name;
	if (second != EOF)
		ungetc(second, stream);
	if (first != EOF)
		ungetc(first, stream);
	return name;
}

err_t replay_file_open(const char *path, struct codec *codec, size_t max_record_bytes,
		       struct replay_file **ret_file, struct err_detail *detail)
{
	_cleanup_(replay_file_cleanup) struct replay_file *file = calloc(1, sizeof *file);
	if (!file)
		abort();
	file->codec = codec;
	file->max_record_bytes = max_record_bytes;
	file->ours = strcmp(path, "-") != 0;
	file->stream = file->ours ? fopen(path, "re") : stdin;
	if (!file->stream)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno));
	int first = getc(file->stream);
	if (first == EOF && ferror(file->stream))
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno));
	ungetc(first, file->stream);
	const char *compressed = compressed_with(file->stream);
	if (compressed)
		return err_fail(detail, ERR_AVRO_VALUE, "%s is compressed with %s: decompress it first", path,
				compressed);
	first = getc(file->stream);
	file->container = first == MAGIC[0]; /* no JSON begins so */
	if (first != EOF)
		ungetc(first, file->stream);
	if (file->container) {
		char magic[MAGIC_SIZE];
		err_t err = read_exactly(file, magic, MAGIC_SIZE, detail);
		if (!err && memcmp(magic, MAGIC, MAGIC_SIZE) != 0)
			err = err_fail(detail, ERR_FRAME_UNKNOWN,
				       "%s is neither an Avro container nor JSON, one record a line", path);
		if (!err)
			err = read_head(file, detail);
		if (err)
			return err;
	}
	*ret_file = TAKE_PTR(file);
	return ERR_OK;
}

void replay_file_close(struct replay_file *file)
{
	if (!file)
		return;
	if (file->ours && file->stream)
		fclose(file->stream);
	schema_free(file->schema);
	buf_free(&file->line);
	buf_free(&file->block);
	buf_free(&file->inflated);
	free(file);
}

err_t replay_file_next_message(struct replay_file *file, str_t *ret_message, bool *ret_end, err_t *ret_fault,
			       struct err_detail *detail)
{
	*ret_fault = ERR_OK;
	err_t err = file->container ? next_of_container(file, ret_end, detail)
				    : next_text(file, ret_end, ret_fault, detail);
	if (!err && !*ret_end && !*ret_fault)
		*ret_message = buf_str(&file->line);
	return err;
}

err_t replay_file_next(struct replay_file *file, struct arena *arena, struct scored_query **ret_scored,
		       bool *ret_end, err_t *ret_fault, struct err_detail *detail)
{
	str_t message;
	err_t err = replay_file_next_message(file, &message, ret_end, ret_fault, detail);
	if (!err && !*ret_end && !*ret_fault)
		*ret_fault =
			codec_decode_scored(file->codec, message.ptr, message.len, arena, ret_scored, detail);
	return err;
}

bool replay_file_is_container(const struct replay_file *file)
{
	return file->container;
}

int64_t replay_file_place(const struct replay_file *file)
{
	return file->place;
}
