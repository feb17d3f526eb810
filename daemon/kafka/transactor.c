#include "kafka/transactor.h"

#include "common/clock.h"
#include "common/log.h"

#include <stdarg.h>

void transactor_init(struct transactor *transactor, const struct kafka_settings *settings)
{
	*transactor = (struct transactor){ .settings = settings };
	transactor->backoff = (struct backoff){ .base_ms = 50, .cap_ms = 2000 };
	pthread_mutex_init(&transactor->refusal_mutex, NULL);
}

void transactor_destroy(struct transactor *transactor)
{
	producer_close(&transactor->producer);
	pthread_mutex_destroy(&transactor->refusal_mutex);
}

bool transactor_stopping(const struct transactor *transactor)
{
	int64_t at = atomic_load(&transactor->stop_at_us);
	return at != 0 && clock_monotonic_us() >= at;
}

void transactor_pause(struct transactor *transactor)
{
	heartbeat_waiting(&transactor->heartbeat, "Kafka broker");
	rd_kafka_poll(transactor->producer.client, (int)backoff_next_ms(&transactor->backoff) + 1);
}

/* ---- refusals ---- */

void transactor_note_refusal(struct transactor *transactor, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	pthread_mutex_lock(&transactor->refusal_mutex);
	vsnprintf(transactor->refusal, sizeof transactor->refusal, format, arguments);
	pthread_mutex_unlock(&transactor->refusal_mutex);
	va_end(arguments);
}

void transactor_describe_refusal(struct transactor *transactor, struct buf *out)
{
	pthread_mutex_lock(&transactor->refusal_mutex);
	buf_append_text(out, transactor->refusal);
	pthread_mutex_unlock(&transactor->refusal_mutex);
}

bool transactor_heed_right(struct transactor *transactor, rd_kafka_resp_err_t err, enum right topic)
{
	enum right right = err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED	 ? topic
			   : err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ? RIGHT_READ_GROUP
			   : err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
				   ? RIGHT_WRITE_TRANSACTIONS
				   : RIGHT_COUNT_;
	if (!rights_are_missing(err))
		return false;
	if (right != RIGHT_COUNT_)
		rights_watch_set(transactor->rights, right, true);
	else
		rights_watch_doubt(transactor->rights);
	return true;
}
