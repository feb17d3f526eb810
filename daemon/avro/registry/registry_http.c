#include "avro/registry/registry_http.h"

#include "common/pem.h"
#include "common/secret.h"

#include <curl/curl.h>

#define CONNECT_TIMEOUT_MS 3000L
#define CONNECTIONS_KEPT   8L /* that are idle */
#define ACCEPTED	   "Accept: application/vnd.schemaregistry.v1+json, application/json"
#define POSTED		   "Content-Type: application/vnd.schemaregistry.v1+json"

struct registry_http {
	const struct registry_settings *settings;
	CURLM *multi;
	struct list failed; /* requests that could not begin */
	size_t held;	    /* bytes of answers that nobody has released yet */
};

static void must(bool done)
{
	if (!done)
		abort(); /* out of memory, or an option that this libcurl does not have */
}

struct registry_http *registry_http_new(const struct registry_settings *settings)
{
	struct registry_http *http = calloc(1, sizeof *http);
	must(http && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	http->settings = settings;
	http->multi = curl_multi_init();
	must(http->multi != NULL);
	curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT);
	list_init(&http->failed);
	return http;
}

void registry_http_free(struct registry_http *http)
{
	if (!http)
		return;
	curl_multi_cleanup(http->multi);
	free(http);
	curl_global_cleanup();
}

void registry_http_wake(struct registry_http *http)
{
	curl_multi_wakeup(http->multi);
}

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct registry_request *request = context;
	size_t len = size * count;
	size_t sum = request->answer.len + len;
	if (sum > REGISTRY_ANSWER_MAX)
		snprintf(request->fault, sizeof request->fault, "the answer has more than %zu bytes",
			 REGISTRY_ANSWER_MAX);
	else if (sum > REGISTRY_ANSWER_FREE && *request->held + len > REGISTRY_ANSWERS_MAX)
		snprintf(request->fault, sizeof request->fault,
			 "answers that come in together have more than %zu bytes", REGISTRY_ANSWERS_MAX);
	if (request->fault[0])
		return 0;
	*request->held += len;
	buf_append(&request->answer, data, len);
	return len;
}

/* ---- who we are ---- */

static void add_header(struct registry_request *request, const char *header)
{
	struct curl_slist *headers = curl_slist_append(request->headers, header);
	must(headers != NULL);
	request->headers = headers;
}

static bool read_secret(const char *file, err_t (*read)(const char *, char **, struct err_detail *),
			char **ret_secret, struct registry_request *request)
{
	struct err_detail detail = { "" };
	err_t err = read(file, ret_secret, &detail);
	if (err)
		snprintf(request->fault, sizeof request->fault, "%s", err_message(err, &detail));
	return !err;
}

static bool set_login(const struct registry_settings *settings, struct registry_request *request)
{
	_cleanup_(secret_free) char *secret = NULL;
	_cleanup_(buf_free) struct buf header = BUF_INIT;
	if (settings->user) {
		if (settings->password_file &&
		    !read_secret(settings->password_file, secret_read_password, &secret, request))
			return false;
		must(curl_easy_setopt(request->handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) == CURLE_OK &&
		     curl_easy_setopt(request->handle, CURLOPT_USERNAME, settings->user) == CURLE_OK &&
		     curl_easy_setopt(request->handle, CURLOPT_PASSWORD, secret ? secret : "") == CURLE_OK);
	} else if (settings->token_file) {
		if (!read_secret(settings->token_file, secret_read_line, &secret, request))
			return false;
		buf_printf(&header, "Authorization: Bearer %s", secret);
		add_header(request, header.data);
		explicit_bzero(header.data, header.len);
	}
	return true;
}

/* ---- requests ---- */

/* Files are read for every connection: what was replaced counts without a restart. */
static bool set_tls(CURL *handle, const struct registry_settings *settings)
{
	return curl_easy_setopt(handle, CURLOPT_KEYPASSWD, "") == CURLE_OK && /* nobody is asked for one */
	       (!settings->ca_file ||
		curl_easy_setopt(handle, CURLOPT_CAINFO, settings->ca_file) == CURLE_OK) &&
	       (!settings->certificate_file ||
		curl_easy_setopt(handle, CURLOPT_SSLCERT, settings->certificate_file) == CURLE_OK) &&
	       (!settings->key_file ||
		curl_easy_setopt(handle, CURLOPT_SSLKEY, settings->key_file) == CURLE_OK) &&
	       curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK;
}

static bool set_request(CURL *handle, const struct registry_settings *settings,
			struct registry_request *request, const char *url)
{
	return curl_easy_setopt(handle, CURLOPT_URL, url) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)settings->timeout_ms) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_WRITEDATA, request) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_PRIVATE, request) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, request->error) == CURLE_OK &&
	       (!request->body || curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request->body) == CURLE_OK) &&
	       set_tls(handle, settings);
}

static void release(struct registry_request *request)
{
	curl_easy_cleanup(TAKE_PTR(request->handle));
	for (struct curl_slist *header = request->headers; header; header = header->next)
		explicit_bzero(header->data, strlen(header->data));
	curl_slist_free_all(TAKE_PTR(request->headers));
}

