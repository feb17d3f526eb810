#include "calibration/drift/drift_publisher.h"

#include "calibration/count/store.h"
#include "calibration/store/sequences.h"
#include "common/list.h"
#include "kafka/cloud_event.h"
#include "kafka/header.h"

#include <math.h>
#include <time.h>

enum { MESSAGE_TIMEOUT_MS = 30000, FLUSH_MS = 2000 };

/* An advisory under way; the message's opaque. */
struct announcement {
	struct list_node node;
	char id[EPISODE_ID_SIZE];
	bool done;
	rd_kafka_resp_err_t err;
};

struct drift_publisher {
	rd_kafka_conf_t *conf; /* copied for each producer */
	rd_kafka_t *producer;  /* or NULL */
	const struct codec *codec;
	char *topic;
	bool cloud_events;
	struct list under_way;
};

/* ---- the producer ---- */

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	struct announcement *announcement = message->_private;
	(void)client;
	(void)opaque;
	announcement->done = true;
	announcement->err = message->err;
}

static err_t set_properties(rd_kafka_conf_t *conf, struct err_detail *detail)
{
	err_t err = kafka_conf_set(conf, "enable.idempotence", "true", detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.timeout.ms", MESSAGE_TIMEOUT_MS, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "queue.buffering.max.messages", DRIFT_PUBLISHER_MAX_IN_FLIGHT,
					 detail);
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	return err;
}

err_t drift_publisher_new(const struct kafka_settings *settings, const struct codec *codec,
			  struct drift_publisher **ret_publisher, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = set_properties(conf, detail);
	if (err)
		return err;
	struct drift_publisher *drift_publisher = calloc(1, sizeof *drift_publisher);
	if (!drift_publisher || !(drift_publisher->topic = strdup(settings->advisory_topic)))
		abort();
	drift_publisher->conf = TAKE_PTR(conf);
	drift_publisher->codec = codec;
	drift_publisher->cloud_events = settings->cloud_events;
	list_init(&drift_publisher->under_way);
	*ret_publisher = drift_publisher;
	return ERR_OK;
}

static err_t need_producer(struct drift_publisher *drift_publisher, struct err_detail *detail)
{
	if (drift_publisher->producer)
		return ERR_OK;
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = rd_kafka_conf_dup(drift_publisher->conf);
	return kafka_client_new(RD_KAFKA_PRODUCER, &conf, &drift_publisher->producer, detail);
}

/* Whatever is under way then has failed or arrived. */
static void drop_producer(struct drift_publisher *drift_publisher)
{
	if (!drift_publisher->producer)
		return;
	rd_kafka_purge(drift_publisher->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_flush(drift_publisher->producer, FLUSH_MS);
	kafka_client_close(TAKE_PTR(drift_publisher->producer), FLUSH_MS);
	LIST_FOREACH (node, &drift_publisher->under_way) {
		struct announcement *announcement = container_of(node, struct announcement, node);
		if (!announcement->done)
			announcement->err = RD_KAFKA_RESP_ERR__DESTROY;
		announcement->done = true;
	}
}

void drift_publisher_free(struct drift_publisher *drift_publisher)
{
	if (!drift_publisher)
		return;
	drop_producer(drift_publisher);
	for (struct list_node *node; (node = list_take(&drift_publisher->under_way));)
		free(container_of(node, struct announcement, node));
	rd_kafka_conf_destroy(drift_publisher->conf);
	free(drift_publisher->topic);
	free(drift_publisher);
}

/* ---- advisories ---- */

static str_t unless_empty(str_t text)
{
	return text.len ? text : STR_NONE;
}

static str_t window_in_words(int64_t seconds, struct arena *arena)
{
	return seconds % 86400 == 0 && seconds > 86400
		       ? arena_printf(arena, "%lld days", (long long)(seconds / 86400))
	       : seconds == 3600 ? STR("hour")
				 : arena_printf(arena, "%lld hours", (long long)(seconds / 3600));
}

static str_t name_source(const struct drift_episode *episode, struct arena *arena)
{
	str_t application = episode->segment.application, model = episode->segment.model;
	str_t prompt = episode->segment.prompt_version;
	return arena_printf(arena, STR_FMT "%s" STR_FMT "%s" STR_FMT, STR_ARG(application),
			    model.len ? ", model " : "", STR_ARG(model),
			    prompt.len ? ", prompt version " : "", STR_ARG(prompt));
}

/* How far confidence and outcomes are apart, and on which side; nothing where that was not noted. */
static str_t summarise_gap(const struct drift_episode *episode, struct arena *arena)
{
	bool over = episode->opening_group_confidence > episode->opening_group_accuracy;
	if (!str_present(episode->opening_group))
		return STR("");
	return arena_printf(arena,
			    "Confidence is too %s: %.0f %% of %lld answers were right where it said %.0f %%, "
			    "most surely at " STR_FMT " (%lld cases, %.0f %% right, said %.0f %%). ",
			    over ? "high" : "low", 100 * episode->opening_accuracy,
			    (long long)episode->opening_cases, 100 * episode->opening_confidence,
			    STR_ARG(episode->opening_group), (long long)episode->opening_group_cases,
			    100 * episode->opening_group_accuracy, 100 * episode->opening_group_confidence);
}

static str_t summarise_score(const struct drift_episode *episode, struct arena *arena)
{
	str_t window = window_in_words(episode->window_s, arena), source = name_source(episode, arena);
	return arena_printf(arena,
			    STR_FMT "Confidence does not predict correctness for " STR_FMT
				    ": band score %.2f over the last " STR_FMT
				    ", below %.2f (%lld cases, label source %s)",
			    STR_ARG(summarise_gap(episode, arena)), STR_ARG(source), episode->opening_score,
			    STR_ARG(window), episode->threshold, (long long)episode->opening_cases,
			    calibration_source_name(episode->label_source));
}

static str_t summarise_change(const struct drift_episode *episode, struct arena *arena)
{
	bool fewer = episode->direction == DRIFT_OVERCONFIDENT;
	char since[32] = "";
	time_t seconds = (time_t)(episode->since_ms / 1000);
	struct tm utc;
	if (gmtime_r(&seconds, &utc))
		strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &utc);
	str_t source = name_source(episode, arena);
	return arena_printf(arena,
			    "Answers are right %s often than %s since %s: of 100, %.0f %s, for " STR_FMT
			    " (label source %s)",
			    fewer ? "less" : "more",
			    episode->by_probability ? "their probabilities say"
						    : "before at the same confidence",
			    since, 100 * fabs(episode->size), fewer ? "fewer" : "more", STR_ARG(source),
			    calibration_source_name(episode->label_source));
}

