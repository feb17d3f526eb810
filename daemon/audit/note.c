#include "audit/note.h"

#include "audit/lines.h"
#include "common/cleanup.h"
#include "common/utf8.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/evp.h>

enum { ED25519 = 1, SIGNATURE_BYTES = 64, ID_BYTES = 4, ID_DIGITS = 8, SIGNATURE_BYTES_MAX = 8192 };

static const str_t signature_mark = STR("\xe2\x80\x94 ");
static const str_t private_mark = STR("PRIVATE+KEY+");

DEFINE_CLEANUP(EVP_PKEY, evp_key_cleanup, EVP_PKEY_free)
DEFINE_CLEANUP(EVP_MD_CTX, digest_cleanup, EVP_MD_CTX_free)

/* ---- keys ---- */

/* What Unicode calls white space, beyond the control characters. */
static bool is_space(uint32_t point)
{
	return point == ' ' || point == 0x85 || point == 0xa0 || point == 0x1680 ||
	       (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 ||
	       point == 0x202f || point == 0x205f || point == 0x3000;
}

static bool is_name(str_t name)
{
	if (name.len == 0)
		return false;
	for (size_t i = 0, len; i < name.len; i += len) {
		uint32_t point;
		len = utf8_decode(name.ptr + i, name.len - i, &point);
		if (len == 0 || point < ' ' || point == '+' || is_space(point))
			return false;
	}
	return true;
}

bool note_name_valid(str_t name)
{
	return name.len <= NOTE_NAME_MAX && is_name(name);
}

static uint32_t read_id(const unsigned char bytes[ID_BYTES])
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_id(uint32_t id, unsigned char bytes[ID_BYTES])
{
	for (unsigned i = 0; i < ID_BYTES; i++)
		bytes[i] = (unsigned char)(id >> (24 - 8 * i));
}

/* The key of that name; sets its id. */
static void make_key(str_t name, const unsigned char public_key[NOTE_KEY_BYTES], struct note_key *ret_key)
{
	unsigned char digest[DIGEST_BYTES];
	const str_t parts[] = { name, STR("\n\1"), { (const char *)public_key, NOTE_KEY_BYTES } };
	*ret_key = (struct note_key){ 0 };
	memcpy(ret_key->name, name.ptr, name.len);
	memcpy(ret_key->public_key, public_key, NOTE_KEY_BYTES);
	hash_sha256_parts(parts, sizeof parts / sizeof *parts, digest);
	ret_key->id = read_id(digest);
}

static EVP_PKEY *load_private(const unsigned char seed[NOTE_KEY_BYTES])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, NOTE_KEY_BYTES);
	if (!key)
		abort();
	return key;
}

err_t note_signer_make(str_t name, const unsigned char seed[NOTE_KEY_BYTES], struct note_signer *ret_signer)
{
	unsigned char public_key[NOTE_KEY_BYTES];
	size_t len = sizeof public_key;
	if (!note_name_valid(name))
		return ERR_AUDIT_MALFORMED;
	_cleanup_(evp_key_cleanup) EVP_PKEY *key = load_private(seed);
	if (!EVP_PKEY_get_raw_public_key(key, public_key, &len) || len != sizeof public_key)
		abort();
	make_key(name, public_key, &ret_signer->key);
	memcpy(ret_signer->seed, seed, NOTE_KEY_BYTES);
	return ERR_OK;
}

void note_signer_wipe(struct note_signer *signer)
{
	OPENSSL_cleanse(signer, sizeof *signer);
}

static bool read_hex_id(str_t text, uint32_t *ret_id)
{
	uint32_t id = 0;
	if (text.len != ID_DIGITS)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char digit = text.ptr[i];
		bool decimal = digit >= '0' && digit <= '9';
		if (!decimal && (digit < 'a' || digit > 'f'))
			return false;
		id = id << 4 | (uint32_t)(decimal ? digit - '0' : digit - 'a' + 10);
	}
	*ret_id = id;
	return true;
}

/* Cuts the text at the first '+'. */
static bool cut(str_t *text, str_t *ret_before)
{
	const char *plus = text->len ? memchr(text->ptr, '+', text->len) : NULL;
	if (!plus)
		return false;
	size_t len = (size_t)(plus - text->ptr);
	*ret_before = (str_t){ text->ptr, len };
	*text = (str_t){ plus + 1, text->len - len - 1 };
	return true;
}

