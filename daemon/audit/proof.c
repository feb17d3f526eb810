#include "audit/proof.h"

#include "audit/lines.h"

#include <inttypes.h>

static const str_t inclusion_mark = STR("c2sp.org/tlog-proof@v1");

void proof_write(const struct proof *proof, struct buf *out)
{
	if (proof->kind == PROOF_INCLUSION) {
		buf_append_str(out, inclusion_mark);
		buf_append_char(out, '\n');
		if (proof->extra_bytes) {
			buf_append_text(out, "extra ");
			base64_append(out, proof->extra, proof->extra_bytes);
			buf_append_char(out, '\n');
		}
	}
	buf_printf(out, "%s %" PRIu64 "\n", proof->kind == PROOF_INCLUSION ? "index" : "old",
		   proof->position);
	for (size_t i = 0; i < proof->path.count; i++) {
		base64_append(out, proof->path.hashes[i].bytes, DIGEST_BYTES);
		buf_append_char(out, '\n');
	}
	buf_append_char(out, '\n');
	buf_append_str(out, proof->checkpoint);
}

static err_t malformed(struct err_detail *detail, const char *what)
{
	return err_fail(detail, ERR_AUDIT_MALFORMED, "the proof cannot be read: %s", what);
}

/* Takes the lines before that of the number off the text; the line of the number, and the kind of the proof.
 */
static err_t read_head(str_t *text, struct proof *proof, str_t *ret_line, struct err_detail *detail)
{
	str_t line;
	if (!line_take(text, &line))
		return malformed(detail, "it has no line");
	proof->kind = str_equal(line, inclusion_mark) ? PROOF_INCLUSION : PROOF_CONSISTENCY;
	if (proof->kind == PROOF_INCLUSION) {
		if (!line_take(text, &line))
			return malformed(detail, "it ends behind its first line");
		if (line_skip(&line, STR("extra "))) {
			if (!base64_read(line, sizeof proof->extra, proof->extra, &proof->extra_bytes) ||
			    proof->extra_bytes == 0)
				return malformed(detail, "extra is not the base 64 of 1 to 1024 bytes");
			if (!line_take(text, &line))
				return malformed(detail, "it ends behind extra");
		}
	}
	*ret_line = line;
	return ERR_OK;
}

err_t proof_parse(str_t text, struct proof *ret_proof, struct err_detail *detail)
{
	struct proof proof = { 0 };
	str_t line;
	if (text.len > PROOF_BYTES_MAX)
		return malformed(detail, "it is too long");
	err_t err = read_head(&text, &proof, &line, detail);
	if (err)
		return err;
	if (!line_skip(&line, proof.kind == PROOF_INCLUSION ? STR("index ") : STR("old ")) ||
	    !line_number(line, &proof.position))
		return malformed(detail, "neither an index nor an old size stands where one has to");
	for (;;) {
		if (!line_take(&text, &line))
			return malformed(detail, "no empty line ends its hashes");
		if (line.len == 0)
			break;
		if (proof.path.count == MERKLE_PROOF_MAX)
			return malformed(detail, "it has more hashes than any can need");
		if (!line_hash(line, &proof.path.hashes[proof.path.count++]))
			return malformed(detail, "a line is not the base 64 of a hash");
	}
	if (text.len == 0 || text.len > NOTE_BYTES_MAX)
		return malformed(detail, "no checkpoint follows");
	proof.checkpoint = text;
	*ret_proof = proof;
	return ERR_OK;
}

bool proof_holds(const struct proof *proof, const struct merkle_hash *from,
		 const struct checkpoint *checkpoint)
{
	if (proof->kind == PROOF_INCLUSION)
		return merkle_verify_inclusion(&proof->path, proof->position, checkpoint->size, from,
					       &checkpoint->root);
	return merkle_verify_consistency(&proof->path, proof->position, checkpoint->size, from,
					 &checkpoint->root);
}