/* The window may have seen it later than the episode was opened: then it has no score of that time. */
static bool opened_by_score(const struct drift_episode *episode)
{
	return episode->opening_cases > 0;
}

static str_t summarise(const struct drift_episode *episode, struct arena *arena)
{
	if (!episode->changed)
		return summarise_score(episode, arena);
	str_t change = summarise_change(episode, arena);
	if (!opened_by_score(episode))
		return change;
	str_t score = summarise_score(episode, arena);
	return arena_printf(arena, STR_FMT ". " STR_FMT, STR_ARG(change), STR_ARG(score));
}

/* What never was better has nothing to return to. */
static str_t remedy_of(const struct drift_episode *episode)
{
	if (!episode->changed && str_present(episode->opening_group) &&
	    episode->opening_group_confidence <= episode->opening_group_accuracy)
		return STR(
			"Answers of this source are right more often than their confidence says, which "
			"harms nobody: the operator of assayd sets calibration.model, so that their "
			"probability is learnt. assayd calibration with this application, model and prompt "
			"version shows where both part.");
	if (!episode->changed)
		return STR(
			"Answers of this source were never as right as their confidence says: the "
			"application's owner corrects its prompt or examples, or the operator of assayd "
			"sets calibration.model, so that their probability is learnt. Release no answers of "
			"it on their confidence alone until the episode is closed. assayd calibration with "
			"this application, model and prompt version shows where both part.");
	if (episode->direction != DRIFT_OVERCONFIDENT)
		return STR("More answers are right than before, which harms nobody; the episode closes by "
			   "itself once that is learnt. assayd calibration with this application, model and "
			   "prompt version shows it.");
	return STR("The application's owner looks for what has changed since then (prompt, model, data, "
		   "retrieval), and returns to it or mends it. Release no answers of this source on their "
		   "confidence alone until the episode is closed. assayd calibration with this application, "
		   "model and prompt version shows where confidence and outcomes part.");
}

struct advisory drift_publisher_advisory(const struct drift_episode *episode, struct arena *arena)
{
	const opt_double_t none = OPT_NONE;
	str_t *kinds = ARENA_NEW(arena, str_t);
	*kinds = str_from(advisory_kind_name(ADVISORY_CALIBRATION_DRIFT));
	return (struct advisory){
		.advisory_id = str_from(episode->id),
		.kind = ADVISORY_CALIBRATION_DRIFT,
		.event_type = STR("CALIBRATION_DRIFT"),
		.raised_at = episode->opened_at_ms,
		.level = ENUM_ABSENT,
		.action = ENUM_ABSENT,
		.kinds = kinds,
		.kinds_count = 1,
		.threshold = opened_by_score(episode) ? opt_double(episode->threshold) : none,
		.value = opened_by_score(episode) ? opt_double(episode->opening_score) : none,
		.summary = summarise(episode, arena),
		.remedy = remedy_of(episode),
		.application = episode->segment.application,
		.model = unless_empty(episode->segment.model),
		.prompt_version = unless_empty(episode->segment.prompt_version),
		.episode_id = str_from(episode->id),
		.drift_direction =
			episode->changed ? str_from(sequences_direction_name(episode->direction)) : STR_NONE,
		.drift_size = episode->changed ? opt_double(episode->size) : none,
		.drift_since = { episode->changed, episode->since_ms },
	};
}

static struct announcement *find(struct drift_publisher *drift_publisher, const char *id)
{
	LIST_FOREACH (node, &drift_publisher->under_way) {
		struct announcement *announcement = container_of(node, struct announcement, node);
		if (strcmp(announcement->id, id) == 0)
			return announcement;
	}
	return NULL;
}

