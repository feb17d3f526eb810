#include "avro/fields.h"

const char *advisory_kind_name(enum advisory_kind kind)
{
	static const char *const later[] = { "WRONG_ANSWER", "OWN_FALSE_NEGATIVE", "TARGET_UNAVAILABLE",
					     "REVIEW_REQUIRED" };
	_Static_assert(sizeof later / sizeof later[0] ==
			       (size_t)ADVISORY_KIND_COUNT_ - (size_t)ADVISORY_FORMER_KINDS,
		       "a name for each kind");
	if ((size_t)kind < ADVISORY_KINDS.count)
		return ADVISORY_KINDS.symbols[kind];
	return kind < ADVISORY_KIND_COUNT_ ? later[kind - ADVISORY_FORMER_KINDS] : "UNKNOWN";
}

enum advisory_kind advisory_kind_former(enum advisory_kind kind)
{
	switch (kind) {
	case ADVISORY_WRONG_ANSWER:
		return ADVISORY_LOW_RELEVANCE;
	case ADVISORY_OWN_FALSE_NEGATIVE:
		return ADVISORY_UNSAFE_QUERY;
	case ADVISORY_TARGET_UNAVAILABLE:
		return ADVISORY_GROUND_TRUTH_FAILED;
	case ADVISORY_REVIEW_REQUIRED:
		return ADVISORY_LOW_CONFIDENCE;
	default:
		return kind;
	}
}

const char *advisory_action_name(enum record_action action)
{
	return (size_t)action < DISPOSITION_ACTIONS.count ? DISPOSITION_ACTIONS.symbols[action] : "UNKNOWN";
}

const char *advisory_level_name(enum confidence_level level)
{
	return (size_t)level < CONFIDENCE_LEVELS.count ? CONFIDENCE_LEVELS.symbols[level] : "UNKNOWN";
}
