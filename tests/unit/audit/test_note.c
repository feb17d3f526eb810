#include "audit/note.h"

#include <setjmp.h>

#include <cmocka.h>

#define TEXT                                                                                                 \
	"log.example/assayd/scored-queries/3\n"                                                              \
	"0\n"                                                                                                \
	"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"

#define DASH "\xe2\x80\x94 "

#define ONE_SIGNATURE                                                                                        \
	DASH "log.example/assayd "                                                                           \
	     "7EZe3YD1pz0M+7f+8bNhxf096RwUMCifbolSaoin9zUV0b5DI6xDybQ1P0j2uWSe4tUafw1mwPFuB2/"               \
	     "5BZXYR95q3Ak=\n"

#define OTHER_SIGNATURE                                                                                      \
	DASH "zeuge.example/\xc3\xa4 "                                                                       \
	     "5K5W/3YYzhWtne8/"                                                                              \
	     "cUGwOIUeyLQw+qegXqmUD5keH00VGlyggAno023sA7ZbmnYyzbNFuxZjmegpDOYh9+k+b78iXQE=\n"

/* What Go's golang.org/x/mod/sumdb/note makes of these seeds, names and that text. */
static const struct {
	str_t name, seed, signer, key, note;
} vectors[] = {
	{ STR("log.example/assayd"),
	  STR("\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20\x21"
	      "\x22\x23\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f\x30\x31"),
	  STR("PRIVATE+KEY+log.example/assayd+ec465edd+ARITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAx"),
	  STR("log.example/assayd+ec465edd+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"),
	  STR(TEXT "\n" ONE_SIGNATURE) },
	{ STR("zeuge.example/\xc3\xa4"),
	  STR("\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
	      "\x20\x21\x22\x23\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f"),
	  STR("PRIVATE+KEY+zeuge.example/\xc3\xa4+e4ae56ff+ARAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v"),
	  STR("zeuge.example/\xc3\xa4+e4ae56ff+AXd26HC5M1TyoLJMI/KjbMToDiIyGMG5eSb90Bg5aiub"),
	  STR(TEXT "\n" OTHER_SIGNATURE) },
};

enum { VECTORS = sizeof vectors / sizeof vectors[0] };

static struct note_signer signers[VECTORS];
static struct note_key keys[VECTORS];

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		assert_int_equal(note_signer_parse(vectors[i].signer, &signers[i], NULL), ERR_OK);
		assert_int_equal(note_key_parse(vectors[i].key, &keys[i], NULL), ERR_OK);
	}
	return 0;
}

static void keys_and_notes_are_those_of_go(void **state)
{
	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		struct note_signer signer;
		_cleanup_(buf_free) struct buf out = BUF_INIT;
		assert_int_equal(note_signer_make(vectors[i].name, (const unsigned char *)vectors[i].seed.ptr,
						  &signer),
				 ERR_OK);
		note_signer_write(&signer, &out);
		assert_true(str_equal(buf_str(&out), vectors[i].signer));
		buf_reset(&out);
		note_key_write(&signer.key, &out);
		assert_true(str_equal(buf_str(&out), vectors[i].key));
		assert_memory_equal(&signer.key, &keys[i], sizeof keys[i]);
		assert_memory_equal(&signer, &signers[i], sizeof signer);
		buf_reset(&out);
		assert_int_equal(note_sign(STR(TEXT), &signer, 1, &out), ERR_OK);
		assert_true(str_equal(buf_str(&out), vectors[i].note));
		note_signer_wipe(&signer);
		for (size_t j = 0; j < sizeof signer; j++)
			assert_int_equal(((const char *)&signer)[j], 0);
	}
}

