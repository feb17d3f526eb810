#include "judge/endpoint.h"

#include "address/base_url.h"
#include "common/log.h"
#include "common/pem.h"
#include "common/secret.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>

#define KEY_MAX	     4096u
#define KEY_PAUSE_US 1000000 /* between two looks into its file */
#define QUOTE_MAX    200u    /* bytes of a server's sentence in a message */

static err_t read_url(struct endpoint *endpoint, const char *base_url, struct err_detail *detail)
{
	struct err_detail reason = { "" };
	err_t err = base_url_check(base_url, "api_key_file", &reason);
	if (err)
		return err_fail(detail, err, "%s.base_url: %s", endpoint->setting, reason.message);
	size_t len = strlen(base_url);
	while (len > 0 && base_url[len - 1] == '/')
		len--;
	endpoint->url =
		arena_printf(endpoint->arena, "%.*s%s", (int)len, base_url, endpoint->provider->path).ptr;
	if (endpoint->header && base_url_is_plain(base_url))
		log_warning("%s.base_url is plain http to another host: the API key travels unencrypted",
			    endpoint->setting);
	return ERR_OK;
}

/* The key is one line of printable ASCII; white space around it is dropped. */
static err_t take_key(struct endpoint *endpoint, char *text, size_t len, const char *path,
		      struct err_detail *detail)
{
	while (len > 0 && (unsigned char)text[len - 1] <= ' ')
		len--;
	while (len > 0 && (unsigned char)*text <= ' ')
		text++, len--;
	if (len == 0)
		return err_fail(detail, ERR_CONFIG_RANGE, "the key file %s (%s.api_key_file) is empty", path,
				endpoint->setting);
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return err_fail(detail, ERR_CONFIG_RANGE,
					"the key file %s (%s.api_key_file) must hold one key on one line",
					path, endpoint->setting);
	size_t before = strlen(endpoint->provider->key_header);
	endpoint->header = malloc(before + len + 1);
	if (!endpoint->header)
		abort();
	memcpy(endpoint->header, endpoint->provider->key_header, before);
	memcpy(endpoint->header + before, text, len);
	endpoint->header[before + len] = '\0';
	endpoint->key = (str_t){ endpoint->header + before, len };
	return ERR_OK;
}

static err_t read_key(struct endpoint *endpoint, const char *path, struct err_detail *detail)
{
	char text[KEY_MAX];
	if (!path)
		return ERR_OK;
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text);
	if (len < 0 && secret_is_hidden(path)) {
		struct err_detail reason;
		err_t err = secret_fail(path, errno, &reason);
		return err_fail(detail, err, "%s.api_key_file: %s", endpoint->setting, reason.message);
	}
	if (len < 0)
		return err_fail(detail, ERR_FILE_UNREADABLE,
				"cannot read the key file %s (%s.api_key_file): %s%s", path,
				endpoint->setting, strerror(errno), secret_hint(errno));
	err_t err = (size_t)len < sizeof text
			    ? take_key(endpoint, text, (size_t)len, path, detail)
			    : err_fail(detail, ERR_CONFIG_RANGE,
				       "the key file %s (%s.api_key_file) is larger than %u bytes", path,
				       endpoint->setting, KEY_MAX - 1);
	explicit_bzero(text, sizeof text);
	return err;
}

static void wipe(char *header)
{
	if (header)
		explicit_bzero(header, strlen(header));
	free(header);
}

bool endpoint_renew_key(struct endpoint *endpoint)
{
	struct endpoint fresh = { .provider = endpoint->provider, .setting = endpoint->setting };
	struct err_detail detail = { "" };
	err_t err = read_key(&fresh, endpoint->key_file, &detail);
	if (err)
		log_warning("the API key of %s is unchanged: %s", endpoint->who, err_message(err, &detail));
	if (!fresh.header || str_equal(fresh.key, endpoint->key)) {
		wipe(fresh.header);
		return false;
	}
	wipe(endpoint->former_header);
	endpoint->former_header = endpoint->header;
	endpoint->former_key = endpoint->key;
	endpoint->header = fresh.header;
	endpoint->key = fresh.key;
	endpoint->key_generation++;
	log_notice("the API key of %s was read again and has changed", endpoint->who);
	return true;
}

bool endpoint_renew_refused_key(struct endpoint *endpoint, int64_t now_us)
{
	if (endpoint->key_read_us > 0 && now_us - endpoint->key_read_us < KEY_PAUSE_US)
		return false;
	endpoint->key_read_us = now_us;
	return endpoint_renew_key(endpoint);
}

