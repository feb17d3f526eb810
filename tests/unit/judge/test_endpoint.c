#include "judge/endpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

static struct judge_settings settings_of(const char *base_url, const char *key_file)
{
	return (struct judge_settings){
		.provider = "openai", .base_url = base_url, .model = "m", .api_key_file = key_file
	};
}

static void test_address(void **state)
{
	(void)state;
	static const struct {
		const char *base_url;
		const char *url; /* NULL: refused */
	} cases[] = {
		{ "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/chat/completions" },
		{ "https://api.example.com/v1/", "https://api.example.com/v1/chat/completions" },
		{ "HTTPS://h", "HTTPS://h/chat/completions" },
		{ "http://[::1]:1//", "http://[::1]:1/chat/completions" },
		{ "ftp://h/v1", NULL },
		{ "127.0.0.1:8080", NULL },
		{ "http://", NULL },
		{ "http://h:99999/", NULL },
		{ "http://u@h/", NULL },
		{ "http://h/#f", NULL },
		{ "", NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct endpoint endpoint;
		struct judge_settings settings = settings_of(cases[i].base_url, NULL);
		struct err_detail detail = { "" };
		err_t err = endpoint_open(&endpoint, &settings, &detail);
		if ((err == ERR_OK) != (cases[i].url != NULL))
			fail_msg("%s: %s", cases[i].base_url, detail.message);
		if (cases[i].url)
			assert_string_equal(endpoint.url, cases[i].url);
		else
			assert_non_null(strstr(detail.message, "judge.base_url"));
		endpoint_close(&endpoint);
	}
}

static void write_bytes(char *path, const char *content, size_t len)
{
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, len), len);
	close(fd);
}

static void write_key(char *path, const char *content)
{
	write_bytes(path, content, strlen(content));
}

static void test_key(void **state)
{
	(void)state;
	static const struct {
		const char *content;
		const char *header; /* NULL: refused */
	} cases[] = {
		{ "sk-1", "Authorization: Bearer sk-1" },
		{ " \tsk-1\r\n\n", "Authorization: Bearer sk-1" },
		{ "sk-1\nX-Forged: yes", NULL },
		{ "sk 1", NULL },
		{ "sk-\xc3\xa4", NULL },
		{ " \n", NULL },
		{ "", NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct endpoint endpoint;
		char path[] = "/tmp/judge-key-XXXXXX";
		write_key(path, cases[i].content);
		struct judge_settings settings = settings_of("http://127.0.0.1/v1", path);
		struct err_detail detail = { "" };
		assert_int_equal(endpoint_open(&endpoint, &settings, &detail),
				 cases[i].header ? ERR_OK : ERR_CONFIG_RANGE);
		if (cases[i].header)
			assert_string_equal(endpoint.header, cases[i].header);
		assert_null(strstr(detail.message, "sk"));
		endpoint_close(&endpoint);
		unlink(path);
	}
}

/* Bytes that are no text, and a key that would be cut. */
static void test_key_as_a_whole(void **state)
{
	(void)state;
	static char bytes[5000];
	static const struct {
		size_t len, nul_at; /* nul_at = len: none */
		err_t err;
	} cases[] = {
		{ 4095, 4095, ERR_OK },		  { 4096, 4096, ERR_CONFIG_RANGE },
		{ 5000, 5000, ERR_CONFIG_RANGE }, { 6, 5, ERR_OK }, /* at the end like a line feed */
		{ 6, 3, ERR_CONFIG_RANGE },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct endpoint endpoint;
		char path[] = "/tmp/judge-key-XXXXXX";
		memset(bytes, 'k', sizeof bytes);
		if (cases[i].nul_at < cases[i].len)
			bytes[cases[i].nul_at] = 0;
		write_bytes(path, bytes, cases[i].len);
		struct judge_settings settings = settings_of("http://127.0.0.1/v1", path);
		struct err_detail detail = { "" };
		assert_int_equal(endpoint_open(&endpoint, &settings, &detail), cases[i].err);
		assert_int_equal(endpoint.key.len, cases[i].err ? 0 : cases[i].nul_at);
		assert_true(!cases[i].err || strstr(detail.message, path));
		endpoint_close(&endpoint);
		unlink(path);
	}
}

/* What may be under way with the former key does not tell it, either. */
static void test_both_keys_are_hidden(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct endpoint endpoint = { .key = STR("SECRET"), .former_key = STR("OLDER") };
	static const struct {
		const char *text, *shown;
	} cases[] = { { "plain", "plain" },
		      { "SECRET", "***" },
		      { "OLDER and SECRET", "*** and ***" },
		      { "OLDER OLDER", "*** ***" } };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_string_equal(endpoint_redact(&endpoint, str_from(cases[i].text), arena).ptr,
				    cases[i].shown);
		assert_string_equal(endpoint_quote(&endpoint, str_from(cases[i].text), arena).ptr,
				    cases[i].shown);
	}
}

