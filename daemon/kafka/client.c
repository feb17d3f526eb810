#include "kafka/client.h"

#include "common/clock.h"
#include "common/log.h"
#include "kafka/login.h"
#include "kafka/reason.h"
#include "kafka/security.h"
#include "kafka/token_keeper.h"

#include <openssl/x509_vfy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>

enum {
	SOCKET_TIMEOUT_MS = 10000,
	/* Between polls of a member. A request to join the group is given so long and 3 s more: on a
	 * connection that the broker has lost nothing else ends it, and librdkafka's 300 s are a long
	 * silence. Rounds of the source and the calibrator take a second or two; what may take longer says so
	 * (kafka_count_as_poll). */
	POLL_INTERVAL_MS = 60000,
	REBALANCE_MS = 40000, /* what a member may need to end an assignment, besides draining */
	TRIAL_CLOSE_MS = 5000,
	PRODUCER_SLACK_NS = 2000000,  /* its records and transactions wait for timers */
	CONSUMER_SLACK_NS = 20000000, /* what it reads waits for none; much more would be felt at a start */
	LEVEL_INFO = 6,		      /* of syslog */
	REFRESH_MS =
		10000, /* of what is known of topics: librdkafka's 5 minutes are long for a new partition */
};

/* librdkafka's log levels are syslog's. Its own retries are no news of ours: what it warns of is for
 * debugging. That a client has failed for good is reported by whoever uses it, with a hint. */
static void log_line(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
	(void)client;
	if (level <= LEVEL_INFO && strcmp(facility, "FAIL") == 0)
		kafka_reason_note(text);
	if (strcmp(facility, "FAIL") == 0 && strstr(text, "invalid_token"))
		token_keeper_refused();
	bool reported = strcmp(facility, "FATAL") == 0 || strcmp(facility, "TXNERR") == 0;
	enum log_level ours = level <= 2 && !reported ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG;
	log_write(ours, NULL, "kafka client: %s: %s", facility, text);
}

/* OpenSSL's judgement of a broker's certificate, which librdkafka does not tell: it stays as it is. */
static int note_certificate(rd_kafka_t *client, const char *broker, int32_t broker_id, int *error, int depth,
			    const char *certificate, size_t size, char *reason, size_t reason_size,
			    void *opaque)
{
	char line[256];
	const char *said = *error ? X509_verify_cert_error_string(*error) : NULL;
	(void)client, (void)broker_id, (void)depth, (void)certificate, (void)size, (void)opaque;
	if (!said)
		return 1;
	snprintf(line, sizeof line, "%s: certificate verify failed: %s", broker, said);
	kafka_reason_note(line);
	snprintf(reason, reason_size, "%s", said);
	return 0;
}

err_t kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value, struct err_detail *detail)
{
	char reason[256];
	if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK)
		return ERR_OK;
	return err_fail(detail, ERR_KAFKA_CONFIG, "Kafka property \"%s\": %s; mend kafka.properties", name,
			reason);
}

err_t kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, long long value, struct err_detail *detail)
{
	char text[32];
	snprintf(text, sizeof text, "%lld", value);
	return kafka_conf_set(conf, name, text, detail);
}

/* Not below the session, which librdkafka refuses, and long enough for a rebalance: whoever takes longer for
 * that is put out of the group. */
static int poll_interval_ms(const struct kafka_settings *settings)
{
	int least_ms = POLL_INTERVAL_MS, rebalance_ms = settings->drain_on_revoke_ms + REBALANCE_MS;
	if (least_ms < settings->session_timeout_ms)
		least_ms = settings->session_timeout_ms;
	return least_ms < rebalance_ms ? rebalance_ms : least_ms;
}

err_t kafka_conf_set_liveness(rd_kafka_conf_t *conf, const struct kafka_settings *settings,
			      struct err_detail *detail)
{
	err_t err = kafka_conf_set_int(conf, "session.timeout.ms", settings->session_timeout_ms, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "heartbeat.interval.ms", settings->heartbeat_ms, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "max.poll.interval.ms", poll_interval_ms(settings), detail);
	/* a connection that carries nothing any more and is not closed either: 60 s would be a long silence
	 */
	if (!err)
		err = kafka_conf_set_int(conf, "socket.timeout.ms", SOCKET_TIMEOUT_MS, detail);
	return err;
}