static void each_trusted_key_that_signed_is_named(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf both = BUF_INIT;
	const struct note_key swapped[] = { keys[1], keys[0] };
	struct err_detail detail = { "" };
	uint64_t by = 0;
	str_t text;
	assert_int_equal(note_sign(STR(TEXT), signers, 2, &both), ERR_OK);
	assert_true(str_equal(buf_str(&both), STR(TEXT "\n" ONE_SIGNATURE OTHER_SIGNATURE)));
	assert_int_equal(note_open(buf_str(&both), keys, 2, &text, &by, NULL), ERR_OK);
	assert_int_equal(by, 3);
	assert_true(str_equal(text, STR(TEXT)));
	assert_int_equal(note_open(buf_str(&both), keys, 1, &text, &by, NULL), ERR_OK);
	assert_int_equal(by, 1);
	assert_int_equal(note_open(vectors[0].note, swapped, 2, &text, &by, NULL), ERR_OK);
	assert_int_equal(by, 2);
	assert_int_equal(note_open(vectors[0].note, keys, 2, &text, NULL, NULL), ERR_OK);
	assert_int_equal(note_open(vectors[0].note, &keys[1], 1, &text, &by, &detail), ERR_AUDIT_UNVERIFIED);
	assert_string_equal(detail.message, "none of the 1 trusted keys has signed that");
	assert_int_equal(note_open(vectors[0].note, NULL, 0, &text, &by, NULL), ERR_AUDIT_UNVERIFIED);
}

static void a_name_or_an_id_alone_is_another_key(void **state)
{
	(void)state;
	struct note_key other = keys[0];
	str_t text;
	other.id ^= 1;
	assert_int_equal(note_open(vectors[0].note, &other, 1, &text, NULL, NULL), ERR_AUDIT_UNVERIFIED);
	const struct note_key both[] = { other, keys[0] };
	assert_int_equal(note_open(vectors[0].note, both, 2, &text, NULL, NULL), ERR_OK);
	other = keys[0];
	other.name[0] = 'L';
	const struct note_key named[] = { other, keys[0] };
	assert_int_equal(note_open(vectors[0].note, named, 2, &text, NULL, NULL), ERR_OK);
	/* a key with that name and id whose signature it is not: the note is refused, whoever signed it
	 * besides */
	other = keys[0];
	other.public_key[0] ^= 1;
	const struct note_key wrong[] = { other, keys[0] };
	assert_int_equal(note_open(vectors[0].note, wrong, 2, &text, NULL, NULL), ERR_AUDIT_UNVERIFIED);
}

/* Whatever bit of a note is changed, it is refused. */
static void no_bit_of_a_note_can_be_changed(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf note = BUF_INIT;
	str_t text = STR("untouched");
	buf_append_str(&note, vectors[0].note);
	for (size_t bit = 0; bit < 8 * note.len; bit++) {
		note.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_not_equal(note_open(buf_str(&note), keys, 2, &text, NULL, NULL), ERR_OK);
		note.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t len = 0; len < note.len; len++)
		assert_int_not_equal(note_open((str_t){ note.data, len }, keys, 2, &text, NULL, NULL),
				     ERR_OK);
	assert_true(str_is(text, "untouched"));
}

static void what_is_no_note_is_refused(void **state)
{
	(void)state;
	static const struct {
		str_t note;
		err_t err;
	} cases[] = {
		{ STR(""), ERR_AUDIT_MALFORMED },
		{ STR("\n\n"), ERR_AUDIT_MALFORMED },
		{ STR("\n\n\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT ONE_SIGNATURE), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE "\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE "more\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\r\n" ONE_SIGNATURE), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\t\n\n" ONE_SIGNATURE), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\xff\n\n" ONE_SIGNATURE), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\xed\xa0\x80\n\n" ONE_SIGNATURE), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE "- other AAAAAAAA\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "other AAAAAA==\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "other AAAAAAAA \n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "other \n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "other\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH " AAAAAAAA\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "o+r AAAAAAAA\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "o\xc2\xa0r AAAAAAAA\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "o\xe3\x80\x80r AAAAAAAA\n"), ERR_AUDIT_MALFORMED },
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "other AAAAAAB=\n"), ERR_AUDIT_MALFORMED },
		/* others' signatures of other kinds and lengths do no harm */
		{ STR(TEXT "\n" DASH "other AAAAAAA=\n" ONE_SIGNATURE DASH "o AAAAAAAA\n"), ERR_OK },
		{ STR(TEXT "\n" ONE_SIGNATURE ONE_SIGNATURE), ERR_OK },
		/* a trusted key's name and id with something that is no signature */
		{ STR(TEXT "\n" ONE_SIGNATURE DASH "log.example/assayd 7EZe3QAA\n"), ERR_AUDIT_UNVERIFIED },
		{ STR(TEXT "more\n\n" ONE_SIGNATURE), ERR_AUDIT_UNVERIFIED },
		{ STR(TEXT "\n\n" ONE_SIGNATURE), ERR_AUDIT_UNVERIFIED },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		str_t text;
		struct err_detail detail = { "" };
		assert_int_equal(note_open(cases[i].note, keys, 1, &text, NULL, &detail), cases[i].err);
		assert_int_equal(detail.message[0] != '\0', cases[i].err != ERR_OK);
	}
}

