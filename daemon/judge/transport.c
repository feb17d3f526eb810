#include "judge/transport.h"

#include "common/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define CONNECT_TIMEOUT_MS 5000L
#define EVENTS_MAX	   256 /* of one wait; what is left comes with the next */

/* Handles that are kept for the next transfer: making one anew costs more than a round. */
#define SPARE_MAX 4096

/* Curl walks through all connections of a multi handle when it looks for a free one, and each is far away in
 * memory: many share several. */
#define LANE_CONNECTIONS     16u
#define LANE_CONNECTIONS_TLS 128u /* each multi handle has its own copy of the authorities, of a megabyte */
#define LANES_MAX	     64u

/* Among so many transfers, answers come so close behind each other that waking for each alone costs more than
 * the rest of the work. They may gather for this share of what a transfer takes, which delays none of them
 * noticeably. */
#define GATHER_TRANSFERS 256u
#define GATHER_SHARE	 200
#define GATHER_MAX_US	 10000

/* Answers are short, and over TLS a record is read as a whole anyway. */
#define READ_BYTES 4096L

struct lane {
	struct transport *transport;
	unsigned number;
	CURLM *multi;
	bool touched; /* a transfer may have finished */
};

/* Of the thread, for those that wake it. */
enum state { RUNNING, WAITING, CALLED };

/* What is known of a connection's descriptor. It stays in epoll while its connection is idle, which saves two
 * system calls a transfer. */
struct descriptor {
	uint32_t wanted;     /* by curl */
	uint32_t registered; /* with epoll; 0: not there */
	struct lane *lane;
};

struct transport {
	struct lane lanes[LANES_MAX];
	unsigned lanes_count;
	/* by number of the lane; apart, since every round looks at all of them */
	int64_t timers_us[LANES_MAX]; /* when curl wants to be called; INT64_MAX: not by time */
	unsigned transfers[LANES_MAX];
	unsigned touched[LANES_MAX];
	unsigned touched_count;
	unsigned under_way;		/* transfers of all lanes */
	int64_t usual_us;		/* what a transfer takes: a moving mean */
	struct descriptor *descriptors; /* by number */
	size_t descriptors_count;
	char *url;
	char *ca_file;
	bool proxied; /* by the environment */
	char *more_header;
	struct curl_slist *headers;
	struct curl_slist
		*former_headers; /* with former keys, which transfers under way may still point at */
	int epoll_fd, wake_fd, watched_fd;
	_Atomic int state;
	struct epoll_event events[EVENTS_MAX];
	int events_count;
	bool more; /* events, perhaps, than the last wait had room for */
	CURL *spare[SPARE_MAX];
	unsigned spare_count;
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

static char *copy_text(const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	must(!text || copy);
	return copy;
}

static struct descriptor *descriptor_of(struct transport *transport, int fd)
{
	if ((size_t)fd >= transport->descriptors_count) {
		size_t count = (size_t)fd * 2 + 64, known = transport->descriptors_count;
		transport->descriptors =
			reallocarray(transport->descriptors, count, sizeof *transport->descriptors);
		must(transport->descriptors != NULL);
		memset(transport->descriptors + known, 0, (count - known) * sizeof *transport->descriptors);
		transport->descriptors_count = count;
	}
	return &transport->descriptors[fd];
}

static void set_events(struct transport *transport, int fd, uint32_t events)
{
	struct descriptor *descriptor = descriptor_of(transport, fd);
	struct epoll_event event = { .events = events, .data.fd = fd };
	int change = descriptor->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	if (events == 0)
		change = EPOLL_CTL_DEL;
	if (descriptor->registered != events)
		must(epoll_ctl(transport->epoll_fd, change, fd, &event) == 0);
	descriptor->registered = events;
}

/* Curl says what it waits for on a connection. */
static int on_socket(CURL *handle, curl_socket_t fd, int what, void *context, void *known)
{
	struct lane *lane = context;
	struct descriptor *descriptor = descriptor_of(lane->transport, fd);
	(void)handle;
	(void)known;
	descriptor->lane = lane;
	descriptor->wanted = 0;
	if (what == CURL_POLL_REMOVE)
		return 0;
	descriptor->wanted |= what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0;
	descriptor->wanted |= what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0;
	set_events(lane->transport, fd, descriptor->wanted);
	return 0;
}

/* Curl does not tell of every socket that it closes: of a connection that it gives up before it stands it
 * does not. What is known of the number is of that one. */
static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct transport *transport = context;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	(void)purpose;
	if (fd >= 0)
		*descriptor_of(transport, fd) = (struct descriptor){ 0 };
	return fd;
}

