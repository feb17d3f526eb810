#include "common/hash.h"

#include <setjmp.h>

#include <cmocka.h>

/* The check value of the CRC catalogue for "123456789", and others of the same algorithm (zlib's). */
static void crc32(void **state)
{
	(void)state;
	assert_int_equal(hash_crc32("", 0), 0);
	assert_int_equal(hash_crc32("123456789", 9), 0xcbf43926u);
	assert_int_equal(hash_crc32("a", 1), 0xe8b7be43u);
	assert_int_equal(hash_crc32("\0\0\0\0", 4), 0x2144df1cu);
}

/* FIPS 180-4 examples. */
static void sha256(void **state)
{
	(void)state;
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char hex[DIGEST_HEX_SIZE];
		unsigned char digest[DIGEST_BYTES];
		hash_sha256_hex(cases[i].text, strlen(cases[i].text), hex);
		assert_string_equal(hex, cases[i].hex);
		hash_sha256(cases[i].text, strlen(cases[i].text), digest);
		char first[3];
		snprintf(first, sizeof first, "%02x", digest[0]);
		assert_memory_equal(first, cases[i].hex, 2);
	}
}

static void sha256_of_parts(void **state)
{
	(void)state;
	static const str_t parts[] = { STR("a"), STR_NONE, STR(""), STR("bc") };
	unsigned char whole[DIGEST_BYTES], joined[DIGEST_BYTES];
	hash_sha256("abc", 3, whole);
	hash_sha256_parts(parts, sizeof parts / sizeof parts[0], joined);
	assert_memory_equal(joined, whole, sizeof whole);
	hash_sha256("", 0, whole);
	hash_sha256_parts(NULL, 0, joined);
	assert_memory_equal(joined, whole, sizeof whole);
}

/* Vectors of the reference implementation: key 00 01 … 0f, input 00 01 … */
static void siphash(void **state)
{
	(void)state;
	static const struct hash_key key = { { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u } };
	static const unsigned char input[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };
	static const struct {
		size_t len;
		uint64_t hash;
	} cases[] = {
		{ 0, 0x726fdb47dd0e0e31u },
		{ 1, 0x74f839c593dc67fdu },
		{ 8, 0x93f5f5799a932462u },
		{ 15, 0xa129ca6149be45e5u },
	};
	static const struct {
		size_t len;
		struct hash_128 hash;
	} cases_128[] = {
		{ 0, { 0xe6a825ba047f81a3u, 0x930255c71472f66du } },
		{ 1, { 0x44af996bd8c187dau, 0x45fc229b11597634u } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(hash_keyed(&key, input, cases[i].len), cases[i].hash);
	for (size_t i = 0; i < sizeof cases_128 / sizeof cases_128[0]; i++)
		assert_true(hash_128_equal(hash_keyed_128(&key, input, cases_128[i].len), cases_128[i].hash));
}

/* The same within the process, different for every prefix and for texts that differ in one bit. */
static void seeded(void **state)
{
	(void)state;
	enum { LENGTH = 64 };
	char text[LENGTH] = "The seed is drawn once for a process; rests of eight matter";
	uint64_t seen[LENGTH];
	for (size_t len = 0; len < LENGTH; len++) {
		seen[len] = hash_seeded(text, len);
		assert_true(hash_seeded(text, len) == seen[len]);
		for (size_t i = 0; i < len; i++)
			assert_true(seen[i] != seen[len]);
		for (size_t i = 0; i < len; i++) {
			text[i] ^= 1;
			assert_true(hash_seeded(text, len) != seen[len]);
			text[i] ^= 1;
		}
	}
}

static void an_empty_map(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t expected = 0; expected < 3; expected++) {
		struct hash_map map;
		hash_map_init(&map, arena, expected);
		assert_null(hash_map_get(&map, STR("x")));
		assert_null(hash_map_get(&map, STR("")));
	}
}

static void count_visit(str_t key, void *value, void *context)
{
	unsigned char *visits = context;
	assert_true(str_is(key, value)); /* every value is its own key */
	visits[strtoul((const char *)value + 1, NULL, 10)]++;
}

/* From nothing to many: all are found, none twice, and what is not there is not found. */
static void map_growth(void **state)
{
	(void)state;
	enum { COUNT = 5000 };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct hash_map map;
	hash_map_init(&map, arena, 0);
	for (int i = 0; i < COUNT; i++) {
		str_t key = arena_printf(arena, "k%d", i);
		char *value = arena_strdup(arena, key.ptr);
		assert_null(hash_map_set(&map, key, value));
		assert_int_equal(map.count, i + 1);
		assert_true(2 * map.count <= map.capacity);
		assert_int_equal(map.capacity & (map.capacity - 1), 0);
	}
	for (int i = 0; i < COUNT; i++) {
		char key[20];
		snprintf(key, sizeof key, "k%d", i);
		assert_string_equal(hash_map_get(&map, str_from(key)), key);
		snprintf(key, sizeof key, "n%d", i);
		assert_null(hash_map_get(&map, str_from(key)));
	}
	unsigned char visits[COUNT] = { 0 };
	hash_map_each(&map, count_visit, visits);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(visits[i], 1);
}

static void a_map_of_the_expected_size_does_not_grow(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t expected = 1; expected < 100; expected++) {
		struct hash_map map;
		hash_map_init(&map, arena, expected);
		size_t capacity = map.capacity;
		for (size_t i = 0; i < expected; i++)
			hash_map_set(&map, arena_printf(arena, "%zu", i), arena);
		assert_int_equal(map.capacity, capacity);
	}
}

static void setting_again(void **state)
{
	(void)state;
	int one, two;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct hash_map map;
	hash_map_init(&map, arena, 4);
	assert_null(hash_map_set(&map, STR("key"), &one));
	assert_ptr_equal(hash_map_set(&map, STR("key"), &two), &one);
	assert_ptr_equal(hash_map_get(&map, STR("key")), &two);
	assert_int_equal(map.count, 1);
	assert_null(hash_map_get(&map, STR("Key")));
	assert_null(hash_map_get(&map, STR("ke")));
	assert_null(hash_map_get(&map, STR("key\0")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32),	   cmocka_unit_test(sha256),
		cmocka_unit_test(sha256_of_parts), cmocka_unit_test(siphash),
		cmocka_unit_test(seeded),	   cmocka_unit_test(an_empty_map),
		cmocka_unit_test(map_growth),	   cmocka_unit_test(a_map_of_the_expected_size_does_not_grow),
		cmocka_unit_test(setting_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
