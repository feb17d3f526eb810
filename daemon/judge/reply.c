#include "judge/reply.h"

#include <jansson.h>
#include <math.h>

static err_t unreadable(struct err_detail *detail, const char *why)
{
	return err_fail(detail, ERR_JUDGE_REPLY, "the judge's reply cannot be read as a verdict: %s", why);
}

/* Position behind the string that opens at `at`, or 0 when it does not end. */
static size_t skip_string(str_t text, size_t at)
{
	for (size_t i = at + 1; i < text.len; i++) {
		if (text.ptr[i] == '\\')
			i++;
		else if (text.ptr[i] == '"')
			return i + 1;
	}
	return 0;
}

/* Position behind the object that opens at `at`, or 0 when it does not close, is nested too deeply or holds
 * another object. Brackets only: whether it is JSON is the parser's to say. */
static size_t skip_object(str_t text, size_t at)
{
	unsigned arrays = 0;
	size_t i = at + 1;
	while (i < text.len) {
		char c = text.ptr[i];
		if (c == '}')
			return arrays == 0 ? i + 1 : 0;
		if (c == '{' || (c == '[' && ++arrays > REPLY_DEPTH_MAX) || (c == ']' && arrays-- == 0))
			return 0;
		i = c == '"' ? skip_string(text, i) : i + 1;
		if (i == 0)
			return 0;
	}
	return 0;
}

/* Whether the brace at `at` is meant to begin an object, rather than being a brace in prose. */
static bool begins_object(str_t text, size_t at)
{
	size_t i = at + 1;
	while (i < text.len &&
	       (text.ptr[i] == ' ' || text.ptr[i] == '\t' || text.ptr[i] == '\n' || text.ptr[i] == '\r'))
		i++;
	return i < text.len && (text.ptr[i] == '"' || text.ptr[i] == '}');
}

/* Finds the one object of the text. */
static err_t find_object(str_t text, str_t *ret_object, struct err_detail *detail)
{
	str_t object = STR_NONE;
	for (size_t i = 0; i < text.len;) {
		if (text.ptr[i] != '{' || !begins_object(text, i)) {
			i++;
			continue;
		}
		size_t end = skip_object(text, i);
		if (end == 0)
			return unreadable(detail, "an object in it is broken or nested");
		if (str_present(object))
			return unreadable(detail, "it holds more than one object");
		object = (str_t){ text.ptr + i, end - i };
		i = end;
	}
	if (!str_present(object))
		return unreadable(detail, "it holds no JSON object");
	*ret_object = object;
	return ERR_OK;
}

static void json_cleanup(json_t **json)
{
	json_decref(*json);
}

static str_t bounded_reason(const json_t *reason, struct arena *arena)
{
	const char *text = json_string_value(reason);
	size_t len = json_string_length(reason);
	if (len > REPLY_REASON_MAX) {
		len = REPLY_REASON_MAX;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	return arena_text(arena, text, len);
}

/* Parses the one object of `text` and reads its reason; the caller releases *ret_json. */
static err_t open_reply(str_t text, struct arena *arena, json_t **ret_json, str_t *ret_reason,
			struct err_detail *detail)
{
	str_t object = STR_NONE;
	if (text.len > REPLY_SIZE_MAX)
		return unreadable(detail, "it is too long");
	err_t err = find_object(text, &object, detail);
	if (err != ERR_OK)
		return err;
	/* the parser skips NUL bytes */
	bool has_nul = memchr(object.ptr, 0, object.len) != NULL;
	json_t *json = has_nul ? NULL : json_loadb(object.ptr, object.len, JSON_REJECT_DUPLICATES, NULL);
	if (!json)
		return unreadable(detail, "its object is not valid JSON");
	const json_t *reason = json_object_get(json, "reason");
	if (reason && !json_is_string(reason) && !json_is_null(reason)) {
		json_decref(json);
		return unreadable(detail, "its reason is not a text");
	}
	*ret_reason = json_is_string(reason) ? bounded_reason(reason, arena) : STR_NONE;
	*ret_json = json;
	return ERR_OK;
}

err_t reply_read_relevance(str_t text, struct arena *arena, struct reply *ret_reply,
			   struct err_detail *detail)
{
	_cleanup_(json_cleanup) json_t *json = NULL;
	str_t reason = STR_NONE;
	err_t err = open_reply(text, arena, &json, &reason, detail);
	if (err != ERR_OK)
		return err;
	const json_t *score = json_object_get(json, "score");
	if (!json_is_number(score))
		return unreadable(detail, "its score is missing or not a number");
	double value = json_number_value(score);
	if (!(value >= 0 && value <= 100) || value != floor(value))
		return unreadable(detail, "its score is not an integer from 0 to 100");
	*ret_reply = (struct reply){ fabs(value), reason };
	return ERR_OK;
}

err_t reply_read_correctness(str_t text, struct arena *arena, struct reply *ret_reply,
			     struct err_detail *detail)
{
	static const struct {
		const char *word;
		double score;
	} verdicts[] = { { "correct", 1.0 }, { "partial", 0.5 }, { "incorrect", 0.0 } };
	_cleanup_(json_cleanup) json_t *json = NULL;
	str_t reason = STR_NONE;
	err_t err = open_reply(text, arena, &json, &reason, detail);
	if (err != ERR_OK)
		return err;
	const char *verdict = json_string_value(json_object_get(json, "verdict"));
	for (size_t i = 0; verdict && i < sizeof verdicts / sizeof verdicts[0]; i++) {
		if (strcmp(verdict, verdicts[i].word) == 0) {
			*ret_reply = (struct reply){ verdicts[i].score, reason };
			return ERR_OK;
		}
	}
	return unreadable(detail, "its verdict is not one of correct, partial and incorrect");
}