static int on_close(void *context, curl_socket_t fd)
{
	struct transport *transport = context;
	set_events(transport, fd, 0);
	*descriptor_of(transport, fd) = (struct descriptor){ 0 };
	return close(fd);
}

static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
	struct lane *lane = context;
	(void)multi;
	lane->transport->timers_us[lane->number] =
		timeout_ms < 0 ? INT64_MAX : clock_monotonic_us() + timeout_ms * 1000;
	return 0;
}

static bool is_tls(const struct transport *transport)
{
	return strncmp(transport->url, "https:", 6) == 0;
}

static void open_lane(struct transport *transport)
{
	struct lane *lane = &transport->lanes[transport->lanes_count];
	*lane = (struct lane){ transport, transport->lanes_count++, curl_multi_init(), false };
	transport->timers_us[lane->number] = INT64_MAX;
	must(lane->multi != NULL);
	curl_multi_setopt(lane->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
	curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
}

static void open_poll(struct transport *transport)
{
	struct epoll_event event = { .events = EPOLLIN };
	transport->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	transport->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	transport->watched_fd = -1;
	event.data.fd = transport->wake_fd;
	must(transport->epoll_fd >= 0 && transport->wake_fd >= 0 &&
	     epoll_ctl(transport->epoll_fd, EPOLL_CTL_ADD, transport->wake_fd, &event) == 0);
}

/* Curl asks the environment about proxies at every transfer. */
static bool has_proxy(void)
{
	static const char *const names[] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
					     "ALL_PROXY" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (getenv(names[i]))
			return true;
	return false;
}

struct transport *transport_new(const struct transport_options *options)
{
	struct transport *transport = calloc(1, sizeof *transport);
	must(transport && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	transport->url = copy_text(options->url);
	transport->ca_file = copy_text(options->ca_file);
	transport->proxied = has_proxy();
	transport->more_header = copy_text(options->more_header);
	open_poll(transport);
	transport_set_key(transport, options->key_header);
	transport_set_connections(transport, options->connections);
	return transport;
}

void transport_set_key(struct transport *transport, const char *key_header)
{
	struct curl_slist **end = &transport->former_headers;
	while (*end)
		end = &(*end)->next;
	*end = TAKE_PTR(transport->headers);
	add_header(transport, "Content-Type: application/json");
	add_header(transport, "Expect:");
	add_header(transport, key_header);
	add_header(transport, transport->more_header);
}

void transport_set_connections(struct transport *transport, unsigned connections)
{
	unsigned share = is_tls(transport) ? LANE_CONNECTIONS_TLS : LANE_CONNECTIONS;
	unsigned lanes = (connections + share - 1) / share;
	while (transport->lanes_count < LANES_MAX && transport->lanes_count < lanes)
		open_lane(transport);
	long each = (long)((connections + transport->lanes_count - 1) / transport->lanes_count);
	for (unsigned i = 0; i < transport->lanes_count; i++) {
		curl_multi_setopt(transport->lanes[i].multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, each);
		curl_multi_setopt(transport->lanes[i].multi, CURLMOPT_MAXCONNECTS, each);
	}
}

static void free_headers(struct curl_slist *headers)
{
	for (struct curl_slist *header = headers; header; header = header->next)
		explicit_bzero(header->data, strlen(header->data));
	curl_slist_free_all(headers);
}

void transport_free(struct transport *transport)
{
	if (!transport)
		return;
	for (unsigned i = 0; i < transport->spare_count; i++)
		curl_easy_cleanup(transport->spare[i]);
	for (unsigned i = 0; i < transport->lanes_count; i++)
		curl_multi_cleanup(transport->lanes[i].multi);
	free_headers(transport->headers);
	free_headers(transport->former_headers);
	close(transport->epoll_fd);
	close(transport->wake_fd);
	free(transport->descriptors);
	free(transport->url);
	free(transport->ca_file);
	free(transport->more_header);
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

/* Over TLS a new call waits until it is known whether an open connection takes several at once. In the clear
 * that would only show with the first answer, and one slow call would hold up all behind it. */
static long may_wait_for_multiplexing(const struct transport *transport)
{
	return is_tls(transport);
}

/* What all transfers of a handle have in common. */
static bool set_common(CURL *handle, struct transport *transport)
{
	return (!transport->ca_file ||
		curl_easy_setopt(handle, CURLOPT_CAINFO, transport->ca_file) == CURLE_OK) &&
	       (transport->proxied || curl_easy_setopt(handle, CURLOPT_PROXY, "") == CURLE_OK) &&
	       curl_easy_setopt(handle, CURLOPT_PIPEWAIT, may_wait_for_multiplexing(transport)) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, on_open) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, transport) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, on_close) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, transport) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_URL, transport->url) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_POST, 1L) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, READ_BYTES) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK;
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

