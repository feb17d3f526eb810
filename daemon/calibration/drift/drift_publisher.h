/*
 * Drift publisher: CALIBRATION_DRIFT advisories on the advisory topic, by an idempotent producer of its own
 * that is made when the first one is due. Nothing here waits for the broker: an advisory is handed over, and
 * later found to be delivered or failed. Not thread-safe.
 */
#pragma once

#include "avro/codec.h"
#include "calibration/store/episodes.h"
#include "kafka/client.h"

/* Advisories under way at a time. */
#define DRIFT_PUBLISHER_MAX_IN_FLIGHT 100

struct drift_publisher;

/* Checks the properties, and does not connect; the codec outlives the publisher, the settings are read here
 * only. ERR_KAFKA_CONFIG with a detail. */
err_t drift_publisher_new(const struct kafka_settings *settings, const struct codec *codec,
			  struct drift_publisher **ret_publisher, struct err_detail *detail);

/* Gives what is under way a moment to arrive. NULL is fine. */
void drift_publisher_free(struct drift_publisher *drift_publisher);

/* Hands over the episode's advisory, of which nothing is kept but the id, unless it is under way or there is
 * no room: then nothing happens. ERR_OUTPUT_REFUSED: not handed over, try again later. */
err_t drift_publisher_send(struct drift_publisher *drift_publisher, const struct drift_episode *episode,
			   struct err_detail *detail);

/* Serves the client, waiting up to `timeout_ms` for one that is under way. */
void drift_publisher_poll(struct drift_publisher *drift_publisher, int timeout_ms);

/* The next one whose fate is known, or false. It counts as under way until it is forgotten. `ret_id` lives
 * until then; `ret_error` is NULL for one that was delivered, else static text. */
bool drift_publisher_outcome(struct drift_publisher *drift_publisher, const char **ret_id,
			     const char **ret_error);
void drift_publisher_forget(struct drift_publisher *drift_publisher, const char *id);

/* Advisories that were handed over and are not forgotten. */
size_t drift_publisher_under_way(const struct drift_publisher *drift_publisher);

/* The advisory of an episode; its texts are in the arena or the episode's. */
struct advisory drift_publisher_advisory(const struct drift_episode *episode, struct arena *arena);