static void a_text_may_have_empty_lines(void **state)
{
	(void)state;
	static const str_t texts[] = { STR("\n"), STR("\n\n"), STR("a\n\n\nb\n"), STR("a\n\n") };
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		_cleanup_(buf_free) struct buf note = BUF_INIT;
		str_t text;
		assert_int_equal(note_sign(texts[i], signers, 1, &note), ERR_OK);
		assert_int_equal(note_open(buf_str(&note), keys, 1, &text, NULL, NULL), ERR_OK);
		assert_true(str_equal(text, texts[i]));
	}
}

static void texts_that_cannot_be_in_a_note_are_not_signed(void **state)
{
	(void)state;
	static const str_t texts[] = { STR(""), STR("a"), STR("a\tb\n"), STR("\xc3\n"), STR("a\0\n") };
	_cleanup_(buf_free) struct buf note = BUF_INIT, large = BUF_INIT;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		assert_int_equal(note_sign(texts[i], signers, 1, &note), ERR_AUDIT_MALFORMED);
	memset(buf_reserve(&large, NOTE_BYTES_MAX), '\n', NOTE_BYTES_MAX);
	large.len = NOTE_BYTES_MAX - 382;
	assert_int_equal(note_sign(buf_str(&large), signers, 1, &note), ERR_AUDIT_MALFORMED);
	assert_int_equal(note.len, 0);
	large.len--;
	str_t text;
	assert_int_equal(note_sign(buf_str(&large), signers, 1, &note), ERR_OK);
	assert_int_equal(note_open(buf_str(&note), keys, 1, &text, NULL, NULL), ERR_OK);
}

static void a_note_has_limits(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf note = BUF_INIT;
	str_t text;
	buf_append_str(&note, vectors[0].note);
	for (size_t i = 1; i < NOTE_SIGNATURES_MAX; i++)
		buf_append_text(&note, DASH "other AAAAAAAA\n");
	assert_int_equal(note_open(buf_str(&note), keys, 1, &text, NULL, NULL), ERR_OK);
	buf_append_text(&note, DASH "other AAAAAAAA\n");
	assert_int_equal(note_open(buf_str(&note), keys, 1, &text, NULL, NULL), ERR_AUDIT_MALFORMED);
	/* one signature of 6 kB, as of other algorithms, and one beyond all of them */
	for (size_t digits = 8192; digits <= 16384; digits += 8192) {
		buf_reset(&note);
		buf_append_str(&note, vectors[0].note);
		buf_append_text(&note, DASH "other ");
		memset(buf_reserve(&note, digits), 'A', digits);
		note.len += digits;
		buf_append_char(&note, '\n');
		assert_int_equal(note_open(buf_str(&note), keys, 1, &text, NULL, NULL),
				 digits == 8192 ? ERR_OK : ERR_AUDIT_MALFORMED);
	}
	buf_reset(&note);
	memset(buf_reserve(&note, NOTE_BYTES_MAX), '\n', NOTE_BYTES_MAX);
	note.len = NOTE_BYTES_MAX;
	buf_append_str(&note, STR("\n" ONE_SIGNATURE));
	assert_int_equal(note_open(buf_str(&note), keys, 1, &text, NULL, NULL), ERR_AUDIT_MALFORMED);
}

