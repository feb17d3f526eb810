#include "address/base_url.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

static void url_cleanup(CURLU **url)
{
	curl_url_cleanup(*url);
}

static bool has(CURLU *url, CURLUPart part)
{
	char *value = NULL;
	bool found = curl_url_get(url, part, &value, 0) == CURLUE_OK;
	curl_free(value);
	return found;
}

/* What the provider adds to the address, which is easily copied with it. */
static err_t check_end(const char *base_url, struct err_detail *detail)
{
	static const char *const added[] = { "/chat/completions", "/messages" };
	size_t len = strlen(base_url);
	while (len > 0 && base_url[len - 1] == '/')
		len--;
	for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
		size_t end = strlen(added[i]);
		if (len >= end && strncmp(base_url + len - end, added[i], end) == 0)
			return err_fail(detail, ERR_CONFIG_RANGE,
					"the address ends with %s, which assayd appends itself; leave it out",
					added[i]);
	}
	return ERR_OK;
}

static err_t check(CURLU *url, const char *base_url, const char *instead, struct err_detail *detail)
{
	if (!base_url || !*base_url)
		return err_fail(detail, ERR_CONFIG_MISSING, "the address is missing");
	if (strncasecmp(base_url, "http://", 7) != 0 && strncasecmp(base_url, "https://", 8) != 0)
		return err_fail(detail, ERR_CONFIG_RANGE, "an address begins with http:// or https://");
	CURLUcode code = url ? curl_url_set(url, CURLUPART_URL, base_url, 0) : CURLUE_OUT_OF_MEMORY;
	if (code)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"not the address of a server, such as https://api.example.org/v1: %s",
				curl_url_strerror(code));
	if (has(url, CURLUPART_USER) || has(url, CURLUPART_PASSWORD))
		return err_fail(detail, ERR_CONFIG_RANGE,
				"the address contains a user or a password; use %s instead", instead);
	return ERR_OK;
}

bool base_url_has_port(const char *whole, const char *port)
{
	__attribute__((cleanup(url_cleanup))) CURLU *url = curl_url();
	char *found = NULL;
	bool same = url && curl_url_set(url, CURLUPART_URL, whole, 0) == CURLUE_OK &&
		    curl_url_get(url, CURLUPART_PORT, &found, 0) == CURLUE_OK && strcmp(found, port) == 0;
	curl_free(found);
	return same;
}

bool base_url_is_plain(const char *whole)
{
	static const char *const loopback[] = { "127.0.0.1", "[::1]", "localhost" };
	__attribute__((cleanup(url_cleanup))) CURLU *url = curl_url();
	char *host = NULL;
	bool plain = url && strncasecmp(whole, "http://", 7) == 0 &&
		     curl_url_set(url, CURLUPART_URL, whole, 0) == CURLUE_OK &&
		     curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK;
	for (size_t i = 0; plain && i < sizeof loopback / sizeof *loopback; i++)
		plain = strcasecmp(host, loopback[i]) != 0;
	curl_free(host);
	return plain;
}

err_t base_url_check_whole(const char *whole, const char *instead, struct err_detail *detail)
{
	__attribute__((cleanup(url_cleanup))) CURLU *url = curl_url();
	return check(url, whole, instead, detail);
}

err_t base_url_check(const char *base_url, const char *instead, struct err_detail *detail)
{
	__attribute__((cleanup(url_cleanup))) CURLU *url = curl_url();
	err_t err = check(url, base_url, instead, detail);
	if (err)
		return err;
	if (has(url, CURLUPART_QUERY) || has(url, CURLUPART_FRAGMENT))
		return err_fail(detail, ERR_CONFIG_RANGE,
				"the address contains a query or a fragment (? or #), after which no path "
				"can be appended; leave it out");
	return check_end(base_url, detail);
}
