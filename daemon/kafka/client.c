#include "kafka/client.h"

#include "common/clock.h"
#include "common/log.h"

enum { SOCKET_TIMEOUT_MS = 10000 };

/* librdkafka's log levels are syslog's. Its own retries are no news of ours: what it warns of is for
 * debugging. That a client has failed for good is reported by whoever uses it, with a hint. */
static void log_line(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
	(void)client;
	bool reported = strcmp(facility, "FATAL") == 0 || strcmp(facility, "TXNERR") == 0;
	enum log_level ours = level <= 2 && !reported ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG;
	log_write(ours, NULL, "kafka client: %s: %s", facility, text);
}

err_t kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value, struct err_detail *detail)
{
	char reason[256];
	if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK)
		return ERR_OK;
	return err_fail(detail, ERR_KAFKA_CONFIG, "Kafka property \"%s\": %s", name, reason);
}

err_t kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, long long value, struct err_detail *detail)
{
	char text[32];
	snprintf(text, sizeof text, "%lld", value);
	return kafka_conf_set(conf, name, text, detail);
}

err_t kafka_conf_set_liveness(rd_kafka_conf_t *conf, const struct kafka_settings *settings,
			      struct err_detail *detail)
{
	err_t err = kafka_conf_set_int(conf, "session.timeout.ms", settings->session_timeout_ms, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "heartbeat.interval.ms", settings->heartbeat_ms, detail);
	/* a connection that carries nothing any more and is not closed either: 60 s would be a long silence
	 */
	if (!err)
		err = kafka_conf_set_int(conf, "socket.timeout.ms", SOCKET_TIMEOUT_MS, detail);
	return err;
}

static err_t set_property(rd_kafka_conf_t *conf, const char *property, struct err_detail *detail)
{
	char name[128];
	const char *equals = strchr(property, '=');
	if (!equals || equals == property || (size_t)(equals - property) >= sizeof name)
		return err_fail(detail, ERR_KAFKA_CONFIG,
				"kafka.properties: an entry has no \"name=value\" form; write for example "
				"\"security.protocol=SSL\"");
	snprintf(name, sizeof name, "%.*s", (int)(equals - property), property);
	return kafka_conf_set(conf, name, equals + 1, detail);
}

err_t kafka_conf_new(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
		     struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set_log_cb(conf, log_line);
	err_t err = kafka_conf_set(conf, "bootstrap.servers", settings->bootstrap_servers, detail);
	if (!err)
		err = kafka_conf_set(conf, "client.id", "assayd", detail);
	for (size_t i = 0; !err && i < settings->properties_count; i++)
		err = set_property(conf, settings->properties[i], detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

err_t kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t **conf, rd_kafka_t **ret_client,
		       struct err_detail *detail)
{
	char reason[256];
	rd_kafka_t *client = rd_kafka_new(type, *conf, reason, sizeof reason);
	if (!client)
		return err_fail(detail, ERR_KAFKA_CONFIG, "Kafka %s: %s",
				type == RD_KAFKA_CONSUMER ? "consumer" : "producer", reason);
	*conf = NULL;
	*ret_client = client;
	return ERR_OK;
}

int64_t kafka_written_ms(const rd_kafka_message_t *message)
{
	rd_kafka_timestamp_type_t type;
	int64_t now_ms = clock_wall_ms(), at_ms = rd_kafka_message_timestamp(message, &type);
	return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || at_ms <= 0 || at_ms > now_ms ? now_ms : at_ms;
}
