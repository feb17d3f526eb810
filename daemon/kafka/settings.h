/*
 * What the daemon's clients of Kafka go by: plain values, borrowed from the configuration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where tokens of OAuth 2.0 come from (grant client_credentials): with them the login is OAUTHBEARER. */
struct kafka_oauth_settings {
	const char *token_url;
	const char *client_id;
	const char *client_secret_file;
	bool secret_in_form;	       /* false: in the header, as HTTP's basic authentication */
	const char *scope;	       /* or NULL */
	const char *const *parameters; /* of the request besides, "name=value" */
	size_t parameters_count;
	const char *const *extensions; /* of SASL, likewise */
	size_t extensions_count;
	const char *ca_file; /* authorities that the server is trusted by; NULL: the system's */
	int timeout_ms;
};

struct kafka_settings {
	const char *bootstrap_servers;
	const char *group_id;
	const char *instance_id; /* static member of the group, and the transactional id */
	const char *input_topic;
	const char *scored_topic;
	const char *advisory_topic;
	const char *dead_letter_topic;
	const char *feedback_topic;    /* or NULL: feedback is not read */
	bool audits;		       /* the scored topic is read for the audit log */
	bool webhook;		       /* the topic of advisories is read for the webhook */
	bool otlp;		       /* the scored topic is read for the OTLP collector */
	const char *checkpoint_topic;  /* of the audit log; or NULL: none */
	const char *const *properties; /* "name=value", passed through to every client */
	size_t properties_count;
	const struct kafka_oauth_settings *oauth; /* or NULL: none */
	bool exactly_once;			  /* false: at least once */
	bool cloud_events;			  /* outputs have headers of CloudEvents */
	int session_timeout_ms;
	int heartbeat_ms;
	int transaction_timeout_ms;
	size_t transaction_max_events;
	size_t transaction_max_bytes;
	int transaction_linger_ms;
	size_t read_ahead_bytes; /* of messages that are fetched and wait to be taken */
	int drain_on_revoke_ms;
	size_t max_message_bytes; /* the largest event that is taken; what is larger becomes a dead letter */
};