static bool set_request(CURL *handle, const struct transport *transport, struct transfer *transfer)
{
	return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transport->headers) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->body.len) ==
		       CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_POSTFIELDS, transfer->body.ptr) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)transfer->timeout_ms) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_WRITEDATA, transfer) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer->fault) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_PRIVATE, transfer) == CURLE_OK;
}

/* A handle keeps its options for the next transfer: setting them all again costs as much as a good part of a
 * transfer does. */
static CURL *take_handle(struct transport *transport)
{
	if (transport->spare_count > 0)
		return transport->spare[--transport->spare_count];
	CURL *handle = curl_easy_init();
	must(handle && set_safety(handle) && set_common(handle, transport));
	return handle;
}

/* Whatever points into the transfer, which is its owner's again. */
static bool forget_request(CURL *handle)
{
	return curl_easy_setopt(handle, CURLOPT_POSTFIELDS, NULL) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_HTTPHEADER, NULL) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_WRITEDATA, NULL) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, NULL) == CURLE_OK &&
	       curl_easy_setopt(handle, CURLOPT_PRIVATE, NULL) == CURLE_OK;
}

/* Curl counts, over all of a handle's life, how often it found a connection dead that was kept, and gives up
 * a transfer for every sixth. One that has needed a new connection is not used again, therefore. */
static bool is_worn(CURL *handle)
{
	long connects = 0;
	return curl_easy_getinfo(handle, CURLINFO_NUM_CONNECTS, &connects) != CURLE_OK || connects > 0;
}

static void give_handle_back(struct transport *transport, CURL *handle)
{
	must(forget_request(handle));
	if (transport->spare_count < SPARE_MAX && !is_worn(handle))
		transport->spare[transport->spare_count++] = handle;
	else
		curl_easy_cleanup(handle);
}

/* That with the fewest transfers. */
static struct lane *choose_lane(struct transport *transport)
{
	unsigned best = 0;
	for (unsigned i = 1; i < transport->lanes_count; i++)
		if (transport->transfers[i] < transport->transfers[best])
			best = i;
	return &transport->lanes[best];
}

void transport_start(struct transport *transport, struct transfer *transfer)
{
	buf_reset(&transfer->response);
	transfer->outcome = TRANSFER_ANSWERED;
	transfer->status = 0;
	transfer->retry_after_ms = -1;
	transfer->fault[0] = 0;
	transfer->handle = take_handle(transport);
	must(set_request(transfer->handle, transport, transfer));
	transfer->lane = choose_lane(transport);
	transport->transfers[transfer->lane->number]++;
	transport->under_way++;
	must(curl_multi_add_handle(transfer->lane->multi, transfer->handle) == CURLM_OK);
}

void transport_cancel(struct transport *transport, struct transfer *transfer)
{
	if (!transfer->handle)
		return;
	curl_multi_remove_handle(transfer->lane->multi, transfer->handle);
	transport->transfers[transfer->lane->number]--;
	transport->under_way--;
	give_handle_back(transport, TAKE_PTR(transfer->handle));
}

/* Codes of curl that are not a fault of the network. */
static const struct {
	CURLcode result;
	enum transfer_outcome outcome;
} outcomes[] = {
	{ CURLE_OK, TRANSFER_ANSWERED },
	{ CURLE_OPERATION_TIMEDOUT, TRANSFER_TIMED_OUT },
	{ CURLE_UNSUPPORTED_PROTOCOL, TRANSFER_IMPOSSIBLE },
	{ CURLE_URL_MALFORMAT, TRANSFER_IMPOSSIBLE },
	{ CURLE_PEER_FAILED_VERIFICATION, TRANSFER_IMPOSSIBLE },
	{ CURLE_SSL_CACERT_BADFILE, TRANSFER_IMPOSSIBLE },
	{ CURLE_SSL_CERTPROBLEM, TRANSFER_IMPOSSIBLE },
	{ CURLE_SSL_CIPHER, TRANSFER_IMPOSSIBLE },
};

