#include "avro/registry/registry_subjects.h"

#include "avro/registry/registry_fetch.h"
#include "avro/registry/registry_store.h"
#include "avro/schema_tree.h"

#include <jansson.h>
#include <stdatomic.h>

enum { ROUND_MS = 100 };

/* ---- one request ---- */

/* Which address answered last: a program has one registry, and one that hangs is not waited for each time. */
static atomic_size_t best;

static void ask_one(const struct registry_settings *settings, struct registry_request *request)
{
	struct registry_http *http = registry_http_new(settings);
	struct list finished = LIST_INIT(finished);
	registry_http_start(http, request);
	while (list_empty(&finished))
		registry_http_run(http, ROUND_MS, &finished);
	request->held = NULL; /* it outlives what counts */
	registry_http_free(http);
}

/*
 * Asks one address after the other until one has it; what became of the last is in the request. One that does
 * not have it may lag behind the others: then these are asked, too, and `*ret_denied` is true if none has it.
 */
static void ask(const struct registry_settings *settings, struct registry_request *request, bool *ret_denied)
{
	size_t first = atomic_load(&best);
	*ret_denied = false;
	for (size_t i = 0; i < settings->urls_count; i++) {
		struct err_detail reason;
		request->url = (first + i) % settings->urls_count;
		ask_one(settings, request);
		bool denied = request->status != 200 && registry_failure(request, &reason) == REGISTRY_ABSENT;
		if (request->status > 0 && request->status < 500 && request->status != 429 && !denied) {
			atomic_store(&best, request->url);
			*ret_denied = false;
			return;
		}
		*ret_denied |= denied;
	}
}

/* ERR_OK: answered, with 200 or with an absence (`*ret_absent`). */
static err_t ask_for(const struct registry_settings *settings, struct registry_request *request,
		     bool *ret_absent, struct err_detail *detail)
{
	struct err_detail reason = { "" };
	ask(settings, request, ret_absent);
	if (request->status == 200 || *ret_absent)
		return ERR_OK;
	registry_failure(request, &reason);
	return err_fail(detail, ERR_SCHEMA_UNAVAILABLE, "the schema registry %s: %s",
			settings->urls[request->url], reason.message);
}

static void append_path(const char *before, const char *subject, const char *behind, struct buf *out)
{
	buf_append_text(out, before);
	registry_escape(subject, strlen(subject), out);
	buf_append_text(out, behind);
}

/* {"schema": "…"} */
static void append_body(enum record_id record, struct buf *out)
{
	str_t schema = builtin_schema(record);
	json_t *body = json_object();
	json_object_set_new(body, "schema", json_stringn(schema.ptr, schema.len));
	char *text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	if (!text)
		abort();
	buf_append_text(out, text);
	free(text);
}

/* ---- subjects ---- */

static void append_record_name(enum record_id record, struct buf *out)
{
	struct schema *schema;
	if (schema_parse(builtin_schema(record), &schema, NULL))
		abort(); /* it is compiled in */
	buf_append_str(out, schema->root->name);
	schema_free(schema);
}

void registry_subject(enum registry_strategy strategy, const char *topic, enum record_id record,
		      struct buf *out)
{
	if (strategy != REGISTRY_RECORD_NAME)
		buf_append_text(out, topic);
	if (strategy == REGISTRY_TOPIC_RECORD_NAME)
		buf_append_char(out, '-');
	if (strategy == REGISTRY_TOPIC_NAME)
		buf_append_text(out, "-value");
	else
		append_record_name(record, out);
}

/* Whether the subject's level of compatibility is NONE, or, where it has none of its own, that of all. Not
 * everybody looks at it who is asked whether a schema is compatible. */
static bool takes_anything(const struct registry_settings *settings, const char *subject)
{
	_cleanup_(buf_free) struct buf own = BUF_INIT;
	bool absent = true, none = false;
	append_path("/config/", subject, "", &own);
	const char *const paths[] = { own.data, "/config" };
	for (size_t i = 0; absent && i < 2; i++) {
		struct registry_request request = { .path = paths[i] };
		if (ask_for(settings, &request, &absent, NULL))
			absent = false;
		else
			none = !absent && registry_answer_level(buf_str(&request.answer), "NONE");
		registry_request_free(&request);
	}
	return none;
}

static err_t look_compatible(const struct registry_settings *settings, const char *subject, const char *body,
			     struct registry_standing *standing, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf path = BUF_INIT;
	struct registry_request request = { .body = body };
	bool absent;
	str_t why = STR_NONE;
	append_path("/compatibility/subjects/", subject, "/versions/latest?verbose=true", &path);
	request.path = path.data;
	err_t err = ask_for(settings, &request, &absent, detail);
	standing->compatible = absent; /* there is nothing to be compatible with */
	if (!err && !absent)
		err = registry_answer_compatible(buf_str(&request.answer), arena, &standing->compatible, &why,
						 detail);
	if (!err && !standing->compatible)
		standing->compatible = takes_anything(settings, subject);
	snprintf(standing->why, sizeof standing->why, STR_FMT, STR_ARG(why));
	registry_request_free(&request);
	return err ? ERR_SCHEMA_UNAVAILABLE : ERR_OK;
}

err_t registry_look(const struct registry_settings *settings, const char *subject, enum record_id record,
		    struct registry_standing *ret_standing, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT, body = BUF_INIT;
	struct registry_standing standing = { 0 };
	bool absent;
	append_path("/subjects/", subject, "", &path);
	append_body(record, &body);
	struct registry_request request = { .path = path.data, .body = body.data };
	err_t err = ask_for(settings, &request, &absent, detail);
	if (!err && !absent) {
		standing.id = (uint32_t)registry_answer_number(buf_str(&request.answer), "id");
		if (!standing.id) {
			err = err_fail(detail, ERR_SCHEMA_UNAVAILABLE, "no id of %s is in the answer",
				       subject);
			registry_say_foreign(&request, detail);
		}
	}
	registry_request_free(&request);
	if (!err && absent)
		err = look_compatible(settings, subject, body.data, &standing, detail);
	if (!err)
		*ret_standing = standing;
	return err;
}

