#include "command/check_http.h"

#include "common/buf.h"
#include "http/listen.h"

#include <curl/curl.h>

enum { ASK_MS = 3000, MAX_ANSWER_BYTES = 4 << 20 };

static size_t keep(char *data, size_t size, size_t count, void *context)
{
	struct buf *answer = context;
	if (answer->len + size * count > MAX_ANSWER_BYTES)
		return 0;
	buf_append(answer, data, size * count);
	return size * count;
}

/* Whether an assayd answers there: by its metrics. */
static bool is_assayd(const char *address)
{
	_cleanup_(buf_free) struct buf answer = BUF_INIT, url = BUF_INIT;
	CURL *handle = curl_easy_init();
	if (!handle)
		return false;
	buf_printf(&url, "http://%s/metrics", address);
	curl_easy_setopt(handle, CURLOPT_URL, url.data);
	curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(handle, CURLOPT_PROXY, "");
	curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)ASK_MS);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
	bool answered = curl_easy_perform(handle) == CURLE_OK;
	curl_easy_cleanup(handle);
	return answered && strstr(buf_str(&answer).ptr, "# TYPE assayd_");
}

void check_http(const struct config *config, struct findings *findings)
{
	const char *address = config->http.listen;
	struct listener listener = { .fd = -1, .loopback = true };
	struct err_detail detail = { "" };
	if (!config->http.configured || !*address)
		return;
	err_t err = listen_open(address, &listener, &detail);
	if (!err)
		close(listener.fd);
	if (err == ERR_HTTP_LISTEN && is_assayd(address))
		findings_lines(findings, FINDING_NOTE, "http",
			       STR("an assayd on this machine already listens at http.listen; a second "
				   "instance needs its own port"));
	else
		findings_tried(findings, "http", err, &detail);
	if (!listener.loopback)
		findings_lines(findings, FINDING_WARNING, "http",
			       STR("http.listen is not a loopback address: the metrics can be read from the "
				   "network without authentication; listen at 127.0.0.1, or use a firewall"));
}
