#include "event/response.h"

#include <jansson.h>

static bool has_all(const json_t *object, const str_t *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const json_t *value =
			fields[i].ptr ? json_object_getn(object, fields[i].ptr, fields[i].len) : NULL;
		if (!value || json_is_null(value))
			return false;
	}
	return true;
}

enum response_quality response_check(const struct model_response *response)
{
	json_t *object = json_loadb(response->raw.ptr, response->raw.len, JSON_ALLOW_NUL, NULL);
	enum response_quality quality = RESPONSE_COMPLETE;
	if (!json_is_object(object))
		quality = RESPONSE_NOT_AN_OBJECT;
	else if (!has_all(object, response->required_fields, response->required_fields_count))
		quality = RESPONSE_REQUIRED_MISSING;
	else if (!has_all(object, response->optional_fields, response->optional_fields_count))
		quality = RESPONSE_OPTIONAL_MISSING;
	json_decref(object);
	return quality;
}
