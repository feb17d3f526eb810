#include "trees.h"

static const struct merkle_source source = { trees_node, NULL };

static void assert_hex(const struct merkle_hash *hash, const char *expected)
{
	char hex[DIGEST_HEX_SIZE];
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", hash->bytes[i]);
	assert_string_equal(hex, expected);
}

/* Roots of the trees of eight leaves by which logs of RFC 6962 are tested everywhere. */
static void known_roots(void **state)
{
	(void)state;
	static const str_t leaves[] = {
		STR(""),
		STR("\x00"),
		STR("\x10"),
		STR("\x20\x21"),
		STR("\x30\x31"),
		STR("\x40\x41\x42\x43"),
		STR("\x50\x51\x52\x53\x54\x55\x56\x57"),
		STR("\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f"),
	};
	static const char *const roots[] = {
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	};
	struct merkle_range range = { 0 };
	struct merkle_hash hash;
	for (size_t size = 0; size <= 8; size++) {
		merkle_range_root(&range, &hash);
		assert_hex(&hash, roots[size]);
		if (size == 8)
			return;
		merkle_hash_leaf(leaves[size].ptr, leaves[size].len, &hash);
		merkle_range_append(&range, &hash, NULL, NULL);
	}
}

struct visited {
	uint64_t count;
	uint64_t leaves;
};

static void visit(void *context, unsigned level, uint64_t index, const struct merkle_hash *hash)
{
	struct visited *visited = context;
	struct merkle_hash expected = trees_root(index << level, (index + 1) << level);
	assert_true(merkle_hash_equal(hash, &expected));
	assert_int_equal((index + 1) << level, visited->leaves + 1);
	visited->count++;
}

static void a_range_grows_to_the_defined_roots_and_visits_every_node_once(void **state)
{
	(void)state;
	struct merkle_range range = { 0 };
	struct visited visited = { 0 };
	struct merkle_hash hash, expected;
	for (uint64_t size = 0;; size++) {
		expected = trees_root(0, size);
		merkle_range_root(&range, &hash);
		assert_true(merkle_hash_equal(&hash, &expected));
		assert_int_equal(merkle_source_root(&source, size, &hash), ERR_OK);
		assert_true(merkle_hash_equal(&hash, &expected));
		assert_int_equal(visited.count, 2 * size - (uint64_t)__builtin_popcountll(size));
		if (size == TREES_SIZE_MAX)
			return;
		visited.leaves = size;
		trees_leaf_hash(size, &hash);
		merkle_range_append(&range, &hash, visit, &visited);
		assert_int_equal(range.size, size + 1);
	}
}

static void a_range_comes_back_from_its_state(void **state)
{
	(void)state;
	struct merkle_range range = { 0 }, again;
	struct merkle_hash hash, root, expected;
	for (uint64_t size = 0; size < TREES_SIZE_MAX; size++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		buf_append_text(&text, "before");
		merkle_range_encode(&range, &text);
		str_t bytes = { text.data + 6, text.len - 6 };
		assert_int_equal(bytes.len, 13 + 32 * __builtin_popcountll(size));
		assert_int_equal(merkle_range_decode(bytes, &again), ERR_OK);
		trees_leaf_hash(size, &hash);
		merkle_range_append(&range, &hash, NULL, NULL);
		merkle_range_append(&again, &hash, NULL, NULL);
		expected = trees_root(0, size + 1);
		merkle_range_root(&again, &root);
		assert_true(merkle_hash_equal(&root, &expected));
	}
}

