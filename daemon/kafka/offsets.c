#include "kafka/offsets.h"

#include "common/base64.h"
#include "common/hash.h"

#include <assert.h>

/*
 * Metadata, before base64: version, form, base offset (u64), CRC-32 of the rest (u32), payload.
 * Runs: varints, in turn the length of an unfinished run and of a done run, from the base on. An unfinished
 * run at the end says nothing of offsets, so its length holds the sign of the record before the base, times
 * 64, and how far before it is. Versions that do not know of signs read such a map as it is meant. Bits: one
 * for each offset from the base on, least significant first; 1: done. Far: runs behind two varints, how far
 * before the base the record is and its sign, where that is too far for a length.
 */
enum { VERSION = 1, FORM_RUNS = 1, FORM_BITS = 2, FORM_FAR = 3, HEADER_BYTES = 14 };

/* Bits have no place for a sign: runs are taken instead up to so many bytes. */
enum { RUNS_FOR_SIGN_BYTES = 128, DISTANCE_BITS = 6 };

/* First character of base64 for the version byte; foreign metadata has to be told apart from ours. */
static const char mark[] = "a1:";
#define MARK_LEN (sizeof mark - 1)

struct hole {
	int64_t offset;
	int64_t since_ms;
	struct witness before; /* what arrived before it */
	bool in_transaction;
};

struct offset_range {
	int64_t from, to; /* to: exclusive */
};

struct offsets {
	int64_t next;	     /* above every arrival, or OFFSETS_UNKNOWN */
	struct witness last; /* the last arrival, or what was committed of the one before the first */
	struct hole *holes;  /* arrived and not done, ascending */
	size_t holes_count, holes_capacity;
	size_t lead;		   /* holes before this one are all in the open transaction */
	struct offset_range *done; /* restored: done by an earlier owner, ascending, disjoint */
	size_t done_count, done_capacity;
	size_t done_first; /* ranges before this one lie below `next` */
};

struct offsets *offsets_new(int64_t start)
{
	struct offsets *offsets = calloc(1, sizeof *offsets);
	if (!offsets)
		abort();
	offsets->next = start;
	return offsets;
}

void offsets_free(struct offsets *offsets)
{
	if (!offsets)
		return;
	free(offsets->holes);
	free(offsets->done);
	free(offsets);
}

DEFINE_CLEANUP(struct offsets, offsets_cleanup, offsets_free)

static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	*capacity = *capacity ? *capacity * 2 : 64;
	void *larger = reallocarray(items, *capacity, size);
	if (!larger)
		abort();
	return larger;
}

static void add_done(struct offsets *offsets, int64_t from, int64_t to)
{
	offsets->done =
		grow(offsets->done, offsets->done_count, &offsets->done_capacity, sizeof *offsets->done);
	offsets->done[offsets->done_count++] = (struct offset_range){ from, to };
}

/* ---- arrivals and transactions ---- */

static bool restored_done(struct offsets *offsets, int64_t offset)
{
	while (offsets->done_first < offsets->done_count && offsets->done[offsets->done_first].to <= offset)
		offsets->done_first++;
	return offsets->done_first < offsets->done_count && offsets->done[offsets->done_first].from <= offset;
}

enum offsets_arrival offsets_arrive(struct offsets *offsets, int64_t offset, int64_t since_ms, uint64_t sign)
{
	if (offset < offsets->next)
		return OFFSETS_STALE;
	struct witness before = offsets->last;
	offsets->next = offset + 1;
	offsets->last = (struct witness){ offset, sign };
	if (restored_done(offsets, offset))
		return OFFSETS_DONE;
	offsets->holes =
		grow(offsets->holes, offsets->holes_count, &offsets->holes_capacity, sizeof *offsets->holes);
	offsets->holes[offsets->holes_count++] = (struct hole){ offset, since_ms, before, false };
	return OFFSETS_FRESH;
}

bool offsets_pass(struct offsets *offsets, int64_t end)
{
	if (offsets->next == OFFSETS_UNKNOWN || end <= offsets->next || !offsets->last.sign)
		return false;
	offsets->next = end;
	return true;
}

