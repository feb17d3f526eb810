/*
 * OTLP: what was found of an event as OpenTelemetry's events gen_ai.evaluation.result, log records in OTLP's
 * JSON encoding, posted to BASE/v1/logs. They are made from the scored records that are in their topic, so
 * that nothing but a published event is told, and a collector that is away costs no memory: what it was not
 * told waits there.
 *
 * One record for each evaluation that an event has:
 *
 *   confidence   overall confidence, 0..1; label: its level; explanation: the first reason of the disposition
 *   probability  of being right, 0..1
 *   evaluation   against ground truth, 0..1; label: pass or fail
 *   result       of executing query and truth, 0..1; label: the validation's status; explanation: how they
 * differ relevance    by the judge, 0..100; explanation: its reason correctness  by the judge, 0..1; likewise
 *
 * The names are those of the semantic conventions: gen_ai.evaluation.name, .score.value, .score.label,
 * .explanation, and gen_ai.response.id where the event has an attribute of that name. Trace and span are
 * those of the message's traceparent, which is the span of the generation if its producer has sent that.
 */
#pragma once

#include "avro/codec.h"
#include "outward/outlet.h"

struct otlp_options {
	const struct codec *codec;	/* outlives the outlet, and so do the texts */
	const char *endpoint;		/* base address, without /v1/logs */
	const char *authorization_file; /* or NULL; its content is the value of that header */
	const char *ca_file;		/* or NULL: the system's authorities */
	const char *instance_id;
	bool explanations;  /* texts, which quote events and databases, are sent, too */
	size_t max_records; /* scored records of one request */
	int64_t linger_ms;
	int64_t timeout_ms;
	int64_t give_up_after_ms; /* 0: never */
};

/* To be handed to a forwarder of the scored topic, or released by its `release`. */
struct outlet otlp_outlet(const struct otlp_options *options);

/* Appends the log records of one scored record, with commas between and one before where `out` has some
 * already; returns how many. `traceparent` may be absent or anything. Pure. */
size_t otlp_append(const struct scored_query *scored, str_t traceparent, bool explanations, struct buf *out);

/* Posts a request without records, which every collector takes. */
err_t otlp_check(const struct otlp_options *options, struct err_detail *detail);
