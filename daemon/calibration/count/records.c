#include "calibration/count/records.h"

#include <stdio.h>

static err_t set_properties(rd_kafka_conf_t *conf, const struct kafka_settings *settings,
			    struct err_detail *detail)
{
	char group[256];
	snprintf(group, sizeof group, "%s" KAFKA_CALIBRATION_SUFFIX, settings->group_id);
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

err_t calibration_consumer_conf(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
				struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = set_properties(conf, settings, detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

err_t calibration_record_case(const struct codec *codec, const rd_kafka_message_t *message,
			      struct arena *arena, struct calibration_case *ret_case, bool *ret_read,
			      struct err_detail *detail)
{
	struct calibration_case item;
	err_t err =
		calibration_case_read(codec, message->payload, message->len, arena, &item, ret_read, detail);
	if (err)
		return err;
	item.partition = message->partition;
	item.offset = message->offset;
	*ret_case = item;
	return ERR_OK;
}

err_t calibration_record_feedback(const struct codec *codec, const rd_kafka_message_t *message,
				  struct calibration_feedback *ret_feedback, struct err_detail *detail)
{
	struct calibration_feedback item = { .partition = message->partition, .offset = message->offset };
	rd_kafka_timestamp_type_t type;
	item.said_at_ms = rd_kafka_message_timestamp(message, &type);
	err_t err = calibration_feedback_read(codec, message->payload, message->len, &item, detail);
	if (!err && type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE)
		err = err_fail(detail, ERR_AVRO_VALUE, "the message has no time");
	if (!err)
		*ret_feedback = item;
	return err;
}