static struct hole *find_hole(struct offsets *offsets, int64_t offset)
{
	size_t low = 0, high = offsets->holes_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (offsets->holes[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	assert(low < offsets->holes_count && offsets->holes[low].offset == offset);
	return &offsets->holes[low];
}

void offsets_join(struct offsets *offsets, int64_t offset)
{
	struct hole *hole = find_hole(offsets, offset);
	assert(!hole->in_transaction);
	hole->in_transaction = true;
	while (offsets->lead < offsets->holes_count && offsets->holes[offsets->lead].in_transaction)
		offsets->lead++;
}

void offsets_withdraw(struct offsets *offsets, int64_t offset)
{
	struct hole *hole = find_hole(offsets, offset);
	assert(hole->in_transaction);
	hole->in_transaction = false;
	size_t place = (size_t)(hole - offsets->holes);
	if (place < offsets->lead)
		offsets->lead = place;
}

void offsets_end(struct offsets *offsets, bool committed)
{
	size_t kept = 0;
	for (size_t i = 0; i < offsets->holes_count; i++) {
		struct hole hole = offsets->holes[i];
		if (committed && hole.in_transaction)
			continue;
		hole.in_transaction = false;
		offsets->holes[kept++] = hole;
	}
	offsets->holes_count = kept;
	offsets->lead = 0;
}

int64_t offsets_prefix(const struct offsets *offsets)
{
	return offsets->lead < offsets->holes_count ? offsets->holes[offsets->lead].offset : offsets->next;
}

struct witness offsets_witness(const struct offsets *offsets)
{
	return offsets->lead < offsets->holes_count ? offsets->holes[offsets->lead].before : offsets->last;
}

struct offsets *offsets_begin_again(const struct offsets *former, int64_t start, int64_t since)
{
	struct offsets *offsets = offsets_new(start);
	int64_t from = since;
	for (size_t i = 0; i < former->holes_count; i++) {
		int64_t hole = former->holes[i].offset;
		if (hole < since)
			continue;
		if (hole > from)
			add_done(offsets, from, hole);
		from = hole + 1;
	}
	if (former->next > from)
		add_done(offsets, from, former->next);
	return offsets;
}

bool offsets_restoring(const struct offsets *offsets)
{
	return offsets->done_count > 0 && offsets->next < offsets->done[offsets->done_count - 1].to;
}

size_t offsets_unfinished(const struct offsets *offsets)
{
	return offsets->holes_count;
}

int64_t offsets_oldest_ms(const struct offsets *offsets)
{
	int64_t oldest_ms = INT64_MAX;
	for (size_t i = 0; i < offsets->holes_count; i++)
		if (offsets->holes[i].since_ms < oldest_ms)
			oldest_ms = offsets->holes[i].since_ms;
	return oldest_ms;
}

/* ---- encoding ---- */

/* Calls `emit` with the unfinished runs above the prefix, in order, and returns the end of the map. */
static int64_t each_unfinished_run(const struct offsets *offsets,
				   void (*emit)(void *context, struct offset_range run), void *context)
{
	struct offset_range run = { 0, 0 };
	for (size_t i = 0; i < offsets->holes_count; i++) {
		const struct hole *hole = &offsets->holes[i];
		if (hole->in_transaction)
			continue;
		if (run.to > run.from && hole->offset == run.to) {
			run.to++;
			continue;
		}
		if (run.to > run.from)
			emit(context, run);
		run = (struct offset_range){ hole->offset, hole->offset + 1 };
	}
	/* restored ranges that have not come by yet: what lies between them is unfinished as well */
	int64_t end = offsets->next;
	for (size_t i = offsets->done_first; i < offsets->done_count; i++) {
		const struct offset_range *done = &offsets->done[i];
		if (done->to <= end)
			continue;
		if (done->from > end) {
			if (run.to > run.from && run.to == end) {
				run.to = done->from;
			} else {
				if (run.to > run.from)
					emit(context, run);
				run = (struct offset_range){ end, done->from };
			}
		}
		end = done->to;
	}
	if (run.to == end) /* nothing is done behind it: the map ends before */
		return run.from;
	if (run.to > run.from)
		emit(context, run);
	return end;
}

static void append_varint(struct buf *out, uint64_t value)
{
	while (value >= 0x80) {
		buf_append_char(out, (char)(value | 0x80));
		value >>= 7;
	}
	buf_append_char(out, (char)value);
}

struct run_encoder {
	struct buf *out;
	int64_t at;
};

static void emit_run(void *context, struct offset_range run)
{
	struct run_encoder *encoder = context;
	if (run.from > encoder->at) {
		/* a done run precedes; the very first unfinished run may be empty */
		if (encoder->out->len == 0)
			append_varint(encoder->out, 0);
		append_varint(encoder->out, (uint64_t)(run.from - encoder->at));
	}
	append_varint(encoder->out, (uint64_t)(run.to - run.from));
	encoder->at = run.to;
}

static void emit_bits(void *context, struct offset_range run)
{
	struct run_encoder *encoder = context;
	for (int64_t offset = run.from; offset < run.to; offset++) {
		size_t bit = (size_t)(offset - encoder->at);
		encoder->out->data[bit / 8] &= (char)~(1u << (bit % 8));
	}
}

static void encode_runs(const struct offsets *offsets, int64_t base, struct buf *out)
{
	struct run_encoder encoder = { out, base };
	int64_t end = each_unfinished_run(offsets, emit_run, &encoder);
	if (end > encoder.at) {
		if (out->len == 0)
			append_varint(out, 0);
		append_varint(out, (uint64_t)(end - encoder.at));
	}
}

static void ignore_run(void *context, struct offset_range run)
{
	(void)context;
	(void)run;
}

/* Bits past the end are 0: they would otherwise claim offsets that nobody has seen. */
static void encode_bits(const struct offsets *offsets, int64_t base, size_t bits, struct buf *out)
{
	size_t bytes = (bits + 7) / 8;
	char *to = buf_reserve(out, bytes);
	memset(to, 0xff, bytes);
	out->len += bytes;
	out->data[out->len] = '\0';
	struct run_encoder encoder = { out, base };
	each_unfinished_run(offsets, emit_bits, &encoder);
	if (bits % 8)
		out->data[bytes - 1] &= (char)((1u << (bits % 8)) - 1);
}

/* How far before the base the record is whose sign is known; 0: there is none. */
static uint64_t witness_distance(const struct offsets *offsets, int64_t base)
{
	struct witness witness = offsets_witness(offsets);
	return witness.sign && base < INT64_MAX / 2 ? (uint64_t)(base - witness.offset) : 0;
}

/* Adds the sign to a payload of runs; the form of it. */
static char add_sign(struct buf *payload, uint64_t distance, uint64_t sign)
{
	if (distance >> DISTANCE_BITS == 0) {
		append_varint(payload, sign << DISTANCE_BITS | distance);
		return FORM_RUNS;
	}
	_cleanup_(buf_free) struct buf runs = *payload;
	*payload = (struct buf)BUF_INIT;
	append_varint(payload, distance);
	append_varint(payload, sign);
	buf_append(payload, runs.data, runs.len);
	return FORM_FAR;
}

void offsets_encode(const struct offsets *offsets, struct buf *out)
{
	int64_t base = offsets_prefix(offsets);
	int64_t end = each_unfinished_run(offsets, ignore_run, NULL);
	if (base == OFFSETS_UNKNOWN)
		return;
	uint64_t distance = witness_distance(offsets, base);
	buf_append_text(out, mark);
	if (end <= base && !distance)
		return;
	_cleanup_(buf_free) struct buf payload = BUF_INIT;
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	char form = FORM_RUNS;
	encode_runs(offsets, base, &payload);
	size_t bits = end > base ? (size_t)(end - base) : 0;
	if ((bits + 7) / 8 < payload.len && (!distance || payload.len > RUNS_FOR_SIGN_BYTES)) {
		form = FORM_BITS;
		buf_reset(&payload);
		encode_bits(offsets, base, bits, &payload);
	} else if (distance) {
		form = add_sign(&payload, distance, offsets_witness(offsets).sign);
	}
	buf_append_char(&message, VERSION);
	buf_append_char(&message, form);
	buf_append_u64(&message, (uint64_t)base);
	buf_append_u32(&message, hash_crc32(payload.data, payload.len));
	buf_append(&message, payload.data, payload.len);
	base64_append(out, message.data, message.len);
}

size_t offsets_metadata_bytes(const struct offsets *offsets)
{
	_cleanup_(buf_free) struct buf metadata = BUF_INIT;
	offsets_encode(offsets, &metadata);
	return metadata.len;
}

/* ---- decoding ---- */

static uint64_t read_little(const char *bytes, size_t count)
{
	uint64_t value = 0;
	for (size_t i = 0; i < count; i++)
		value |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
	return value;
}

static bool read_varint(const char **at, const char *end, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 63 && *at < end; shift += 7) {
		unsigned char byte = (unsigned char)*(*at)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static void take_sign(struct offsets *offsets, int64_t base, uint64_t sign)
{
	int64_t distance = (int64_t)(sign & ((1u << DISTANCE_BITS) - 1));
	if (sign >> (DISTANCE_BITS + WITNESS_SIGN_BITS) == 0 && distance > 0 && distance <= base)
		offsets->last = (struct witness){ base - distance, sign >> DISTANCE_BITS };
}

static bool decode_runs(struct offsets *offsets, int64_t base, const char *at, const char *end)
{
	int64_t position = base;
	uint64_t last = 0; /* length of an unfinished run at the end */
	for (bool done = false; at < end; done = !done) {
		uint64_t length;
		int64_t to;
		if (!read_varint(&at, end, &length) || length > INT64_MAX ||
		    __builtin_add_overflow(position, (int64_t)length, &to))
			return false;
		if (length == 0 && (done || position != base))
			return false;
		if (done)
			add_done(offsets, position, to);
		position = to;
		last = done ? 0 : length;
	}
	take_sign(offsets, base, last);
	return true;
}

static bool decode_far(struct offsets *offsets, int64_t base, const char *at, const char *end)
{
	uint64_t distance, sign;
	if (!read_varint(&at, end, &distance) || !read_varint(&at, end, &sign) || distance == 0 ||
	    distance > (uint64_t)base || !sign || sign >> WITNESS_SIGN_BITS ||
	    !decode_runs(offsets, base, at, end))
		return false;
	offsets->last = (struct witness){ base - (int64_t)distance, sign };
	return true;
}

static bool decode_bits(struct offsets *offsets, int64_t base, const char *at, const char *end)
{
	size_t bits = (size_t)(end - at) * 8;
	if (base > INT64_MAX - (int64_t)bits)
		return false;
	for (size_t i = 0; i < bits; i++) {
		if (!((unsigned char)at[i / 8] >> (i % 8) & 1))
			continue;
		int64_t offset = base + (int64_t)i;
		if (offsets->done_count && offsets->done[offsets->done_count - 1].to == offset)
			offsets->done[offsets->done_count - 1].to++;
		else
			add_done(offsets, offset, offset + 1);
	}
	return true;
}

static bool decode_payload(struct offsets *offsets, int64_t base, const struct buf *message)
{
	const char *payload = message->data + HEADER_BYTES, *end = message->data + message->len;
	if (hash_crc32(payload, (size_t)(end - payload)) != read_little(message->data + 10, 4))
		return false;
	switch (message->data[1]) {
	case FORM_RUNS:
		return decode_runs(offsets, base, payload, end);
	case FORM_FAR:
		return decode_far(offsets, base, payload, end);
	case FORM_BITS:
		return decode_bits(offsets, base, payload, end);
	default:
		return false;
	}
}

err_t offsets_restore(int64_t committed, str_t metadata, struct offsets **ret_offsets, bool *ret_foreign)
{
	_cleanup_(offsets_cleanup) struct offsets *offsets = offsets_new(committed);
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	bool ours = metadata.len >= MARK_LEN && memcmp(metadata.ptr, mark, MARK_LEN) == 0;
	*ret_foreign = !ours;
	if (!ours || metadata.len == MARK_LEN) {
		*ret_offsets = TAKE_PTR(offsets);
		return ERR_OK;
	}
	if (metadata.len > OFFSETS_METADATA_BYTES * 16 ||
	    !base64_read((str_t){ metadata.ptr + MARK_LEN, metadata.len - MARK_LEN }, metadata.len,
			 buf_reserve(&message, metadata.len), &message.len) ||
	    message.len < HEADER_BYTES || message.data[0] != VERSION)
		return ERR_OFFSETS_METADATA;
	uint64_t base = read_little(message.data + 2, 8);
	if (base > INT64_MAX)
		return ERR_OFFSETS_METADATA;
	if ((int64_t)base != committed) {
		*ret_foreign = true;
	} else if (!decode_payload(offsets, committed, &message)) {
		return ERR_OFFSETS_METADATA;
	}
	*ret_offsets = TAKE_PTR(offsets);
	return ERR_OK;
}