/* "NAME+ID+BASE64". */
static err_t read_key(str_t text, str_t *ret_name, uint32_t *ret_id, unsigned char ret_bytes[NOTE_KEY_BYTES],
		      struct err_detail *detail)
{
	unsigned char bytes[1 + NOTE_KEY_BYTES];
	str_t name, id;
	size_t len;
	err_t err = ERR_OK;
	if (!cut(&text, &name) || !cut(&text, &id))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"a key of the log has to be NAME+ID+BASE64, with PRIVATE+KEY+ before it for "
				"one that signs");
	if (!note_name_valid(name))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"the name of the key is not 1 to %d bytes without white space",
				NOTE_NAME_MAX);
	if (!read_hex_id(id, ret_id))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"the id of the key is not 8 hexadecimal digits in lower case");
	if (!base64_read(text, sizeof bytes, bytes, &len) || len != sizeof bytes)
		err = err_fail(detail, ERR_AUDIT_MALFORMED,
			       "what is behind the key's id is not the base 64 of 33 bytes");
	else if (bytes[0] != ED25519)
		err = err_fail(detail, ERR_AUDIT_MALFORMED, "the key is not one of Ed25519");
	if (!err) {
		*ret_name = name;
		memcpy(ret_bytes, bytes + 1, NOTE_KEY_BYTES);
	}
	OPENSSL_cleanse(bytes, sizeof bytes);
	return err;
}

static err_t wrong_id(struct err_detail *detail)
{
	return err_fail(detail, ERR_AUDIT_MALFORMED, "the id of the key is that of another key or name");
}

err_t note_key_parse(str_t text, struct note_key *ret_key, struct err_detail *detail)
{
	unsigned char public_key[NOTE_KEY_BYTES];
	struct note_key key;
	str_t name;
	uint32_t id;
	if (line_skip(&text, private_mark))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"that key signs and has to stay secret: name the one that verifies");
	err_t err = read_key(text, &name, &id, public_key, detail);
	if (err)
		return err;
	make_key(name, public_key, &key);
	if (key.id != id)
		return wrong_id(detail);
	*ret_key = key;
	return ERR_OK;
}

err_t note_signer_parse(str_t text, struct note_signer *ret_signer, struct err_detail *detail)
{
	unsigned char seed[NOTE_KEY_BYTES];
	struct note_signer signer;
	str_t name;
	uint32_t id;
	if (!line_skip(&text, private_mark))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"a key that signs has to begin with PRIVATE+KEY+");
	err_t err = read_key(text, &name, &id, seed, detail);
	if (err)
		return err;
	err = note_signer_make(name, seed, &signer);
	if (!err && signer.key.id != id)
		err = wrong_id(detail);
	if (!err)
		*ret_signer = signer;
	OPENSSL_cleanse(seed, sizeof seed);
	note_signer_wipe(&signer);
	return err;
}

static void write_key(const struct note_key *key, const unsigned char bytes[NOTE_KEY_BYTES], struct buf *out)
{
	unsigned char typed[1 + NOTE_KEY_BYTES] = { ED25519 };
	memcpy(typed + 1, bytes, NOTE_KEY_BYTES);
	buf_printf(out, "%s+%08x+", key->name, key->id);
	base64_append(out, typed, sizeof typed);
	OPENSSL_cleanse(typed, sizeof typed);
}

void note_signer_write(const struct note_signer *signer, struct buf *out)
{
	buf_append_str(out, private_mark);
	write_key(&signer->key, signer->seed, out);
}

void note_key_write(const struct note_key *key, struct buf *out)
{
	write_key(key, key->public_key, out);
}

/* ---- notes ---- */

/* UTF-8 without control characters but newlines. */
static bool is_plain(str_t text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ' && text.ptr[i] != '\n')
			return false;
	return utf8_valid(text.ptr, text.len);
}

static void sign_text(const struct note_signer *signer, str_t text, unsigned char ret_bytes[SIGNATURE_BYTES])
{
	size_t len = SIGNATURE_BYTES;
	_cleanup_(evp_key_cleanup) EVP_PKEY *key = load_private(signer->seed);
	_cleanup_(digest_cleanup) EVP_MD_CTX *digest = EVP_MD_CTX_new();
	if (!digest || EVP_DigestSignInit(digest, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(digest, ret_bytes, &len, (const unsigned char *)text.ptr, text.len) != 1)
		abort();
}

static bool verify_text(const struct note_key *key, str_t text, const unsigned char bytes[SIGNATURE_BYTES])
{
	_cleanup_(evp_key_cleanup) EVP_PKEY *public_key =
		EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key->public_key, NOTE_KEY_BYTES);
	_cleanup_(digest_cleanup) EVP_MD_CTX *digest = EVP_MD_CTX_new();
	if (!digest || !public_key)
		abort();
	bool valid = EVP_DigestVerifyInit(digest, NULL, NULL, NULL, public_key) == 1 &&
		     EVP_DigestVerify(digest, bytes, SIGNATURE_BYTES, (const unsigned char *)text.ptr,
				      text.len) == 1;
	ERR_clear_error();
	return valid;
}