static const char authority[] = "-----BEGIN CERTIFICATE-----\n"
				"MIIBcTCCARegAwIBAgIUcXJETb0N2fBUtKsQdN1b8UzK9KgwCgYIKoZIzj0EAwIw\n"
				"DTELMAkGA1UEAwwCY2EwIBcNMjYxMTIzMDU0MjAxWhgPMjEyNjEwMzAwNTQyMDFa\n"
				"MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJsXRF2SW\n"
				"gKv5Sy6FOVcJ97PWB3Okr+8po6hfGTZouI0VgtKhH77FSTgAlX6RdOiyTRvW0MSD\n"
				"Audc+7yOxX/co6NTMFEwHQYDVR0OBBYEFBkT1tpeZniegVPdY2Hacxl1qv2uMB8G\n"
				"A1UdIwQYMBaAFBkT1tpeZniegVPdY2Hacxl1qv2uMA8GA1UdEwEB/wQFMAMBAf8w\n"
				"CgYIKoZIzj0EAwIDSAAwRQIgffHpyi1kXyEkdvxIvfPAG6VTt23fhjaBeSvW0O45\n"
				"Wx0CIQCRlQ7fN5JheZPvyFfdPLEgePZ5p6GBQ/5SgB5iRNtwrA==\n"
				"-----END CERTIFICATE-----\n";

static void test_authorities(void **state)
{
	(void)state;
	char readable[] = "/tmp/judge-ca-XXXXXX", empty[] = "/tmp/judge-ca-XXXXXX";
	char damaged[] = "/tmp/judge-ca-XXXXXX", other[] = "/tmp/judge-ca-XXXXXX";
	write_key(readable, authority);
	write_key(damaged, "-----BEGIN CERTIFICATE-----\n");
	write_key(other, "no certificate");
	write_key(empty, "");
	const struct {
		const char *file;
		err_t err;
	} cases[] = {
		{ NULL, ERR_OK },
		{ readable, ERR_OK },
		{ empty, ERR_CONFIG_RANGE },
		{ damaged, ERR_CONFIG_RANGE },
		{ other, ERR_CONFIG_RANGE },
		{ "/nonexistent/ca.pem", ERR_FILE_UNREADABLE },
		{ "/tmp", ERR_FILE_UNREADABLE },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct endpoint endpoint;
		struct judge_settings settings = settings_of("https://127.0.0.1/v1", NULL);
		struct err_detail detail = { "" };
		settings.ca_file = cases[i].file;
		assert_int_equal(endpoint_open(&endpoint, &settings, &detail), cases[i].err);
		if (cases[i].err) {
			assert_non_null(strstr(detail.message, "judge.ca_file"));
			assert_non_null(strstr(detail.message, cases[i].file));
		}
		endpoint_close(&endpoint);
	}
	unlink(readable);
	unlink(damaged);
	unlink(other);
	unlink(empty);
}

static void test_quote(void **state)
{
	(void)state;
	static const struct {
		const char *sentence, *quote;
	} cases[] = {
		{ "no such model", "no such model" },
		{ "two\nlines\x1b[0m", "two lines [0m" },
		{ "key SECRET and SECRETSECRET.", "key *** and ******." },
		{ "", "" },
	};
	struct endpoint endpoint = { .key = STR("SECRET") };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_string_equal(endpoint_quote(&endpoint, str_from(cases[i].sentence), arena).ptr,
				    cases[i].quote);
	assert_false(str_present(endpoint_quote(&endpoint, STR_NONE, arena)));
	/* the key at the bound of 200 bytes, and a character across it */
	char text[320];
	memset(text, 'x', sizeof text);
	memcpy(text + 197, "SECRET", 7);
	assert_int_equal(endpoint_quote(&endpoint, str_from(text), arena).len, 200);
	assert_null(strstr(endpoint_quote(&endpoint, str_from(text), arena).ptr, "SEC"));
	memcpy(text + 199, "\xc3\xa4", 3);
	memset(text + 197, 'x', 2);
	assert_int_equal(endpoint_quote(&endpoint, str_from(text), arena).len, 199);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),	       cmocka_unit_test(test_key),
		cmocka_unit_test(test_key_as_a_whole), cmocka_unit_test(test_both_keys_are_hidden),
		cmocka_unit_test(test_authorities),    cmocka_unit_test(test_quote),
	};
	return cmocka_run_group_tests_name("endpoint", tests, NULL, NULL);
}
