#include "audit/proof.h"

#include "common/base64.h"
#include "trees.h"

#define HASH   "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define HEAD   "c2sp.org/tlog-proof@v1\n"
#define SIGNED "log.example/a/b/0\n1\n" HASH "\n\n\xe2\x80\x94 n AAAAAAAA\n"

static void texts(void **state)
{
	(void)state;
	static const struct {
		str_t text;
		enum proof_kind kind;
		uint64_t position;
		size_t hashes, extra_bytes;
	} cases[] = {
		{ STR(HEAD "index 73894\n" HASH "\n" HASH "\n\n" SIGNED), PROOF_INCLUSION, 73894, 2, 0 },
		{ STR(HEAD "index 0\n\n" SIGNED), PROOF_INCLUSION, 0, 0, 0 },
		{ STR(HEAD "extra AQID\nindex 1\n" HASH "\n\n" SIGNED), PROOF_INCLUSION, 1, 1, 3 },
		{ STR("old 20852014\n" HASH "\n\n" SIGNED), PROOF_CONSISTENCY, 20852014, 1, 0 },
		{ STR("old 0\n\n" SIGNED), PROOF_CONSISTENCY, 0, 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct proof proof;
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		assert_int_equal(proof_parse(cases[i].text, &proof, NULL), ERR_OK);
		assert_int_equal(proof.kind, cases[i].kind);
		assert_int_equal(proof.position, cases[i].position);
		assert_int_equal(proof.path.count, cases[i].hashes);
		assert_int_equal(proof.extra_bytes, cases[i].extra_bytes);
		assert_true(str_equal(proof.checkpoint, STR(SIGNED)));
		proof_write(&proof, &text);
		assert_true(str_equal(buf_str(&text), cases[i].text));
	}
}

static void what_is_no_proof_is_refused(void **state)
{
	(void)state;
	static const str_t cases[] = {
		STR(""),
		STR("\n"),
		STR(HEAD),
		STR(HEAD "index 1\n"),
		STR(HEAD "index 1\n\n"),
		STR(HEAD "index 1\n" HASH "\n"),
		STR(HEAD "\n" SIGNED),
		STR(HEAD "index 01\n\n" SIGNED),
		STR(HEAD "index \n\n" SIGNED),
		STR(HEAD "index  1\n\n" SIGNED),
		STR(HEAD "index 4611686018427387905\n\n" SIGNED),
		STR(HEAD "old 1\n\n" SIGNED),
		STR(HEAD "extra AQID\n"),
		STR(HEAD "extra AQID\nextra AQID\nindex 1\n\n" SIGNED),
		STR(HEAD "extra \nindex 1\n\n" SIGNED),
		STR(HEAD "extra AQI\nindex 1\n\n" SIGNED),
		STR(HEAD "index 1\nextra AQID\n\n" SIGNED),
		STR(HEAD "index 1\n" HASH " \n\n" SIGNED),
		STR(HEAD "index 1\nAQID\n\n" SIGNED),
		STR("c2sp.org/tlog-proof@v2\nindex 1\n\n" SIGNED),
		STR("index 1\n\n" SIGNED),
		STR("old 1\r\n\n" SIGNED),
		STR("old -1\n\n" SIGNED),
		STR("extra AQID\nold 1\n\n" SIGNED),
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct proof proof = { .position = 99 };
		struct err_detail detail = { "" };
		assert_int_equal(proof_parse(cases[i], &proof, &detail), ERR_AUDIT_MALFORMED);
		assert_int_equal(proof.position, 99);
		assert_non_null(strstr(detail.message, "the proof cannot be read: "));
	}
}

static void a_proof_has_limits(void **state)
{
	(void)state;
	struct proof proof;
	for (size_t hashes = MERKLE_PROOF_MAX; hashes <= MERKLE_PROOF_MAX + 1; hashes++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		buf_append_text(&text, "old 1\n");
		for (size_t i = 0; i < hashes; i++)
			buf_append_text(&text, HASH "\n");
		buf_append_text(&text, "\n" SIGNED);
		assert_int_equal(proof_parse(buf_str(&text), &proof, NULL),
				 hashes == MERKLE_PROOF_MAX ? ERR_OK : ERR_AUDIT_MALFORMED);
	}
	for (size_t bytes = PROOF_EXTRA_MAX; bytes <= PROOF_EXTRA_MAX + 1; bytes++) {
		static char extra[PROOF_EXTRA_MAX + 1];
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		_cleanup_(buf_free) struct buf digits = BUF_INIT;
		base64_append(&digits, extra, bytes);
		buf_printf(&text, HEAD "extra %s\nindex 0\n\n" SIGNED, digits.data);
		assert_int_equal(proof_parse(buf_str(&text), &proof, NULL),
				 bytes == PROOF_EXTRA_MAX ? ERR_OK : ERR_AUDIT_MALFORMED);
	}
	for (size_t more = 0; more <= 1; more++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		buf_append_text(&text, "old 0\n\n");
		size_t len = NOTE_BYTES_MAX + more;
		memset(buf_reserve(&text, len), '\n', len);
		text.len += len;
		assert_int_equal(proof_parse(buf_str(&text), &proof, NULL),
				 more ? ERR_AUDIT_MALFORMED : ERR_OK);
	}
	_cleanup_(buf_free) struct buf large = BUF_INIT;
	memset(buf_reserve(&large, PROOF_BYTES_MAX + 1), 'x', PROOF_BYTES_MAX + 1);
	large.len = PROOF_BYTES_MAX + 1;
	assert_int_equal(proof_parse(buf_str(&large), &proof, NULL), ERR_AUDIT_MALFORMED);
}

/* From the tree to the text and back, with a signed checkpoint, as those do it who know nothing of the tree.
 */
static void a_proof_leads_to_its_checkpoint(void **state)
{
	(void)state;
	static const unsigned char seed[NOTE_KEY_BYTES] = { 7 };
	static const struct merkle_source source = { trees_node, NULL };
	enum { SIZE = 13, OLD = 6 };
	struct note_signer signer;
	struct checkpoint checkpoint = { .origin = STR("n/t/0"), .size = SIZE, .root = trees_root(0, SIZE) },
			  opened;
	_cleanup_(buf_free) struct buf note = BUF_INIT;
	assert_int_equal(note_signer_make(STR("n"), seed, &signer), ERR_OK);
	assert_int_equal(checkpoint_sign(&checkpoint, &signer, 1, &note), ERR_OK);
	for (int kind = PROOF_INCLUSION; kind <= PROOF_CONSISTENCY; kind++) {
		struct proof proof = { .kind = (enum proof_kind)kind,
				       .position = OLD,
				       .checkpoint = buf_str(&note) };
		struct merkle_hash from =
			kind == PROOF_INCLUSION ? trees_root(OLD, OLD + 1) : trees_root(0, OLD);
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		assert_int_equal(kind == PROOF_INCLUSION
					 ? merkle_prove_inclusion(&source, OLD, SIZE, &proof.path)
					 : merkle_prove_consistency(&source, OLD, SIZE, &proof.path),
				 ERR_OK);
		proof_write(&proof, &text);
		struct proof read;
		assert_int_equal(proof_parse(buf_str(&text), &read, NULL), ERR_OK);
		assert_int_equal(
			checkpoint_open(read.checkpoint, STR("n/t/0"), &signer.key, 1, &opened, NULL, NULL),
			ERR_OK);
		assert_true(proof_holds(&read, &from, &opened));
		read.position++;
		assert_false(proof_holds(&read, &from, &opened));
		read.position--;
		from.bytes[0] ^= 1;
		assert_false(proof_holds(&read, &from, &opened));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(what_is_no_proof_is_refused),
		cmocka_unit_test(a_proof_has_limits),
		cmocka_unit_test(a_proof_leads_to_its_checkpoint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