long long kafka_response_limit(const struct kafka_settings *settings)
{
	const long long usual = 100000000, needed = (long long)settings->max_message_bytes + (2 << 20);
	return needed > usual ? needed : usual;
}

static err_t set_property(rd_kafka_conf_t *conf, const char *property, struct err_detail *detail)
{
	char name[128];
	const char *equals = strchr(property, '=');
	if (!equals || equals == property || (size_t)(equals - property) >= sizeof name)
		return err_fail(detail, ERR_KAFKA_CONFIG,
				"kafka.properties: an entry does not have the form \"name=value\"; write for "
				"example \"security.protocol=SSL\"");
	snprintf(name, sizeof name, "%.*s", (int)(equals - property), property);
	return kafka_conf_set(conf, name, equals + 1, detail);
}

/* The keeper fetches ahead of when librdkafka would ask. */
static void on_refresh(rd_kafka_t *client, const char *config, void *opaque)
{
	(void)client, (void)config, (void)opaque;
}

/* Where tokens come from: librdkafka's own properties for that are not in Debian's build. */
static err_t set_oauth(rd_kafka_conf_t *conf, const struct kafka_oauth_settings *oauth,
		       struct err_detail *detail)
{
	rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, on_refresh);
	rd_kafka_conf_enable_sasl_queue(conf, 1); /* which login.c drains: not everybody polls */
	token_keeper_configure(oauth);
	return kafka_conf_set(conf, "sasl.mechanism", "OAUTHBEARER", detail);
}

