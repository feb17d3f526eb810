#include "score/technical.h"

#include <math.h>

#define ERROR_COST   20.0
#define WARNING_COST 5.0

double technical_score(const struct technical_findings *findings)
{
	if (!findings->valid || findings->unknown_table)
		return 0;
	double cost = ERROR_COST * (double)findings->errors + WARNING_COST * (double)findings->warnings;
	return fmax(0, 100 - cost);
}

/* Length-bound strcasestr: the text may hold NULs. */
static bool contains(str_t text, const char *word)
{
	size_t len = strlen(word);
	for (size_t i = 0; i + len <= text.len; i++) {
		if (strncasecmp(text.ptr + i, word, len) == 0)
			return true;
	}
	return false;
}

bool technical_text_is_unknown_table(str_t text)
{
	return contains(text, "table") && (contains(text, "not found") || contains(text, "does not exist"));
}

opt_double_t technical_choose(enum technical_source source, opt_double_t own, opt_double_t event)
{
	switch (source) {
	case TECHNICAL_OWN:
		return own;
	case TECHNICAL_EVENT:
		return event.set ? event : own;
	case TECHNICAL_WORST:
		break;
	}
	if (!own.set || !event.set)
		return own.set ? own : event;
	return event.value < own.value ? event : own;
}