/* Libcurl would tell only with the first request, and with every one. */
static err_t check_authorities(const struct endpoint *endpoint, const char *path, struct err_detail *detail)
{
	char byte;
	if (!path)
		return ERR_OK;
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, &byte, 1);
	if (len < 0)
		return err_fail(detail, ERR_FILE_UNREADABLE,
				"cannot read the certificates %s (%s.ca_file): %s", path, endpoint->setting,
				strerror(errno));
	if (len == 0)
		return err_fail(detail, ERR_CONFIG_RANGE, "the certificates %s (%s.ca_file) are empty", path,
				endpoint->setting);
	struct err_detail reason = { "" };
	err_t err = pem_check_certificates(path, &reason);
	return err ? err_fail(detail, err, "%s.ca_file: %s", endpoint->setting, reason.message) : ERR_OK;
}

static void name_endpoint(struct endpoint *endpoint, const struct judge_settings *settings)
{
	endpoint->setting = arena_strdup(endpoint->arena, settings->setting ? settings->setting : "judge");
	endpoint->who = "the judge";
	if (!settings->name)
		return;
	endpoint->name = arena_strdup(endpoint->arena, settings->name);
	endpoint->who = arena_printf(endpoint->arena, "the judge \"%s\"", settings->name).ptr;
}

err_t endpoint_open(struct endpoint *endpoint, const struct judge_settings *settings,
		    struct err_detail *detail)
{
	*endpoint = (struct endpoint){ .arena = arena_new(), .provider = provider_find(settings->provider) };
	name_endpoint(endpoint, settings);
	if (!endpoint->provider)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"%s.provider \"%s\" is not known: use \"openai\" or \"anthropic\"",
				endpoint->setting, settings->provider ? settings->provider : "");
	if (!settings->model || !*settings->model)
		return err_fail(detail, ERR_CONFIG_MISSING, "%s.model is missing", endpoint->setting);
	endpoint->model = arena_strdup(endpoint->arena, settings->model);
	if (settings->api_key_file)
		endpoint->key_file = arena_strdup(endpoint->arena, settings->api_key_file);
	err_t err = read_key(endpoint, settings->api_key_file, detail);
	if (err == ERR_OK)
		err = check_authorities(endpoint, settings->ca_file, detail);
	if (err == ERR_OK)
		err = read_url(endpoint, settings->base_url, detail);
	if (err == ERR_OK)
		err = prompts_load(settings->prompt_directory, &endpoint->prompts, detail);
	return err;
}

void endpoint_close(struct endpoint *endpoint)
{
	wipe(endpoint->header);
	wipe(endpoint->former_header);
	for (size_t i = 0; i < 2; i++)
		buf_free(&endpoint->scratch[i]);
	prompts_free(endpoint->prompts);
	arena_free(endpoint->arena);
	*endpoint = (struct endpoint){ 0 };
}

/* Appends `text` with every occurrence of the key replaced. */
static void append_without(struct buf *out, str_t text, str_t key)
{
	const char *at = text.ptr, *end = text.ptr + text.len, *hit;
	while (key.len > 0 && (hit = memmem(at, (size_t)(end - at), key.ptr, key.len))) {
		buf_append(out, at, (size_t)(hit - at));
		buf_append_text(out, "***");
		at = hit + key.len;
	}
	buf_append(out, at, (size_t)(end - at));
}

static void append_redacted(const struct endpoint *endpoint, struct buf *out, str_t text)
{
	_cleanup_(buf_free) struct buf half = BUF_INIT;
	append_without(&half, text, endpoint->key);
	append_without(out, buf_str(&half), endpoint->former_key);
}

static bool holds(str_t text, str_t key)
{
	return key.len > 0 && text.len > 0 && memmem(text.ptr, text.len, key.ptr, key.len);
}

str_t endpoint_redact(const struct endpoint *endpoint, str_t text, struct arena *arena)
{
	_cleanup_(buf_free) struct buf redacted = BUF_INIT;
	if (!holds(text, endpoint->key) && !holds(text, endpoint->former_key))
		return text;
	append_redacted(endpoint, &redacted, text);
	return arena_text(arena, redacted.data, redacted.len);
}

str_t endpoint_quote(const struct endpoint *endpoint, str_t sentence, struct arena *arena)
{
	_cleanup_(buf_free) struct buf quote = BUF_INIT;
	if (!str_present(sentence))
		return STR_NONE;
	append_redacted(endpoint, &quote, sentence);
	if (quote.len > QUOTE_MAX) {
		quote.len = QUOTE_MAX;
		while (quote.len > 0 && ((unsigned char)quote.data[quote.len] & 0xc0) == 0x80)
			quote.len--;
	}
	for (size_t i = 0; i < quote.len; i++)
		if ((unsigned char)quote.data[i] < ' ')
			quote.data[i] = ' ';
	return arena_text(arena, quote.data ? quote.data : "", quote.len);
}
