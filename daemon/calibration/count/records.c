#include "calibration/count/records.h"

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
	err_t err = calibration_feedback_read(codec, kafka_header(message, FRAMING_HEADER), message->payload,
					      message->len, &item, detail);
	if (!err && type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE)
		err = err_fail(detail, ERR_AVRO_VALUE, "the message has no time");
	if (!err)
		*ret_feedback = item;
	return err;
}
