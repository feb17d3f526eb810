#include "event/recent.h"

#include "common/utf8.h"

#include <pthread.h>

struct recent {
	pthread_mutex_t mutex;
	uint64_t count; /* noted so far; the next one goes to this number modulo the size */
	struct recent_advisory advisories[RECENT_ADVISORIES];
};

struct recent *recent_new(void)
{
	struct recent *recent = calloc(1, sizeof *recent);
	if (!recent)
		abort();
	pthread_mutex_init(&recent->mutex, NULL);
	return recent;
}

void recent_free(struct recent *recent)
{
	if (!recent)
		return;
	pthread_mutex_destroy(&recent->mutex);
	free(recent);
}

/* One more of a list; what does not fit as a whole is left out. */
static void append(char *to, size_t size, str_t name)
{
	size_t len = strlen(to), comma = len ? 2 : 0;
	if (!utf8_valid(name.ptr, name.len) || len + comma + name.len >= size)
		return;
	memcpy(to + len, ", ", comma);
	memcpy(to + len + comma, name.ptr, name.len);
	to[len + comma + name.len] = '\0';
}

void recent_note(struct recent *recent, const struct advisory *advisory)
{
	if (!recent || !advisory)
		return;
	pthread_mutex_lock(&recent->mutex);
	struct recent_advisory *to = &recent->advisories[recent->count++ % RECENT_ADVISORIES];
	*to = (struct recent_advisory){ .raised_at_ms = advisory->raised_at };
	for (size_t i = 0; i < advisory->kinds_count; i++)
		append(to->kinds, sizeof to->kinds, advisory->kinds[i]);
	for (size_t i = 0; i < advisory->reasons_count; i++)
		append(to->codes, sizeof to->codes, advisory->reasons[i].code);
	if (advisory->action != ENUM_ABSENT)
		snprintf(to->action, sizeof to->action, "%s",
			 advisory_action_name((enum record_action)advisory->action));
	if (advisory->level != ENUM_ABSENT)
		snprintf(to->level, sizeof to->level, "%s",
			 advisory_level_name((enum confidence_level)advisory->level));
	utf8_copy(to->event_id, sizeof to->event_id, advisory->event_id);
	utf8_copy(to->application, sizeof to->application, advisory->application);
	utf8_copy(to->target, sizeof to->target, advisory->target);
	utf8_copy(to->summary, sizeof to->summary, advisory->summary);
	pthread_mutex_unlock(&recent->mutex);
}

size_t recent_read(struct recent *recent, struct recent_advisory ret_advisories[RECENT_ADVISORIES])
{
	if (!recent)
		return 0;
	pthread_mutex_lock(&recent->mutex);
	uint64_t count = recent->count < RECENT_ADVISORIES ? recent->count : RECENT_ADVISORIES;
	for (uint64_t i = 0; i < count; i++)
		ret_advisories[i] = recent->advisories[(recent->count - 1 - i) % RECENT_ADVISORIES];
	pthread_mutex_unlock(&recent->mutex);
	return (size_t)count;
}