err_t kafka_conf_new(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
		     struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set_log_cb(conf, log_line);
	rd_kafka_conf_set_ssl_cert_verify_cb(conf, note_certificate);
	err_t err = kafka_conf_set(conf, "bootstrap.servers", settings->bootstrap_servers, detail);
	if (!err)
		err = kafka_conf_set(conf, "client.id", "assayd", detail);
	if (!err) /* producers would have one made that is missing, with whatever the broker gives it */
		err = kafka_conf_set(conf, "allow.auto.create.topics", "false", detail);
	if (!err)
		err = kafka_conf_set_int(conf, "topic.metadata.refresh.interval.ms", REFRESH_MS, detail);
	for (size_t i = 0; !err && i < settings->properties_count; i++)
		err = set_property(conf, settings->properties[i], detail);
	if (!err && settings->oauth)
		err = set_oauth(conf, settings->oauth, detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

static err_t set_reading(rd_kafka_conf_t *conf, const char *group, struct err_detail *detail)
{
	const struct {
		const char *name, *value;
	} properties[] = {
		{ "group.id", group },
		{ "isolation.level", "read_committed" },
		{ "enable.auto.commit", "false" },
		{ "enable.auto.offset.store", "false" },
		{ "enable.partition.eof", "true" },
		{ "auto.offset.reset", "error" },
		/* most of which is compressed when it is fetched, and eight times as long then */
		{ "fetch.max.bytes", "1048576" },
		{ "queued.max.messages.kbytes", "16384" },
	};
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < sizeof properties / sizeof *properties; i++)
		err = kafka_conf_set(conf, properties[i].name, properties[i].value, detail);
	return err;
}

err_t kafka_conf_new_reader(const struct kafka_settings *settings, const char *group_suffix,
			    rd_kafka_conf_t **ret_conf, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	char group[256];
	snprintf(group, sizeof group, "%s%s", settings->group_id, group_suffix);
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = set_reading(conf, group, detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

static void take_first(err_t err, const struct err_detail *detail, void *context)
{
	struct err_detail *first = context;
	(void)err;
	if (!*first->message)
		*first = *detail;
}

#define WRONG_PASSWORD                                                                                       \
	"; the password is wrong: mend what the file of ssl.key.password, or of ssl.keystore.password, "     \
	"holds"

/* What to do where librdkafka has OpenSSL's words for it: of keys that are properties themselves, too. */
static const char *mend_of(const char *reason)
{
	static const struct {
		const char *part, *mend;
	} mends[] = {
		{ "bad password read",
		  "; the key is encrypted: name the file of its password in kafka.secret_properties "
		  "(\"ssl.key.password=FILE\"), or write it unencrypted (openssl pkey -in KEY -out NEW)" },
		{ "bad decrypt", WRONG_PASSWORD },
		{ "maybe wrong password", WRONG_PASSWORD },
		{ "mac verify failure", WRONG_PASSWORD },
		{ "`ssl.keystore.password` is mandatory",
		  "; name the file of the password in kafka.secret_properties "
		  "(\"ssl.keystore.password=FILE\")" },
	};
	for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
		if (strstr(reason, mends[i].part))
			return mends[i].mend;
	return "";
}

/* What librdkafka says of files names none. */
static err_t fail_to_make(rd_kafka_type_t type, const rd_kafka_conf_t *conf, const char *reason,
			  struct err_detail *detail)
{
	struct err_detail first = { "" };
	err_t err = security_check(conf, take_first, &first);
	if (err)
		return err_fail(detail, err, "%s", first.message);
	return err_fail(detail, ERR_KAFKA_CONFIG, "kafka.properties: cannot create a %s with them: %s%s",
			type == RD_KAFKA_CONSUMER ? "consumer" : "producer", reason, mend_of(reason));
}

/* librdkafka 2.0.2 rounds what its main threads wait for down to milliseconds and spins for the rest before
 * each timer, one to four a second: most of what an idle client costs. Its threads have the timer slack of
 * who makes them; one above a millisecond lets waits end too late to spin. A longer one lets a consumer's
 * threads sleep through waits that end just before what they wait for comes. What wakes them is not delayed.
 */
static rd_kafka_t *new_unhurried(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *reason, size_t size)
{
	unsigned long slack_ns = (unsigned long)prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, type == RD_KAFKA_PRODUCER ? PRODUCER_SLACK_NS : CONSUMER_SLACK_NS);
	rd_kafka_t *client = rd_kafka_new(type, conf, reason, size);
	prctl(PR_SET_TIMERSLACK, slack_ns);
	return client;
}

err_t kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t **conf, rd_kafka_t **ret_client,
		       struct err_detail *detail)
{
	char reason[256];
	rd_kafka_t *client = new_unhurried(type, *conf, reason, sizeof reason);
	if (!client)
		return fail_to_make(type, *conf, reason, detail);
	*conf = NULL;
	token_keeper_hold();
	kafka_login_join(client);
	*ret_client = client;
	return ERR_OK;
}

err_t kafka_no_answer(const struct kafka_settings *settings, int timeout_ms, const char *error,
		      struct err_detail *detail)
{
	char reason[KAFKA_REASON_SIZE];
	bool known = kafka_reason(reason);
	if (!known) /* no connection has failed: it is not answered, or not even refused */
		snprintf(reason, sizeof reason,
			 "%.100s; check whether the broker hangs, whether a firewall blocks it, and whether "
			 "this is the port of a broker",
			 error);
	return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
			"kafka.bootstrap_servers: no answer from \"%.100s\" within %d s: %s",
			settings->bootstrap_servers, timeout_ms / 1000, reason);
}

