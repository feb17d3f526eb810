#include "http/attention.h"

enum { REGISTRY_LONG_MS = 30000 };

struct attention_list {
	struct attention *items;
	size_t count;
};

static void add(struct attention_list *list, const char *code, const char *text, const char *name)
{
	if (list->count < ATTENTION_MAX)
		list->items[list->count++] = (struct attention){ code, text, name };
}

static void add_judges(struct attention_list *list, const struct status *status)
{
	for (size_t i = 0; i < status->judges_count; i++) {
		const struct status_judge *judge = &status->judges[i];
		const char *name = judge->name ? judge->name : "judge";
		if (judge->stats.breaker_open)
			add(list, "judge_left_alone", "a judge fails and is left alone for a while", name);
		if (judge->stats.day_tokens_limit > 0 &&
		    judge->stats.day_tokens >= judge->stats.day_tokens_limit)
			add(list, "judge_budget_spent", "the tokens of a day are used up for a judge", name);
	}
}

static void add_databases(struct attention_list *list, const struct status *status)
{
	const struct calibrator_statistics *calibrator = &status->calibrator;
	if (status->calibrates && !calibrator->database_up && calibrator->failures > 0)
		add(list, "calibration_database_away",
		    "the calibration's database does not take what is written", NULL);
	if (status->archives && !status->archive.up)
		add(list, "archive_database_away", "the archive's database does not take what is written",
		    NULL);
	if (status->keeps && !status->keeper.database_up)
		add(list, "audit_log_database_away", "the audit log's database does not take what is written",
		    NULL);
	if (status->keeper.stopped)
		add(list, "audit_log_stopped",
		    "partitions of the audit log stand still; the journal says why", NULL);
}

static void add_receivers(struct attention_list *list, const struct status *status)
{
	for (size_t i = 0; i < status->receivers_count; i++) {
		const struct status_receiver *receiver = &status->receivers[i];
		if (receiver->statistics.gone)
			add(list, "receiver_gone",
			    "a receiver wants nothing any more (410); nothing is sent to it until the next "
			    "start",
			    receiver->name);
		else if (receiver->statistics.away)
			add(list, "receiver_away",
			    "a receiver does not take what it is sent; the journal says why", receiver->name);
	}
}

static void add_logins(struct attention_list *list, const struct status *status)
{
	if (status->tokens.failing)
		add(list, "kafka_token_failing", "tokens for Kafka cannot be fetched; the journal says why",
		    NULL);
	if (status->certificate_ends_ms &&
	    status->certificate_ends_ms - status->now_ms < SECURITY_CERTIFICATE_WARN_MS)
		add(list, "kafka_certificate_ends",
		    "the client certificate in use for Kafka expires within two weeks, or has expired", NULL);
	if (status->kafka_restart_needed)
		add(list, "kafka_restart_needed",
		    "a file of TLS for Kafka has changed, which takes effect at the next start", NULL);
}

size_t attention_of(const struct status *status, struct attention ret_items[ATTENTION_MAX])
{
	struct attention_list list = { .items = ret_items };
	if (status->lag.stands_still)
		add(&list, "partitions_stopped", "partitions of the input topic stand still", NULL);
	if (status->last_reload_refused)
		add(&list, "reload_refused",
		    "the last reload of the configuration was refused, the former one is in force; the "
		    "journal says why",
		    NULL);
	for (size_t i = 0; i < status->targets_count && i < STATUS_TARGETS; i++)
		if (!status->targets[i].up)
			add(&list, "target_away", "a target does not answer", status->targets[i].name);
	add_logins(&list, status);
	if (status->registry.down)
		add(&list, "registry_away",
		    "the schema registry does not answer, and events with new schemas wait; the journal says "
		    "why",
		    NULL);
	else if (status->registry.oldest_ms > REGISTRY_LONG_MS)
		add(&list, "schemas_missing",
		    "events wait for schemas that the registry does not give; the status line says why",
		    NULL);
	add_judges(&list, status);
	add_databases(&list, status);
	add_receivers(&list, status);
	if (status->calibrator.drift_open_count > 0)
		add(&list, "drift_open", "calibration drift was found: see below, and assayd calibration",
		    NULL);
	return list.count;
}
