#include "fetch/fetcher.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <sys/param.h>

#define CONNECT_TIMEOUT_MS INT64_C(5000)
#define ROUND_MS	   1000 /* of waiting; curl, the deadline and an interruption end it sooner */
#define CONNECTIONS	   4L	/* that are kept */
#define RETRY_AFTER_MAX_S  86400

struct fetcher {
	CURLM *multi;
	_Atomic bool interrupted;
};

/* One fetch. */
struct fetch_call {
	CURL *handle;
	struct curl_slist *headers;
	struct fetch_answer *answer;
	size_t max_bytes;
	char fault[CURL_ERROR_SIZE];
};

static void must(bool done)
{
	if (!done)
		abort(); /* out of memory, or an option that this libcurl does not have */
}

struct fetcher *fetcher_new(void)
{
	struct fetcher *fetcher = calloc(1, sizeof *fetcher);
	must(fetcher && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	fetcher->multi = curl_multi_init();
	must(fetcher->multi &&
	     curl_multi_setopt(fetcher->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS) == CURLM_OK);
	return fetcher;
}

void fetcher_free(struct fetcher *fetcher)
{
	if (!fetcher)
		return;
	curl_multi_cleanup(fetcher->multi);
	curl_global_cleanup();
	free(fetcher);
}

void fetcher_interrupt(struct fetcher *fetcher)
{
	atomic_store(&fetcher->interrupted, true);
	curl_multi_wakeup(fetcher->multi);
}

void fetch_append_encoded(struct buf *out, str_t text)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < text.len; i++) {
		unsigned char byte = (unsigned char)text.ptr[i];
		bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
			     (byte >= '0' && byte <= '9') || (byte && strchr("-._~", byte));
		if (plain) {
			buf_append_char(out, (char)byte);
			continue;
		}
		buf_append_char(out, '%');
		buf_append_char(out, digits[byte >> 4]);
		buf_append_char(out, digits[byte & 15]);
	}
}

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct fetch_call *call = context;
	size_t len = size * count;
	if (call->answer->body.len + len > call->max_bytes) {
		call->answer->outcome = FETCH_TOO_LARGE;
		return 0;
	}
	buf_append(&call->answer->body, data, len);
	return len;
}

static void add_header(struct fetch_call *call, const char *name, const char *value)
{
	_cleanup_(buf_free) struct buf line = BUF_INIT;
	buf_printf(&line, "%s%s", name, value);
	struct curl_slist *longer = curl_slist_append(call->headers, line.data);
	must(longer != NULL);
	call->headers = longer;
	explicit_bzero(line.data, line.len);
}

static void set_headers(struct fetch_call *call, const struct fetch_request *request)
{
	add_header(call, "Expect:", "");
	if (request->content_type)
		add_header(call, "Content-Type: ", request->content_type);
	if (request->accept)
		add_header(call, "Accept: ", request->accept);
	if (request->authorization)
		add_header(call, "Authorization: ", request->authorization);
	for (size_t i = 0; i < request->headers_count; i++)
		add_header(call, "", request->headers[i]);
	must(curl_easy_setopt(call->handle, CURLOPT_HTTPHEADER, call->headers) == CURLE_OK);
}

static bool set_text(CURL *handle, CURLoption option, const char *text)
{
	return !text || curl_easy_setopt(handle, option, text) == CURLE_OK;
}

static void set_request(struct fetch_call *call, const struct fetch_request *request)
{
	CURL *handle = call->handle;
	int64_t connect_ms = MIN(request->timeout_ms, CONNECT_TIMEOUT_MS);
	bool sends = str_present(request->body);
	must(curl_easy_setopt(handle, CURLOPT_URL, request->url) == CURLE_OK &&
	     (!sends || (curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
					  (curl_off_t)request->body.len) == CURLE_OK &&
			 curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request->body.ptr) == CURLE_OK)) &&
	     set_text(handle, CURLOPT_CUSTOMREQUEST, request->method) &&
	     curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms) == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms) == CURLE_OK &&
	     set_text(handle, CURLOPT_CAINFO, request->tls.ca_file) &&
	     set_text(handle, CURLOPT_SSLCERT, request->tls.certificate_file) &&
	     set_text(handle, CURLOPT_SSLKEY, request->tls.key_file) &&
	     set_text(handle, CURLOPT_KEYPASSWD, request->tls.key_password));
}