err_t note_sign(str_t text, const struct note_signer *signers, size_t count, struct buf *out)
{
	assert(count > 0 && count <= NOTE_KEYS_MAX);
	if (text.len == 0 || text.ptr[text.len - 1] != '\n' || !is_plain(text) ||
	    text.len > NOTE_BYTES_MAX - count * (NOTE_NAME_MAX + 2 * SIGNATURE_BYTES))
		return ERR_AUDIT_MALFORMED;
	buf_append_str(out, text);
	buf_append_char(out, '\n');
	for (size_t i = 0; i < count; i++) {
		unsigned char bytes[ID_BYTES + SIGNATURE_BYTES];
		put_id(signers[i].key.id, bytes);
		sign_text(&signers[i], text, bytes + ID_BYTES);
		buf_append_str(out, signature_mark);
		buf_printf(out, "%s ", signers[i].key.name);
		base64_append(out, bytes, sizeof bytes);
		buf_append_char(out, '\n');
	}
	return ERR_OK;
}

/* Cuts the note at its last empty line. */
static bool split_note(str_t note, str_t *ret_text, str_t *ret_signatures)
{
	if (note.len > NOTE_BYTES_MAX || note.len < 3 || note.ptr[note.len - 1] != '\n' || !is_plain(note))
		return false;
	for (size_t i = note.len - 2; i > 0; i--)
		if (note.ptr[i] == '\n' && note.ptr[i - 1] == '\n') {
			*ret_text = (str_t){ note.ptr, i };
			*ret_signatures = (str_t){ note.ptr + i + 1, note.len - i - 1 };
			return true;
		}
	return false;
}

struct signature {
	str_t name;
	uint32_t id;
	size_t len;
	unsigned char bytes[SIGNATURE_BYTES_MAX];
};

static bool read_signature(str_t line, struct signature *ret_signature)
{
	const char *space;
	size_t len;
	if (!line_skip(&line, signature_mark) || !(space = memchr(line.ptr, ' ', line.len)))
		return false;
	str_t name = { line.ptr, (size_t)(space - line.ptr) };
	str_t text = { space + 1, line.len - name.len - 1 };
	if (!is_name(name) || !base64_read(text, SIGNATURE_BYTES_MAX, ret_signature->bytes, &len) ||
	    len <= ID_BYTES)
		return false;
	ret_signature->name = name;
	ret_signature->id = read_id(ret_signature->bytes);
	ret_signature->len = len;
	return true;
}

err_t note_open(str_t note, const struct note_key *trusted, size_t count, str_t *ret_text,
		uint64_t *ret_signed, struct err_detail *detail)
{
	str_t text, rest, line;
	uint64_t by = 0;
	struct signature signature;
	assert(count <= NOTE_KEYS_MAX);
	if (!split_note(note, &text, &rest))
		return err_fail(detail, ERR_AUDIT_MALFORMED,
				"that is not a signed note: plain text of at most %d bytes, an empty line, "
				"signatures",
				NOTE_BYTES_MAX);
	for (size_t lines = 1; line_take(&rest, &line); lines++) {
		if (lines > NOTE_SIGNATURES_MAX || !read_signature(line, &signature))
			return err_fail(detail, ERR_AUDIT_MALFORMED, "line %zu of the signatures is none",
					lines);
		for (size_t i = 0; i < count; i++) {
			const struct note_key *key = &trusted[i];
			if (signature.id != key->id || !str_is(signature.name, key->name))
				continue;
			if (signature.len != ID_BYTES + SIGNATURE_BYTES ||
			    !verify_text(key, text, signature.bytes + ID_BYTES))
				return err_fail(detail, ERR_AUDIT_UNVERIFIED,
						"the signature of %s+%08x is not that of this text",
						key->name, key->id);
			by |= UINT64_C(1) << i;
		}
	}
	if (!by)
		return err_fail(detail, ERR_AUDIT_UNVERIFIED, "none of the %zu trusted keys has signed that",
				count);
	*ret_text = text;
	if (ret_signed)
		*ret_signed = by;
	return ERR_OK;
}