static void add_header(rd_kafka_headers_t *headers, enum header header, str_t value)
{
	rd_kafka_header_add(headers, header_name(header), -1, value.ptr, (ssize_t)value.len);
}

/* The caller destroys them unless a message takes them. */
static rd_kafka_headers_t *make_headers(const struct drift_publisher *drift_publisher,
					const struct advisory *advisory, const struct buf *value)
{
	rd_kafka_headers_t *made = rd_kafka_headers_new(3 + CLOUD_EVENT_HEADERS);
	add_header(made, HEADER_KIND, advisory->kinds[0]);
	add_header(made, HEADER_KINDS, advisory->kinds[0]);
	add_header(made, HEADER_APPLICATION, advisory->application);
	if (!drift_publisher->cloud_events)
		return made;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct output_header headers[CLOUD_EVENT_HEADERS];
	const struct cloud_event cloud_event = { .id = advisory->advisory_id,
						 .topic = drift_publisher->topic,
						 .type = "io.assayd.Advisory",
						 .time_ms = advisory->raised_at,
						 .value = buf_str(value) };
	size_t count = cloud_event_headers(&cloud_event, arena, headers);
	for (size_t i = 0; i < count; i++)
		rd_kafka_header_add(made, headers[i].name, -1, headers[i].value.ptr,
				    (ssize_t)headers[i].value.len);
	return made;
}

static rd_kafka_resp_err_t produce(struct drift_publisher *drift_publisher, const struct buf *value,
				   const struct advisory *advisory, struct announcement *announcement)
{
	rd_kafka_headers_t *headers = make_headers(drift_publisher, advisory, value);
	rd_kafka_resp_err_t code =
		rd_kafka_producev(drift_publisher->producer, RD_KAFKA_V_TOPIC(drift_publisher->topic),
				  RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
				  RD_KAFKA_V_KEY(announcement->id, strlen(announcement->id)),
				  RD_KAFKA_V_VALUE(value->data, value->len), RD_KAFKA_V_HEADERS(headers),
				  RD_KAFKA_V_OPAQUE(announcement), RD_KAFKA_V_END);
	if (code) /* else they are the message's */
		rd_kafka_headers_destroy(headers);
	return code;
}

/* An idempotent producer that has failed for good takes nothing any more: the next attempt has a new one. */
static err_t refuse(struct drift_publisher *drift_publisher, rd_kafka_resp_err_t code,
		    struct err_detail *detail)
{
	if (code == RD_KAFKA_RESP_ERR__FATAL)
		drop_producer(drift_publisher);
	return err_fail(detail, ERR_OUTPUT_REFUSED, "%s: %s", drift_publisher->topic, rd_kafka_err2str(code));
}

err_t drift_publisher_send(struct drift_publisher *drift_publisher, const struct drift_episode *episode,
			   struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf value = BUF_INIT;
	if (drift_publisher->under_way.count >= DRIFT_PUBLISHER_MAX_IN_FLIGHT ||
	    find(drift_publisher, episode->id))
		return ERR_OK;
	const struct advisory advisory = drift_publisher_advisory(episode, arena);
	err_t err = need_producer(drift_publisher, detail);
	if (!err && (err = codec_encode_advisory(drift_publisher->codec, &advisory, &value)))
		err_fail(detail, err, "the advisory cannot be encoded: %s", err_text(err));
	if (err)
		return err;
	_cleanup_(cleanup_free) struct announcement *announcement = calloc(1, sizeof *announcement);
	if (!announcement)
		abort();
	snprintf(announcement->id, sizeof announcement->id, "%s", episode->id);
	rd_kafka_resp_err_t code = produce(drift_publisher, &value, &advisory, announcement);
	if (code)
		return refuse(drift_publisher, code, detail);
	list_append(&drift_publisher->under_way, &TAKE_PTR(announcement)->node);
	return ERR_OK;
}

void drift_publisher_poll(struct drift_publisher *drift_publisher, int timeout_ms)
{
	if (drift_publisher->producer && !list_empty(&drift_publisher->under_way))
		rd_kafka_poll(drift_publisher->producer, timeout_ms);
}

bool drift_publisher_outcome(struct drift_publisher *drift_publisher, const char **ret_id,
			     const char **ret_error)
{
	LIST_FOREACH (node, &drift_publisher->under_way) {
		struct announcement *announcement = container_of(node, struct announcement, node);
		if (!announcement->done)
			continue;
		*ret_id = announcement->id;
		*ret_error = announcement->err ? rd_kafka_err2str(announcement->err) : NULL;
		return true;
	}
	return false;
}

void drift_publisher_forget(struct drift_publisher *drift_publisher, const char *id)
{
	struct announcement *announcement = find(drift_publisher, id);
	list_remove(&drift_publisher->under_way, &announcement->node);
	free(announcement);
}

size_t drift_publisher_under_way(const struct drift_publisher *drift_publisher)
{
	return drift_publisher->under_way.count;
}