static void a_damaged_state_is_refused(void **state)
{
	(void)state;
	struct merkle_range range = { 0 }, again = { .size = 77 };
	struct merkle_hash hash;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	for (uint64_t number = 0; number < 11; number++) {
		trees_leaf_hash(number, &hash);
		merkle_range_append(&range, &hash, NULL, NULL);
	}
	merkle_range_encode(&range, &text);
	for (size_t len = 0; len < text.len; len++)
		assert_int_equal(merkle_range_decode((str_t){ text.data, len }, &again), ERR_AUDIT_MALFORMED);
	assert_int_equal(merkle_range_decode((str_t){ text.data, text.len + 1 }, &again),
			 ERR_AUDIT_MALFORMED);
	for (size_t bit = 0; bit < 8 * text.len; bit++) {
		text.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(merkle_range_decode(buf_str(&text), &again), ERR_AUDIT_MALFORMED);
		text.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	assert_int_equal(again.size, 77);
}

/* The size may be any; the hashes then are whatever they are. */
static void the_largest_range_has_its_state_and_no_larger_one(void **state)
{
	(void)state;
	struct merkle_range range = { .size = MERKLE_SIZE_MAX - 1 }, again;
	_cleanup_(buf_free) struct buf text = BUF_INIT, larger = BUF_INIT;
	merkle_range_encode(&range, &text);
	assert_true(text.len <= MERKLE_STATE_MAX);
	assert_int_equal(merkle_range_decode(buf_str(&text), &again), ERR_OK);
	merkle_range_append(&again, &range.hashes[0], NULL, NULL);
	assert_int_equal(again.size, MERKLE_SIZE_MAX);
	range.size = MERKLE_SIZE_MAX + 1;
	merkle_range_encode(&range, &larger);
	assert_int_equal(merkle_range_decode(buf_str(&larger), &again), ERR_AUDIT_MALFORMED);
}

static bool included(const struct merkle_proof *proof, uint64_t index, uint64_t size)
{
	struct merkle_hash leaf = trees_root(index, index + 1), root = trees_root(0, size);
	return merkle_verify_inclusion(proof, index, size, &leaf, &root);
}

static bool consistent(const struct merkle_proof *proof, uint64_t old, uint64_t size)
{
	struct merkle_hash old_root = trees_root(0, old), root = trees_root(0, size);
	return merkle_verify_consistency(proof, old, size, &old_root, &root);
}

static void all_proofs_of_inclusion(void **state)
{
	(void)state;
	for (uint64_t size = 1; size <= TREES_SIZE_MAX; size++)
		for (uint64_t index = 0; index < size; index++) {
			struct merkle_proof proof, expected = { 0 };
			trees_path(index, 0, size, &expected);
			assert_int_equal(merkle_prove_inclusion(&source, index, size, &proof), ERR_OK);
			assert_true(trees_same(&proof, &expected));
			assert_true(included(&proof, index, size));
		}
}

static void all_proofs_of_consistency(void **state)
{
	(void)state;
	for (uint64_t size = 0; size <= TREES_SIZE_MAX; size++)
		for (uint64_t old = 0; old <= size; old++) {
			struct merkle_proof proof, expected = { 0 };
			if (old > 0)
				trees_subproof(old, 0, size, true, &expected);
			assert_int_equal(merkle_prove_consistency(&source, old, size, &proof), ERR_OK);
			assert_true(trees_same(&proof, &expected));
			assert_true(consistent(&proof, old, size));
		}
}

enum { TAMPERED = 40 };

/* Proofs with a hash changed, left out, doubled or added; false for each. */
static void each_change(const struct merkle_proof *proof,
			bool (*holds)(const struct merkle_proof *, uint64_t, uint64_t), uint64_t position,
			uint64_t size)
{
	struct merkle_proof other;
	for (size_t i = 0; i < proof->count; i++) {
		other = *proof;
		other.hashes[i].bytes[(position + i) % 32] ^= 1;
		assert_false(holds(&other, position, size));
		other = *proof;
		memmove(&other.hashes[i], &other.hashes[i + 1],
			(other.count - i - 1) * sizeof other.hashes[0]);
		other.count--;
		assert_false(holds(&other, position, size));
	}
	for (size_t i = 0; i <= proof->count; i++) {
		other = *proof;
		memmove(&other.hashes[i + 1], &other.hashes[i], (other.count - i) * sizeof other.hashes[0]);
		other.count++;
		other.hashes[i] = other.hashes[i > 0 ? i - 1 : proof->count];
		assert_false(holds(&other, position, size));
	}
	other = *proof;
	other.count = MERKLE_PROOF_MAX + 1;
	assert_false(holds(&other, position, size));
}

static void what_was_tampered_with_is_not_included(void **state)
{
	(void)state;
	for (uint64_t size = 1; size <= TAMPERED; size++)
		for (uint64_t index = 0; index < size; index++) {
			struct merkle_proof proof;
			assert_int_equal(merkle_prove_inclusion(&source, index, size, &proof), ERR_OK);
			each_change(&proof, included, index, size);
			struct merkle_hash leaf = trees_root(index, index + 1), root = trees_root(0, size);
			for (uint64_t other = 0; other <= size; other++)
				assert_int_equal(merkle_verify_inclusion(&proof, other, size, &leaf, &root),
						 other == index);
			leaf.bytes[31] ^= 0x80;
			assert_false(merkle_verify_inclusion(&proof, index, size, &leaf, &root));
			leaf.bytes[31] ^= 0x80;
			root.bytes[0] ^= 1;
			assert_false(merkle_verify_inclusion(&proof, index, size, &leaf, &root));
		}
}

static void what_was_tampered_with_is_not_consistent(void **state)
{
	(void)state;
	for (uint64_t size = 0; size <= TAMPERED; size++)
		for (uint64_t old = 0; old <= size; old++) {
			struct merkle_proof proof;
			assert_int_equal(merkle_prove_consistency(&source, old, size, &proof), ERR_OK);
			each_change(&proof, consistent, old, size);
			struct merkle_hash old_root = trees_root(0, old), root = trees_root(0, size);
			old_root.bytes[5] ^= 4;
			assert_false(merkle_verify_consistency(&proof, old, size, &old_root, &root));
			old_root.bytes[5] ^= 4;
			root.bytes[5] ^= 4;
			/* the empty log is the beginning of any */
			assert_int_equal(merkle_verify_consistency(&proof, old, size, &old_root, &root),
					 old == 0 && size > 0);
		}
}

static void nothing_is_proven_beyond_the_log(void **state)
{
	(void)state;
	struct merkle_proof proof = { 0 };
	struct merkle_hash hash = trees_root(0, 0);
	assert_int_equal(merkle_prove_inclusion(&source, 0, 0, &proof), ERR_AUDIT_RANGE);
	assert_int_equal(merkle_prove_inclusion(&source, 7, 7, &proof), ERR_AUDIT_RANGE);
	assert_int_equal(merkle_prove_inclusion(&source, 7, MERKLE_SIZE_MAX + 1, &proof), ERR_AUDIT_RANGE);
	assert_int_equal(merkle_prove_consistency(&source, 8, 7, &proof), ERR_AUDIT_RANGE);
	assert_int_equal(merkle_prove_consistency(&source, 8, MERKLE_SIZE_MAX + 1, &proof), ERR_AUDIT_RANGE);
	assert_int_equal(merkle_source_root(&source, MERKLE_SIZE_MAX + 1, &hash), ERR_AUDIT_RANGE);
	assert_false(merkle_verify_inclusion(&proof, 0, 0, &hash, &hash));
	assert_false(merkle_verify_inclusion(&proof, UINT64_MAX, UINT64_MAX, &hash, &hash));
	assert_false(merkle_verify_inclusion(&proof, 0, UINT64_MAX, &hash, &hash));
	assert_false(merkle_verify_consistency(&proof, UINT64_MAX, UINT64_MAX, &hash, &hash));
	assert_false(merkle_verify_consistency(&proof, 2, 1, &hash, &hash));
	assert_false(merkle_verify_consistency(&proof, 3, 4, &hash, &hash));
	assert_false(merkle_verify_consistency(&proof, 3, UINT64_MAX, &hash, &hash));
}

static err_t any_node(void *context, unsigned level, uint64_t index, struct merkle_hash *ret_hash)
{
	(void)context;
	assert_true(level < MERKLE_LEVELS && (index + 1) << level <= MERKLE_SIZE_MAX);
	memset(ret_hash->bytes, (int)(level ^ (unsigned)index), sizeof ret_hash->bytes);
	return ERR_OK;
}

/* The longest proofs there are fit; hashes are made up, so only their number says something. */
static void the_longest_proofs_fit(void **state)
{
	(void)state;
	static const struct merkle_source any = { any_node, NULL };
	static const struct {
		uint64_t position, size;
		size_t included, consistent;
	} cases[] = {
		{ 0, MERKLE_SIZE_MAX, 62, 0 },
		{ 1, MERKLE_SIZE_MAX, 62, 62 },
		{ 3, MERKLE_SIZE_MAX, 62, 63 },
		{ 3, MERKLE_SIZE_MAX - 1, 62, 63 },
		{ MERKLE_SIZE_MAX - 1, MERKLE_SIZE_MAX, 62, 63 },
		{ (MERKLE_SIZE_MAX >> 1) + 1, MERKLE_SIZE_MAX - 1, 62, 63 },
		{ MERKLE_SIZE_MAX >> 1, MERKLE_SIZE_MAX, 62, 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct merkle_proof proof;
		assert_int_equal(merkle_prove_inclusion(&any, cases[i].position, cases[i].size, &proof),
				 ERR_OK);
		assert_int_equal(proof.count, cases[i].included);
		assert_int_equal(merkle_prove_consistency(&any, cases[i].position, cases[i].size, &proof),
				 ERR_OK);
		assert_int_equal(proof.count, cases[i].consistent);
	}
}

static err_t fail_at_level(void *context, unsigned level, uint64_t index, struct merkle_hash *ret_hash)
{
	if (level == *(unsigned *)context)
		return ERR_IO;
	return trees_node(NULL, level, index, ret_hash);
}

static void an_error_of_the_source_is_handed_on(void **state)
{
	(void)state;
	for (unsigned level = 0; level < 4; level++) {
		struct merkle_source failing = { fail_at_level, &level };
		struct merkle_proof proof = { .count = 99 };
		struct merkle_hash hash;
		assert_int_equal(merkle_source_root(&failing, 31, &hash), ERR_IO);
		assert_int_equal(merkle_prove_inclusion(&failing, 0, 31, &proof), ERR_IO);
		assert_int_equal(merkle_prove_consistency(&failing, 3, 31, &proof), ERR_IO);
		assert_int_equal(proof.count, 99);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_roots),
		cmocka_unit_test(a_range_grows_to_the_defined_roots_and_visits_every_node_once),
		cmocka_unit_test(a_range_comes_back_from_its_state),
		cmocka_unit_test(a_damaged_state_is_refused),
		cmocka_unit_test(the_largest_range_has_its_state_and_no_larger_one),
		cmocka_unit_test(all_proofs_of_inclusion),
		cmocka_unit_test(all_proofs_of_consistency),
		cmocka_unit_test(what_was_tampered_with_is_not_included),
		cmocka_unit_test(what_was_tampered_with_is_not_consistent),
		cmocka_unit_test(nothing_is_proven_beyond_the_log),
		cmocka_unit_test(the_longest_proofs_fit),
		cmocka_unit_test(an_error_of_the_source_is_handed_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
