#include "kafka/cloud_event.h"

#include "kafka/header.h"

#include <time.h>

static str_t time_text(int64_t time_ms, struct arena *arena)
{
	char text[sizeof "2026-01-01T00:00:00"];
	time_t seconds = (time_t)(time_ms / 1000);
	struct tm utc;
	if (time_ms < 0 || !gmtime_r(&seconds, &utc) ||
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
		return STR_NONE;
	return arena_printf(arena, "%s.%03dZ", text, (int)(time_ms % 1000));
}

size_t cloud_event_headers(const struct cloud_event *event, struct arena *arena,
			   struct output_header headers[static CLOUD_EVENT_HEADERS])
{
	bool json = event->value.len > 0 && *event->value.ptr == '{';
	const struct {
		enum header header;
		str_t value;
	} all[CLOUD_EVENT_HEADERS] = {
		{ HEADER_CE_SPECVERSION, STR("1.0") },
		{ HEADER_CE_ID, event->id },
		{ HEADER_CE_SOURCE, arena_printf(arena, "/%s", event->topic) },
		{ HEADER_CE_TYPE, str_from(event->type) },
		{ HEADER_CE_SUBJECT, event->subject },
		{ HEADER_CE_TIME, time_text(event->time_ms, arena) },
		{ HEADER_CONTENT_TYPE, json ? STR("application/json") : STR("application/vnd.apache.avro") },
	};
	size_t count = 0;
	for (size_t i = 0; i < CLOUD_EVENT_HEADERS; i++)
		if (str_present(all[i].value) && all[i].value.len > 0) /* none is empty in CloudEvents */
			headers[count++] = (struct output_header){ header_name(all[i].header), all[i].value };
	return count;
}
