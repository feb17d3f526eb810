/*
 * Records of the topics that calibration counts: what a message says. Shared by the calibrator and the
 * rebuild, who must not differ. Any thread.
 */
#pragma once

#include "calibration/feedback/feedback.h"
#include "kafka/client.h"

/* What a message of the scored topic says, and where it lies; see calibration_case_read. */
err_t calibration_record_case(const struct codec *codec, const rd_kafka_message_t *message,
			      struct arena *arena, struct calibration_case *ret_case, bool *ret_read,
			      struct err_detail *detail);

/* What a message of the feedback topic says, when and where. Errors: it cannot be read, or has no time. */
err_t calibration_record_feedback(const struct codec *codec, const rd_kafka_message_t *message,
				  struct calibration_feedback *ret_feedback, struct err_detail *detail);