static void names(void **state)
{
	(void)state;
	char longest[NOTE_NAME_MAX + 1];
	memset(longest, 'n', sizeof longest);
	assert_true(note_name_valid((str_t){ longest, NOTE_NAME_MAX }));
	assert_false(note_name_valid((str_t){ longest, NOTE_NAME_MAX + 1 }));
	assert_false(note_name_valid(STR("")));
	assert_false(note_name_valid(STR("a b")));
	assert_false(note_name_valid(STR("a+b")));
	assert_false(note_name_valid(STR("a\nb")));
	assert_false(note_name_valid(STR("a\0b")));
	assert_false(note_name_valid(STR("a\xc2\x85")));
	assert_false(note_name_valid(STR("a\xe2\x80\x8a")));
	assert_true(note_name_valid(STR("a\xe2\x80\x8b")));
	assert_false(note_name_valid(STR("a\xc3")));
	struct note_signer signer;
	assert_int_equal(note_signer_make(STR("a b"), keys[0].public_key, &signer), ERR_AUDIT_MALFORMED);
}

static void texts_of_keys_that_are_none(void **state)
{
	(void)state;
	static const struct {
		str_t text;
		const char *says; /* of the detail */
	} cases[] = {
		{ STR(""), "NAME+ID+BASE64" },
		{ STR("log.example/assayd"), "NAME+ID+BASE64" },
		{ STR("log.example/assayd+ec465edd"), "NAME+ID+BASE64" },
		{ STR("+ec465edd+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"), "name" },
		{ STR("a b+ec465edd+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"), "name" },
		{ STR("log.example/assayd+EC465EDD+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"), "8 hex" },
		{ STR("log.example/assayd+ec465ed+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"), "8 hex" },
		{ STR("log.example/assayd+ec465edg+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"), "8 hex" },
		{ STR("log.example/assayd+ec465edd+"), "33 bytes" },
		{ STR("log.example/assayd+ec465edd+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh\n"),
		  "33 bytes" },
		{ STR("log.example/assayd+ec465edd+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPhAAAA"),
		  "33 bytes" },
		{ STR("log.example/assayd+ec465edd+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTM="),
		  "33 bytes" },
		{ STR("log.example/assayd+ec465edd+AiUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"),
		  "Ed25519" },
		{ STR("log.example/assayd+ec465ede+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"),
		  "another" },
		{ STR("log.example/assayx+ec465edd+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPh"),
		  "another" },
		{ STR("log.example/assayd+ec465edd+ASUrZqZCZhyH08h5nycafv3PLhRndtCoBKo+8GoPUTPi"),
		  "another" },
	};
	struct note_key key;
	struct note_signer signer;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		struct err_detail detail = { "" };
		assert_int_equal(note_key_parse(cases[i].text, &key, &detail), ERR_AUDIT_MALFORMED);
		assert_non_null(strstr(detail.message, cases[i].says));
		buf_append_text(&text, "PRIVATE+KEY+");
		buf_append_str(&text, cases[i].text);
		detail.message[0] = '\0';
		assert_int_equal(note_signer_parse(buf_str(&text), &signer, &detail), ERR_AUDIT_MALFORMED);
		assert_non_null(strstr(detail.message, cases[i].says));
		assert_null(strstr(detail.message, "ASUr"));
	}
	struct err_detail detail = { "" };
	assert_int_equal(note_key_parse(vectors[0].signer, &key, &detail), ERR_AUDIT_MALFORMED);
	assert_non_null(strstr(detail.message, "has to stay secret"));
	assert_int_equal(note_signer_parse(vectors[0].key, &signer, &detail), ERR_AUDIT_MALFORMED);
	assert_non_null(strstr(detail.message, "begin with PRIVATE+KEY+"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_notes_are_those_of_go),
		cmocka_unit_test(each_trusted_key_that_signed_is_named),
		cmocka_unit_test(a_name_or_an_id_alone_is_another_key),
		cmocka_unit_test(no_bit_of_a_note_can_be_changed),
		cmocka_unit_test(what_is_no_note_is_refused),
		cmocka_unit_test(a_text_may_have_empty_lines),
		cmocka_unit_test(texts_that_cannot_be_in_a_note_are_not_signed),
		cmocka_unit_test(a_note_has_limits),
		cmocka_unit_test(names),
		cmocka_unit_test(texts_of_keys_that_are_none),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
