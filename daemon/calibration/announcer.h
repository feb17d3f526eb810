/*
 * Announcer: CALIBRATION_DRIFT advisories on the advisory topic, by an idempotent producer of its own that is
 * made when the first one is due. Nothing here waits for the broker: an advisory is handed over, and later
 * found to be delivered or failed. Not thread-safe.
 */
#pragma once

#include "avro/codec.h"
#include "calibration/episodes.h"
#include "kafka/client.h"

/* Advisories under way at a time. */
#define ANNOUNCER_MOST 100

struct announcer;

/* Checks the properties, and does not connect; the codec outlives the announcer, the settings are read here
 * only. ERR_KAFKA_CONFIG with a detail. */
err_t announcer_new(const struct kafka_settings *settings, const struct codec *codec,
		    struct announcer **ret_announcer, struct err_detail *detail);

/* Gives what is under way a moment to arrive. NULL is fine. */
void announcer_free(struct announcer *announcer);

/* Hands over the episode's advisory, of which nothing is kept but the id, unless it is under way or there is
 * no room: then nothing happens. ERR_OUTPUT_REFUSED: not handed over, try again later. */
err_t announcer_send(struct announcer *announcer, const struct drift_episode *episode,
		     struct err_detail *detail);

/* Serves the client, waiting up to `timeout_ms` for one that is under way. */
void announcer_poll(struct announcer *announcer, int timeout_ms);

/* The next one whose fate is known, or false. It counts as under way until it is forgotten. `ret_id` lives
 * until then; `ret_error` is NULL for one that was delivered, else static text. */
bool announcer_outcome(struct announcer *announcer, const char **ret_id, const char **ret_error);
void announcer_forget(struct announcer *announcer, const char *id);

/* Advisories that were handed over and are not forgotten. */
size_t announcer_under_way(const struct announcer *announcer);

/* The advisory of an episode; its texts are in the arena or the episode's. */
struct advisory announcer_advisory(const struct drift_episode *episode, struct arena *arena);