static err_t register_schema(const struct registry_settings *settings, const char *subject,
			     enum record_id record, uint32_t *ret_id, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT, body = BUF_INIT;
	bool absent;
	append_path("/subjects/", subject, "/versions", &path);
	append_body(record, &body);
	struct registry_request request = { .path = path.data, .body = body.data };
	err_t err = ask_for(settings, &request, &absent, detail);
	*ret_id = err ? 0 : (uint32_t)registry_answer_number(buf_str(&request.answer), "id");
	if (!err && !*ret_id)
		err = err_fail(detail, ERR_SCHEMA_UNAVAILABLE,
			       "the schema registry does not take our schema for %s", subject);
	registry_request_free(&request);
	return err;
}

static err_t find_id(const struct registry_settings *settings, const char *subject, enum record_id record,
		     bool may_register, uint32_t *ret_id, struct err_detail *detail)
{
	struct registry_standing standing;
	const char *name = builtin_record(record)->name;
	err_t err = registry_look(settings, subject, record, &standing, detail);
	if (err)
		return err;
	*ret_id = standing.id;
	if (standing.id)
		return ERR_OK;
	if (!standing.compatible)
		return err_fail(
			detail, ERR_SCHEMA_INCOMPATIBLE,
			"our schema of %s is not compatible with what the subject %s has%s%s; change the "
			"subject's compatibility, or registry.subject_name_strategy",
			name, subject, standing.why[0] ? ": " : "", standing.why);
	if (!may_register)
		return err_fail(
			detail, ERR_SCHEMA_UNKNOWN,
			"the schema registry does not have our schema of %s under the subject %s; register "
			"it there, or set registry.register",
			name, subject);
	return register_schema(settings, subject, record, ret_id, detail);
}

err_t registry_written_id(const struct registry_settings *settings, const char *subject,
			  enum record_id record, bool may_register, uint32_t *ret_id,
			  struct err_detail *detail)
{
	str_t schema = builtin_schema(record);
	struct registry_store *store =
		registry_store_new(settings->state_directory, settings->urls, settings->urls_count);
	err_t err = find_id(settings, subject, record, may_register, ret_id, detail);
	if (err == ERR_SCHEMA_UNAVAILABLE && (*ret_id = registry_store_id(store, subject, schema)))
		err = ERR_OK;
	registry_store_free(store);
	return err;
}

void registry_keep_written_id(const struct registry_settings *settings, const char *subject,
			      enum record_id record, uint32_t id)
{
	const struct schema_name name = { .id = id };
	str_t schema = builtin_schema(record);
	struct registry_store *store =
		registry_store_new(settings->state_directory, settings->urls, settings->urls_count);
	registry_store_write_id(store, subject, schema, id, NULL);
	registry_store_write(store, &name, schema, NULL);
	registry_store_free(store);
}

/* ---- schemas ---- */

/* `what` it is, for the detail; `ret_odd`: it answers, and not as it should. */
static err_t fetch_all(const struct registry_settings *settings, struct registry_fetch *fetch,
		       const char *what, bool *ret_odd, struct err_detail *detail)
{
	enum registry_outcome outcome = REGISTRY_MORE;
	struct err_detail reason = { "" };
	while (outcome == REGISTRY_MORE) {
		struct registry_request request = { .path = registry_fetch_path(fetch) };
		bool denied;
		ask(settings, &request, &denied);
		outcome = registry_fetch_take(fetch, &request, &reason);
		if (denied)
			outcome = REGISTRY_ABSENT;
		*ret_odd = outcome == REGISTRY_ODD && request.answered;
		registry_request_free(&request);
	}
	if (outcome == REGISTRY_COMPLETE)
		return ERR_OK;
	err_t err = outcome == REGISTRY_ABSENT	  ? ERR_SCHEMA_UNKNOWN
		    : outcome == REGISTRY_REFUSED ? ERR_SCHEMA_INCOMPATIBLE
						  : ERR_SCHEMA_UNAVAILABLE;
	return err_fail(detail, err, "%s of the schema registry: %s", what, reason.message);
}

err_t registry_latest(const struct registry_settings *settings, const char *subject, struct buf *out,
		      struct err_detail *detail)
{
	struct registry_fetch *fetch = registry_fetch_new_latest(subject);
	bool odd;
	err_t err = fetch_all(settings, fetch, "the newest schema", &odd, detail);
	if (!err)
		buf_append_str(out, registry_fetch_schema(fetch));
	registry_fetch_free(fetch);
	return err;
}

err_t registry_teach(const struct registry_settings *settings, struct codec *codec,
		     const struct schema_name *name, struct err_detail *detail)
{
	struct registry_fetch *fetch = registry_fetch_new(name);
	struct err_detail reason = { "" };
	char text[SCHEMA_NAME_SIZE];
	bool odd;
	framing_name_text(name, text);
	err_t err = fetch_all(settings, fetch, text, &odd, detail);
	if (odd) /* nobody waits for that */
		err = ERR_SCHEMA_UNKNOWN;
	if (!err && (err = codec_learn_named(codec, name, registry_fetch_schema(fetch), &reason)))
		err_fail(detail, err, "%s of the schema registry: %s", text, err_message(err, &reason));
	registry_fetch_free(fetch);
	return err;
}
