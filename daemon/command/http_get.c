#include "command/http_get.h"

#include <curl/curl.h>

static size_t keep(char *data, size_t size, size_t count, void *context)
{
	struct buf *body = context;
	if (body->len + size * count > HTTP_GET_BYTES)
		return 0;
	buf_append(body, data, size * count);
	return size * count;
}

err_t http_get(const char *address, const char *path, struct buf *ret_body, long *ret_status,
	       struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf url = BUF_INIT;
	CURL *handle = curl_easy_init();
	if (!handle)
		return err_fail(detail, ERR_OS, "libcurl cannot be started");
	buf_reset(ret_body);
	buf_printf(&url, "http://%s%s", address, path);
	curl_easy_setopt(handle, CURLOPT_URL, url.data);
	curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(handle, CURLOPT_PROXY, "");
	curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)HTTP_GET_MS);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, ret_body);
	CURLcode code = curl_easy_perform(handle);
	curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, ret_status);
	curl_easy_cleanup(handle);
	return code == CURLE_OK ? ERR_OK
				: err_fail(detail, ERR_HTTP_UNREACHABLE, "%s", curl_easy_strerror(code));
}
