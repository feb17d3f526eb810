/* QueryFeedback: late truth about a scored query, as a plain value (schemas/query_feedback.avsc). */
#pragma once

#include "common/str.h"

struct query_feedback {
	str_t event_id;
	bool correct;
	str_t source; /* or absent, likewise below */
	str_t note;
};