struct registry_request *registry_request_take(struct list *finished)
{
	struct registry_request *shortest = NULL;
	LIST_FOREACH (node, finished) {
		struct registry_request *request = container_of(node, struct registry_request, node);
		if (!shortest || request->answer.len < shortest->answer.len)
			shortest = request;
	}
	if (shortest)
		list_remove(finished, &shortest->node);
	return shortest;
}

void registry_request_free(struct registry_request *request)
{
	if (request->held)
		*request->held -= request->answer.len;
	request->held = NULL;
	buf_free(&request->answer);
}

void registry_http_start(struct registry_http *http, struct registry_request *request)
{
	_cleanup_(buf_free) struct buf url = BUF_INIT;
	const struct registry_settings *settings = http->settings;
	buf_printf(&url, "%s%s", settings->urls[request->url], request->path);
	registry_request_free(request);
	request->held = &http->held;
	request->status = 0;
	request->reached = request->answered = false;
	request->again_ms = 0;
	request->fault[0] = request->error[0] = request->content_type[0] = request->encoding[0] = '\0';
	request->headers = NULL;
	request->handle = curl_easy_init();
	must(request->handle && set_request(request->handle, settings, request, url.data));
	add_header(request, ACCEPTED);
	if (request->body)
		add_header(request, POSTED);
	if (!set_login(settings, request)) {
		release(request);
		list_append(&http->failed, &request->node);
		return;
	}
	must(curl_easy_setopt(request->handle, CURLOPT_HTTPHEADER, request->headers) == CURLE_OK &&
	     curl_multi_add_handle(http->multi, request->handle) == CURLM_OK);
}

void registry_http_cancel(struct registry_http *http, struct registry_request *request)
{
	if (!request->handle) {
		list_remove(&http->failed, &request->node);
		return;
	}
	curl_multi_remove_handle(http->multi, request->handle);
	release(request);
}

/* libcurl does not say what is wrong with it, such as that it is encrypted. */
static void explain_key(const struct registry_settings *settings, struct registry_request *request)
{
	struct err_detail reason = { "" };
	const char *file = settings->key_file ? settings->key_file : settings->certificate_file;
	if (file && pem_check_key(file, NULL, &reason))
		snprintf(request->fault, sizeof request->fault, "registry.%s: %.440s",
			 settings->key_file ? "key_file" : "certificate_file", reason.message);
}

static void copy_printable(const char *value, char *to, size_t size)
{
	snprintf(to, size, "%s", value ? value : "");
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || (unsigned char)*to >= 0x7f)
			*to = '?';
}

static void note_headers(struct registry_request *request)
{
	curl_off_t again_s = 0;
	const char *type = NULL;
	struct curl_header *header;
	curl_easy_getinfo(request->handle, CURLINFO_CONTENT_TYPE, &type);
	copy_printable(type, request->content_type, sizeof request->content_type);
	if (curl_easy_header(request->handle, "Content-Encoding", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
		copy_printable(header->value, request->encoding, sizeof request->encoding);
	curl_easy_getinfo(request->handle, CURLINFO_RETRY_AFTER, &again_s);
	if (again_s > REGISTRY_RETRY_AFTER_MAX_MS / 1000)
		again_s = REGISTRY_RETRY_AFTER_MAX_MS / 1000;
	request->again_ms = again_s > 0 ? again_s * 1000 : 0;
}

static void finish(struct registry_request *request, CURLcode result)
{
	curl_off_t sending_us = 0;
	long status = 0;
	note_headers(request);
	curl_easy_getinfo(request->handle, CURLINFO_PRETRANSFER_TIME_T, &sending_us);
	curl_easy_getinfo(request->handle, CURLINFO_RESPONSE_CODE, &status);
	/* with TLS 1.3 a server that does not take our certificate breaks off when it may have the request */
	request->reached =
		status > 0 || (sending_us > 0 && result != CURLE_SEND_ERROR && result != CURLE_RECV_ERROR);
	request->answered = result == CURLE_OK || request->fault[0];
	if (result == CURLE_OK)
		request->status = status;
	else if (!request->fault[0])
		snprintf(request->fault, sizeof request->fault, "%s",
			 request->error[0] ? request->error : curl_easy_strerror(result));
}

void registry_http_run(struct registry_http *http, int64_t timeout_ms, struct list *finished)
{
	int running, left;
	const CURLMsg *message;
	if (list_empty(&http->failed))
		curl_multi_poll(http->multi, NULL, 0, (int)timeout_ms, NULL);
	list_splice(finished, &http->failed);
	curl_multi_perform(http->multi, &running);
	while ((message = curl_multi_info_read(http->multi, &left))) {
		struct registry_request *request = NULL;
		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
		finish(request, message->data.result);
		if (message->data.result == CURLE_SSL_CERTPROBLEM)
			explain_key(http->settings, request);
		curl_multi_remove_handle(http->multi, request->handle);
		release(request);
		list_append(finished, &request->node);
	}
}