static enum transfer_outcome outcome_of(const struct transfer *transfer, CURLcode result)
{
	if (transfer->outcome == TRANSFER_TOO_LARGE)
		return TRANSFER_TOO_LARGE;
	if (result == CURLE_OPERATION_TIMEDOUT && !transfer->connected)
		return TRANSFER_UNCONNECTED;
	for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++)
		if (outcomes[i].result == result)
			return outcomes[i].outcome;
	return TRANSFER_FAULT;
}

static void finish(struct transport *transport, struct transfer *transfer, CURLcode result)
{
	curl_off_t retry_after_s = 0, connected_us = 0, total_us = 0;
	curl_easy_getinfo(transfer->handle, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
	transfer->connected = connected_us > 0;
	transfer->outcome = outcome_of(transfer, result);
	curl_easy_getinfo(transfer->handle, CURLINFO_TOTAL_TIME_T, &total_us);
	transport->usual_us += ((int64_t)total_us - transport->usual_us) / 16;
	curl_easy_getinfo(transfer->handle, CURLINFO_RESPONSE_CODE, &transfer->status);
	curl_easy_getinfo(transfer->handle, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > 0)
		transfer->retry_after_ms = retry_after_s > 86400 ? 86400000 : (int64_t)retry_after_s * 1000;
	if (result != CURLE_OK && !transfer->fault[0])
		snprintf(transfer->fault, sizeof transfer->fault, "%s", curl_easy_strerror(result));
	transport_cancel(transport, transfer);
}

static int curl_events(uint32_t events)
{
	return (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
	       (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
}

static void drain_wakeup(struct transport *transport)
{
	uint64_t count;
	while (read(transport->wake_fd, &count, sizeof count) < 0 && errno == EINTR)
		;
}

/* Lets curl do what there is to do for the descriptor, or by time. */
static void act(struct lane *lane, curl_socket_t fd, int events)
{
	int running;
	struct transport *transport = lane->transport;
	must(curl_multi_socket_action(lane->multi, fd, events, &running) == CURLM_OK);
	if (!lane->touched)
		transport->touched[transport->touched_count++] = lane->number;
	lane->touched = true;
}

static void handle_event(struct transport *transport, const struct epoll_event *event)
{
	int fd = event->data.fd;
	const struct descriptor *descriptor = descriptor_of(transport, fd);
	if (fd == transport->wake_fd)
		drain_wakeup(transport);
	else if (fd == transport->watched_fd)
		return; /* it has ended the wait */
	else if (descriptor->wanted)
		act(descriptor->lane, fd, curl_events(event->events));
	else if (descriptor->registered) /* the server has closed an idle connection; curl will see */
		set_events(transport, fd, 0);
}

static void run_timers(struct transport *transport)
{
	int64_t now_us = clock_monotonic_us();
	for (unsigned i = 0; i < transport->lanes_count; i++) {
		if (now_us < transport->timers_us[i])
			continue;
		transport->timers_us[i] = INT64_MAX; /* curl sets the next one */
		act(&transport->lanes[i], CURL_SOCKET_TIMEOUT, 0);
	}
}

static void collect_finished(struct transport *transport, struct lane *lane, struct list *finished)
{
	int left;
	CURLMsg *message;
	lane->touched = false;
	while ((message = curl_multi_info_read(lane->multi, &left))) {
		struct transfer *transfer = NULL;
		CURLcode result = message->data.result;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		finish(transport, transfer, result);
		list_append(finished, &transfer->node);
	}
}

void transport_run(struct transport *transport, struct list *finished)
{
	for (int i = 0; i < transport->events_count; i++)
		handle_event(transport, &transport->events[i]);
	transport->events_count = 0;
	run_timers(transport);
	for (unsigned i = 0; i < transport->touched_count; i++)
		collect_finished(transport, &transport->lanes[transport->touched[i]], finished);
	transport->touched_count = 0;
}

void transport_watch(struct transport *transport, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	if (transport->watched_fd >= 0)
		epoll_ctl(transport->epoll_fd, EPOLL_CTL_DEL, transport->watched_fd, NULL);
	transport->watched_fd = fd;
	if (fd >= 0)
		must(epoll_ctl(transport->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0);
}

static int64_t next_timer_us(const struct transport *transport)
{
	int64_t next_us = INT64_MAX;
	for (unsigned i = 0; i < transport->lanes_count; i++)
		if (transport->timers_us[i] < next_us)
			next_us = transport->timers_us[i];
	return next_us;
}

static int64_t gathering_us(const struct transport *transport)
{
	int64_t gather_us = transport->usual_us / GATHER_SHARE;
	if (transport->under_way < GATHER_TRANSFERS || transport->more)
		return 0;
	return gather_us < GATHER_MAX_US ? gather_us : GATHER_MAX_US;
}

/* For all of them: one that has few transfers under way is not kept waiting for another's to gather. */
static int64_t gathering_of_all_us(struct transport *const transports[], size_t count)
{
	int64_t least_us = INT64_MAX;
	for (size_t i = 0; i < count; i++) {
		int64_t gather_us = gathering_us(transports[i]);
		if ((count == 1 || transports[i]->under_way > 0) && gather_us < least_us)
			least_us = gather_us;
	}
	return least_us == INT64_MAX ? 0 : least_us;
}

/* Waits without the connections, whose answers gather meanwhile. Returns whether nobody called. */
static bool gather(struct transport *const transports[], size_t count, int64_t gather_us)
{
	const struct timespec time = { .tv_nsec = gather_us * 1000 };
	struct pollfd callers[2 * TRANSPORTS_MAX];
	for (size_t i = 0; i < count; i++) {
		callers[2 * i] = (struct pollfd){ .fd = transports[i]->wake_fd, .events = POLLIN };
		callers[2 * i + 1] = (struct pollfd){ .fd = transports[i]->watched_fd, .events = POLLIN };
	}
	return ppoll(callers, 2 * count, &time, NULL) == 0; /* a descriptor of −1 is left out */
}

/* Until one of several has events; which, they are asked for afterwards. */
static void wait_for_any(struct transport *const transports[], size_t count, int timeout_ms)
{
	struct pollfd polls[TRANSPORTS_MAX];
	for (size_t i = 0; i < count; i++)
		polls[i] = (struct pollfd){ .fd = transports[i]->epoll_fd, .events = POLLIN };
	poll(polls, count, timeout_ms);
}

static void take_events(struct transport *transport, int timeout_ms)
{
	int count = epoll_wait(transport->epoll_fd, transport->events, EVENTS_MAX, timeout_ms);
	transport->events_count = count < 0 ? 0 : count;
	transport->more = count == EVENTS_MAX;
}

/* Says of all that their thread waits; false: somebody has called already. */
static bool begin_to_wait(struct transport *const transports[], size_t count)
{
	bool called = false;
	for (size_t i = 0; i < count; i++) {
		int before = RUNNING;
		called |= !atomic_compare_exchange_strong(&transports[i]->state, &before, WAITING);
	}
	return !called;
}

void transport_wait(struct transport *const transports[], size_t count, int64_t timeout_ms)
{
	int64_t now_us = clock_monotonic_us(), left_us = timeout_ms * 1000;
	int64_t gather_us = gathering_of_all_us(transports, count);
	for (size_t i = 0; i < count; i++) {
		int64_t next_us = next_timer_us(transports[i]);
		if (next_us - now_us < left_us)
			left_us = next_us - now_us;
	}
	if (left_us <= 0 || !begin_to_wait(transports, count))
		left_us = 0;
	else if (gather_us > 0 && gather_us < left_us)
		left_us = gather(transports, count, gather_us) ? left_us - gather_us : 0;
	int left_ms = (int)((left_us + 999) / 1000);
	if (count > 1 && left_ms > 0)
		wait_for_any(transports, count, left_ms);
	for (size_t i = 0; i < count; i++) {
		take_events(transports[i], count > 1 ? 0 : left_ms);
		/* Who calls before this is seen by whoever runs us; who calls after this ends the next wait.
		 */
		atomic_store(&transports[i]->state, RUNNING);
	}
}

void transport_wake(struct transport *transport)
{
	static const uint64_t one = 1;
	if (atomic_exchange(&transport->state, CALLED) == WAITING) /* else no system call is needed */
		while (write(transport->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
			;
}
