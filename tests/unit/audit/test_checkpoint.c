#include "audit/checkpoint.h"

#include <setjmp.h>

#include <cmocka.h>

#define ORIGIN "log.example/assayd/scored-queries/3"
#define ROOT   "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define EMPTY  "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

static struct checkpoint checkpoint_of(str_t origin, uint64_t size, str_t extensions)
{
	struct checkpoint checkpoint = { .origin = origin, .size = size, .extensions = extensions };
	for (unsigned char i = 0; i < DIGEST_BYTES; i++)
		checkpoint.root.bytes[i] = i;
	if (size == 0)
		hash_sha256("", 0, checkpoint.root.bytes);
	return checkpoint;
}

static void texts(void **state)
{
	(void)state;
	static const struct {
		uint64_t size;
		str_t extensions;
		str_t text;
	} cases[] = {
		{ 20852163, STR(""), STR(ORIGIN "\n20852163\n" ROOT "\n") },
		{ 1, STR_NONE, STR(ORIGIN "\n1\n" ROOT "\n") },
		{ 0, STR(""), STR(ORIGIN "\n0\n" EMPTY "\n") },
		{ MERKLE_SIZE_MAX, STR("a b\n+ \n"),
		  STR(ORIGIN "\n4611686018427387904\n" ROOT "\na b\n+ \n") },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct checkpoint checkpoint = checkpoint_of(STR(ORIGIN), cases[i].size, cases[i].extensions),
				  again;
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		assert_int_equal(checkpoint_write(&checkpoint, &text), ERR_OK);
		assert_true(str_equal(buf_str(&text), cases[i].text));
		assert_int_equal(checkpoint_parse(buf_str(&text), &again, NULL), ERR_OK);
		assert_true(str_equal(again.origin, checkpoint.origin));
		assert_int_equal(again.size, checkpoint.size);
		assert_true(merkle_hash_equal(&again.root, &checkpoint.root));
		assert_int_equal(again.extensions.len, checkpoint.extensions.len);
	}
}

static void what_is_no_checkpoint_is_refused(void **state)
{
	(void)state;
	static const struct {
		str_t text;
		const char *says; /* of the detail */
	} cases[] = {
		{ STR(""), "three lines" },
		{ STR(ORIGIN "\n"), "three lines" },
		{ STR(ORIGIN "\n1\n"), "three lines" },
		{ STR(ORIGIN "\n1\n" ROOT), "three lines" },
		{ STR("\n1\n" ROOT "\n"), "origin" },
		{ STR("a\tb\n1\n" ROOT "\n"), "origin" },
		{ STR("\xff\n1\n" ROOT "\n"), "origin" },
		{ STR(ORIGIN "\n\n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n01\n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n00\n" EMPTY "\n"), "size in decimal" },
		{ STR(ORIGIN "\n+1\n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n-1\n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n1 \n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n0x1\n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n4611686018427387905\n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n9999999999999999999\n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n18446744073709551617\n" ROOT "\n"), "size in decimal" },
		{ STR(ORIGIN "\n1\n\n"), "32 bytes" },
		{ STR(ORIGIN "\n1\n" ROOT " \n"), "32 bytes" },
		{ STR(ORIGIN "\n1\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==\n"), "32 bytes" },
		{ STR(ORIGIN "\n1\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g\n"), "32 bytes" },
		{ STR(ORIGIN "\n0\n" ROOT "\n"), "empty tree" },
		{ STR(ORIGIN "\n1\n" ROOT "\n\n"), "lines" },
		{ STR(ORIGIN "\n1\n" ROOT "\nmore"), "lines" },
		{ STR(ORIGIN "\n1\n" ROOT "\nmore\n\nmore\n"), "lines" },
		{ STR(ORIGIN "\n1\n" ROOT "\nmo\x1fre\n"), "lines" },
	};
	struct checkpoint checkpoint;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct err_detail detail = { "" };
		assert_int_equal(checkpoint_parse(cases[i].text, &checkpoint, &detail), ERR_AUDIT_MALFORMED);
		assert_non_null(strstr(detail.message, cases[i].says));
	}
}

static void what_cannot_be_read_is_not_written(void **state)
{
	(void)state;
	static char filler[CHECKPOINT_EXTENSIONS_MAX + 2];
	memset(filler, 'x', sizeof filler);
	filler[CHECKPOINT_EXTENSIONS_MAX] = '\n';
	struct checkpoint cases[] = {
		checkpoint_of(STR(""), 1, STR("")),
		checkpoint_of(STR_NONE, 1, STR("")),
		checkpoint_of(STR("a\nb"), 1, STR("")),
		checkpoint_of((str_t){ filler, CHECKPOINT_ORIGIN_MAX + 1 }, 1, STR("")),
		checkpoint_of(STR(ORIGIN), MERKLE_SIZE_MAX + 1, STR("")),
		checkpoint_of(STR(ORIGIN), 1, STR("no newline")),
		checkpoint_of(STR(ORIGIN), 1, STR("a\n\n")),
		checkpoint_of(STR(ORIGIN), 1, (str_t){ filler, CHECKPOINT_EXTENSIONS_MAX + 1 }),
		checkpoint_of(STR(ORIGIN), 1, STR("")),
	};
	size_t count = sizeof cases / sizeof cases[0];
	cases[count - 1].size = 0;
	for (size_t i = 0; i < count; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		assert_int_equal(checkpoint_write(&cases[i], &text), ERR_AUDIT_MALFORMED);
		assert_int_equal(text.len, 0);
	}
	struct checkpoint longest = checkpoint_of((str_t){ filler, CHECKPOINT_ORIGIN_MAX }, 1,
						  (str_t){ filler + 1, CHECKPOINT_EXTENSIONS_MAX });
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	assert_int_equal(checkpoint_write(&longest, &text), ERR_OK);
	assert_int_equal(checkpoint_parse(buf_str(&text), &longest, NULL), ERR_OK);
}

