#include "common/conf_hint.h"

#include "common/edit_distance.h"

void conf_hint_add(struct conf_hint *hint, const char *name)
{
	static const char more[] = ", …";
	size_t len = strlen(hint->all), far = edit_distance(str_from(hint->wanted), str_from(name));
	bool full = len >= sizeof more && strcmp(hint->all + len - (sizeof more - 1), more) == 0;
	if (!full && len + 2 + strlen(name) + sizeof more <= sizeof hint->all)
		snprintf(hint->all + len, sizeof hint->all - len, "%s%s", len ? ", " : "", name);
	else if (!full)
		memcpy(hint->all + len, more, sizeof more);
	if (far < hint->best_distance) {
		hint->best_distance = far;
		hint->best = name;
	}
}

bool conf_hint_is_near(const struct conf_hint *hint)
{
	return hint->best && hint->best_distance <= 2 + strlen(hint->wanted) / 5;
}
