#include "judge/transport.h"

#define CONNECT_TIMEOUT_MS 5000L

struct transport {
	CURLM *multi;
	char *url;
	struct curl_slist *headers;
};

static void must(bool done)
{
	if (!done)
		abort(); /* out of memory, or an option that this libcurl does not have */
}

static void add_header(struct transport *transport, const char *header)
{
	if (!header)
		return;
	transport->headers = curl_slist_append(transport->headers, header);
	must(transport->headers != NULL);
}

struct transport *transport_new(const char *url, const char *key_header, const char *more_header,
				unsigned connections)
{
	struct transport *transport = calloc(1, sizeof *transport);
	must(transport && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	transport->multi = curl_multi_init();
	transport->url = strdup(url);
	must(transport->multi && transport->url);
	add_header(transport, "Content-Type: application/json");
	add_header(transport, "Expect:");
	add_header(transport, key_header);
	add_header(transport, more_header);
	transport_set_connections(transport, connections);
	curl_multi_setopt(transport->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	return transport;
}

void transport_set_connections(struct transport *transport, unsigned connections)
{
	curl_multi_setopt(transport->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)connections);
	curl_multi_setopt(transport->multi, CURLMOPT_MAXCONNECTS, (long)connections);
}

void transport_free(struct transport *transport)
{
	if (!transport)
		return;
	curl_multi_cleanup(transport->multi);
	for (struct curl_slist *header = transport->headers; header; header = header->next)
		explicit_bzero(header->data, strlen(header->data));
	curl_slist_free_all(transport->headers);
	free(transport->url);
	free(transport);
	curl_global_cleanup();
}

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	size_t len = size * count;
	if (transfer->response.len + len > TRANSPORT_BODY_MAX) {
		transfer->outcome = TRANSFER_TOO_LARGE;
		return 0;
	}
	buf_append(&transfer->response, data, len);
	return len;
}

static bool set_safety(CURL *handle)
{
	return curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) == CURLE_OK &&
	       /* a name server that does not answer must not hold up the end of a transfer */
	       curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS) == CURLE_OK;
}

/* Over TLS a new call waits until it is known whether an open connection takes several at once. In the clear
 * that would only show with the first answer, and one slow call would hold up all behind it. */
static long may_wait_for_multiplexing(const struct transport *transport)
{
	return strncmp(transport->url, "https:", 6) == 0;
}

static bool set_request(CURL *handle, const struct transport *transport, struct transfer *transfer)
{
	return curl_easy_setopt(handle, CURLOPT_PIPEWAIT, may_wait_for_multiplexing(transport)) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_URL, transport->url) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transport->headers) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_POST, 1L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->body.len) ==
		       CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_POSTFIELDS, transfer->body.ptr) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)transfer->timeout_ms) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_WRITEDATA, transfer) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer->fault) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_PRIVATE, transfer) == CURLE_OK;
}

void transport_start(struct transport *transport, struct transfer *transfer)
{
	buf_reset(&transfer->response);
	transfer->outcome = TRANSFER_ANSWERED;
	transfer->status = 0;
	transfer->retry_after_ms = -1;
	transfer->fault[0] = 0;
	transfer->handle = curl_easy_init();
	must(transfer->handle && set_safety(transfer->handle) &&
	     set_request(transfer->handle, transport, transfer));
	must(curl_multi_add_handle(transport->multi, transfer->handle) == CURLM_OK);
}

void transport_cancel(struct transport *transport, struct transfer *transfer)
{
	if (!transfer->handle)
		return;
	curl_multi_remove_handle(transport->multi, transfer->handle);
	curl_easy_cleanup(transfer->handle);
	transfer->handle = NULL;
}

static enum transfer_outcome outcome_of(const struct transfer *transfer, CURLcode result)
{
	switch (result) {
	case CURLE_OK:
		return TRANSFER_ANSWERED;
	case CURLE_WRITE_ERROR:
		return transfer->outcome == TRANSFER_TOO_LARGE ? TRANSFER_TOO_LARGE : TRANSFER_FAULT;
	case CURLE_OPERATION_TIMEDOUT:
		return TRANSFER_TIMED_OUT;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
		return TRANSFER_IMPOSSIBLE;
	default:
		return TRANSFER_FAULT;
	}
}

static void finish(struct transport *transport, struct transfer *transfer, CURLcode result)
{
	curl_off_t retry_after_s = 0;
	transfer->outcome = outcome_of(transfer, result);
	curl_easy_getinfo(transfer->handle, CURLINFO_RESPONSE_CODE, &transfer->status);
	curl_easy_getinfo(transfer->handle, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > 0)
		transfer->retry_after_ms = retry_after_s > 86400 ? 86400000 : (int64_t)retry_after_s * 1000;
	if (result != CURLE_OK && !transfer->fault[0])
		snprintf(transfer->fault, sizeof transfer->fault, "%s", curl_easy_strerror(result));
	transport_cancel(transport, transfer);
}

void transport_run(struct transport *transport, struct list *finished)
{
	int running, left;
	CURLMsg *message;
	must(curl_multi_perform(transport->multi, &running) == CURLM_OK);
	while ((message = curl_multi_info_read(transport->multi, &left))) {
		struct transfer *transfer = NULL;
		CURLcode result = message->data.result;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		finish(transport, transfer, result);
		list_append(finished, &transfer->node);
	}
}

void transport_wait(struct transport *transport, int64_t timeout_ms)
{
	must(curl_multi_poll(transport->multi, NULL, 0, (int)timeout_ms, NULL) == CURLM_OK);
}

void transport_wake(struct transport *transport)
{
	curl_multi_wakeup(transport->multi);
}