static void set_safety(struct fetch_call *call)
{
	CURL *handle = call->handle;
	must(curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) == CURLE_OK &&
	     /* a name server that does not answer must not hold up the end of a fetch */
	     curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_WRITEDATA, call) == CURLE_OK &&
	     curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, call->fault) == CURLE_OK);
}

static enum fetch_outcome outcome_of(CURLcode result)
{
	switch (result) {
	case CURLE_OK:
		return FETCH_ANSWERED;
	case CURLE_OPERATION_TIMEDOUT:
		return FETCH_TIMED_OUT;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
		return FETCH_IMPOSSIBLE;
	default:
		return FETCH_FAULT;
	}
}

/* Some of it may be the server's. */
static void set_fault(struct fetch_answer *answer, const char *text)
{
	snprintf(answer->fault, sizeof answer->fault, "%s", text);
	for (char *at = answer->fault; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
			*at = '?';
}

static void finish(struct fetch_call *call, CURLcode result)
{
	struct fetch_answer *answer = call->answer;
	curl_off_t retry_after_s = 0;
	if (answer->outcome == FETCH_TOO_LARGE) {
		set_fault(answer, "the answer is larger than allowed");
		curl_easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &answer->status);
		return;
	}
	answer->outcome = outcome_of(result);
	if (answer->outcome != FETCH_ANSWERED) {
		set_fault(answer, *call->fault ? call->fault : curl_easy_strerror(result));
		return;
	}
	curl_easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &answer->status);
	curl_easy_getinfo(call->handle, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > 0)
		answer->retry_after_ms = 1000 * MIN((int64_t)retry_after_s, RETRY_AFTER_MAX_S);
}

/* The result, once there is one. */
static bool take_result(struct fetcher *fetcher, CURLcode *ret_result)
{
	int left;
	for (CURLMsg *message; (message = curl_multi_info_read(fetcher->multi, &left));) {
		if (message->msg != CURLMSG_DONE)
			continue;
		*ret_result = message->data.result;
		return true;
	}
	return false;
}

static void run(struct fetcher *fetcher, struct fetch_call *call)
{
	CURLcode result;
	int running;
	must(curl_multi_add_handle(fetcher->multi, call->handle) == CURLM_OK);
	for (;;) {
		if (atomic_load(&fetcher->interrupted)) {
			call->answer->outcome = FETCH_INTERRUPTED;
			set_fault(call->answer, "interrupted");
			break;
		}
		must(curl_multi_perform(fetcher->multi, &running) == CURLM_OK);
		if (take_result(fetcher, &result)) {
			finish(call, result);
			break;
		}
		must(curl_multi_poll(fetcher->multi, NULL, 0, ROUND_MS, NULL) == CURLM_OK);
	}
	curl_multi_remove_handle(fetcher->multi, call->handle);
}

bool fetch(struct fetcher *fetcher, const struct fetch_request *request, struct fetch_answer *ret_answer)
{
	struct fetch_call call = { .handle = curl_easy_init(),
				   .answer = ret_answer,
				   .max_bytes = request->max_bytes };
	*ret_answer = (struct fetch_answer){ .outcome = FETCH_FAULT, .retry_after_ms = -1 };
	must(call.handle != NULL);
	set_safety(&call);
	set_request(&call, request);
	set_headers(&call, request);
	run(fetcher, &call);
	curl_easy_cleanup(call.handle);
	for (struct curl_slist *header = call.headers; header; header = header->next)
		explicit_bzero(header->data, strlen(header->data));
	curl_slist_free_all(call.headers);
	if (ret_answer->outcome != FETCH_ANSWERED)
		fetch_answer_free(ret_answer);
	return ret_answer->outcome == FETCH_ANSWERED;
}

void fetch_answer_free(struct fetch_answer *answer)
{
	if (answer->body.data)
		explicit_bzero(answer->body.data, answer->body.capacity);
	buf_free(&answer->body);
}