static void origins(void **state)
{
	(void)state;
	static const struct {
		str_t name, topic;
		int32_t partition;
		const char *origin; /* NULL: refused */
	} cases[] = {
		{ STR("log.example/assayd"), STR("scored-queries"), 3, ORIGIN },
		{ STR("a"), STR("Ab.9_-"), INT32_MAX, "a/Ab.9_-/2147483647" },
		{ STR("a"), STR("b"), -1, NULL },
		{ STR("a b"), STR("b"), 0, NULL },
		{ STR("a"), STR(""), 0, NULL },
		{ STR("a"), STR("b/0"), 0, NULL },
		{ STR("a"), STR("b\n"), 0, NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(buf_free) struct buf origin = BUF_INIT;
		err_t err = checkpoint_origin(cases[i].name, cases[i].topic, cases[i].partition, &origin);
		assert_int_equal(err, cases[i].origin ? ERR_OK : ERR_AUDIT_MALFORMED);
		assert_true(str_is(buf_str(&origin), cases[i].origin ? cases[i].origin : ""));
		if (!err)
			assert_true(str_equal(
				checkpoint_origin_name(buf_str(&origin), cases[i].topic, cases[i].partition),
				cases[i].name));
	}
	static const struct {
		str_t origin, topic;
		int32_t partition;
	} others[] = {
		{ STR(ORIGIN), STR("scored-queries"), 4 },
		{ STR(ORIGIN), STR("queries"), 3 },
		{ STR("/b/0"), STR("b"), 0 },
		{ STR("b/0"), STR("b"), 0 },
		{ STR("a b/b/0"), STR("b"), 0 },
		{ STR_NONE, STR("b"), 0 },
	};
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		assert_false(str_present(
			checkpoint_origin_name(others[i].origin, others[i].topic, others[i].partition)));
}

static void a_signed_checkpoint_is_its_logs_alone(void **state)
{
	(void)state;
	static const unsigned char seed[NOTE_KEY_BYTES] = { 7 };
	struct note_signer signer;
	struct checkpoint checkpoint = checkpoint_of(STR(ORIGIN), 12, STR("")), opened = { 0 };
	_cleanup_(buf_free) struct buf note = BUF_INIT, other = BUF_INIT;
	struct err_detail detail = { "" };
	uint64_t by = 0;
	assert_int_equal(note_signer_make(STR("log.example/assayd"), seed, &signer), ERR_OK);
	assert_int_equal(checkpoint_sign(&checkpoint, &signer, 1, &note), ERR_OK);
	assert_int_equal(checkpoint_open(buf_str(&note), STR(ORIGIN), &signer.key, 1, &opened, &by, &detail),
			 ERR_OK);
	assert_int_equal(by, 1);
	assert_int_equal(opened.size, 12);
	assert_true(merkle_hash_equal(&opened.root, &checkpoint.root));
	assert_int_equal(checkpoint_open(buf_str(&note), STR("log.example/assayd/scored-queries/4"),
					 &signer.key, 1, &opened, NULL, &detail),
			 ERR_AUDIT_UNVERIFIED);
	assert_string_equal(detail.message, "that is the checkpoint of " ORIGIN
					    ", not of log.example/assayd/scored-queries/4");
	assert_int_equal(checkpoint_open(buf_str(&note), STR(ORIGIN), NULL, 0, &opened, NULL, &detail),
			 ERR_AUDIT_UNVERIFIED);
	assert_int_equal(note_sign(STR("something else\n"), &signer, 1, &other), ERR_OK);
	assert_int_equal(
		checkpoint_open(buf_str(&other), STR(ORIGIN), &signer.key, 1, &opened, NULL, &detail),
		ERR_AUDIT_MALFORMED);
	checkpoint.size = 0;
	assert_int_equal(checkpoint_sign(&checkpoint, &signer, 1, &note), ERR_AUDIT_MALFORMED);
	assert_int_equal(opened.size, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(what_is_no_checkpoint_is_refused),
		cmocka_unit_test(what_cannot_be_read_is_not_written),
		cmocka_unit_test(origins),
		cmocka_unit_test(a_signed_checkpoint_is_its_logs_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