int32_t kafka_answering_broker(rd_kafka_t *client, int timeout_ms)
{
	const struct rd_kafka_metadata *metadata;
	if (rd_kafka_metadata(client, 0, NULL, &metadata, timeout_ms) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return -1;
	int32_t broker = metadata->orig_broker_id;
	if (broker < 0 && metadata->broker_cnt > 0)
		broker = metadata->brokers[clock_monotonic_us() % metadata->broker_cnt].id;
	rd_kafka_metadata_destroy(metadata);
	return broker;
}

/* ---- ends ---- */

bool kafka_is_passing(rd_kafka_resp_err_t err)
{
	switch (err) {
	case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
	case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
	case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
	case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
	case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
	case RD_KAFKA_RESP_ERR_NOT_CONTROLLER:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
	case RD_KAFKA_RESP_ERR__WAIT_COORD:
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
		return true;
	default:
		return false;
	}
}

/* A client on its way out; whoever is the last to look at it frees it. */
struct closing {
	rd_kafka_t *client;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool gone, left;
};

static _Atomic unsigned clients_left;

static void closing_free(struct closing *closing)
{
	pthread_mutex_destroy(&closing->mutex);
	pthread_cond_destroy(&closing->changed);
	free(closing);
}

static void *close_main(void *argument)
{
	struct closing *closing = argument;
	rd_kafka_destroy_flags(closing->client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	pthread_mutex_lock(&closing->mutex);
	bool left = closing->left;
	closing->gone = true;
	pthread_cond_signal(&closing->changed);
	pthread_mutex_unlock(&closing->mutex);
	if (left) {
		closing_free(closing);
		atomic_fetch_sub(&clients_left, 1);
	}
	return NULL;
}

void kafka_client_close(rd_kafka_t *client, int timeout_ms)
{
	pthread_t thread;
	pthread_condattr_t monotonic;
	if (!client)
		return;
	kafka_login_leave(client);
	token_keeper_release();
	struct closing *closing = calloc(1, sizeof *closing);
	if (!closing)
		abort();
	closing->client = client;
	pthread_mutex_init(&closing->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&closing->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&thread, NULL, close_main, closing) != 0)
		abort();
	int64_t until_us = clock_monotonic_us() + (int64_t)timeout_ms * 1000;
	const struct timespec until = { until_us / 1000000, until_us % 1000000 * 1000 };
	pthread_mutex_lock(&closing->mutex);
	for (int failed = 0; !closing->gone && !failed;)
		failed = pthread_cond_timedwait(&closing->changed, &closing->mutex, &until);
	bool left = closing->left = !closing->gone;
	if (left)
		atomic_fetch_add(&clients_left, 1);
	pthread_mutex_unlock(&closing->mutex);
	if (left) {
		pthread_detach(thread);
	} else {
		pthread_join(thread, NULL);
		closing_free(closing);
	}
}

unsigned kafka_clients_left(void)
{
	return atomic_load(&clients_left);
}

/* librdkafka 2.0.2 counts every queue of the client. */
void kafka_count_as_poll(rd_kafka_t *consumer)
{
	_cleanup_(kafka_queue_cleanup) rd_kafka_queue_t *empty = rd_kafka_queue_new(consumer);
	_cleanup_(kafka_event_cleanup) rd_kafka_event_t *none = rd_kafka_queue_poll(empty, 0);
	(void)none;
}

void kafka_end_poll(rd_kafka_t *consumer)
{
	_cleanup_(kafka_queue_cleanup) rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
	if (queue)
		rd_kafka_queue_yield(queue);
}

/* Every call that the main thread answers does. */
void kafka_nudge(rd_kafka_t *consumer)
{
	rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(consumer);
	if (group)
		rd_kafka_consumer_group_metadata_destroy(group);
}

int64_t kafka_written_ms(const rd_kafka_message_t *message)
{
	rd_kafka_timestamp_type_t type;
	int64_t now_ms = clock_wall_ms(), at_ms = rd_kafka_message_timestamp(message, &type);
	return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || at_ms <= 0 || at_ms > now_ms ? now_ms : at_ms;
}

str_t kafka_header(const rd_kafka_message_t *message, const char *name)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t len;
	if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    rd_kafka_header_get(headers, 0, name, &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return STR_NONE;
	return (str_t){ value ? value : "", len };
}

err_t kafka_client_try(const struct kafka_settings *settings, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	struct kafka_settings alone = *settings;
	rd_kafka_t *client = NULL;
	alone.bootstrap_servers = "";
	err_t err = kafka_conf_new(&alone, &conf, detail);
	if (!err) /* as the daemon's producer */
		err = kafka_conf_set(conf, "enable.idempotence", "true", detail);
	if (err || security_reaches_out(conf))
		return err;
	err = kafka_client_new(RD_KAFKA_PRODUCER, &conf, &client, detail);
	kafka_client_close(client, TRIAL_CLOSE_MS);
	return err;
}
