#include "calibration/rebuild/log_policy.h"

#include "kafka/topics.h"

enum { TIMEOUT_MS = 15000 };

err_t log_policy_read(const struct rebuild_options *options, struct arena *arena,
		      struct log_policy *ret_policy, struct err_detail *detail)
{
	struct topics_compacted compacted;
	struct kafka_settings settings = *options->kafka;
	settings.feedback_topic = options->feedback_horizon_ms ? options->feedback_topic : NULL;
	err_t err = topics_compacted(&settings, TIMEOUT_MS, &compacted, detail);
	if (err)
		return err;
	*ret_policy = (struct log_policy){ .trusted = !compacted.scored };
	if (compacted.scored)
		ret_policy->notes[ret_policy->notes_count++] = arena_printf(
			arena,
			"%s has cleanup.policy = compact: records may be missing without a trace, so that "
			"differences prove nothing about the calibration; set delete",
			settings.scored_topic);
	if (compacted.feedback)
		ret_policy->notes[ret_policy->notes_count++] =
			arena_printf(arena,
				     "%s has cleanup.policy = compact: only the last message of each key is "
				     "kept, which is enough if the key is the event_id",
				     settings.feedback_topic);
	return ERR_OK;
}
