/* Settings of the schema registry, as its parts need them: plain values that outlive them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct registry_settings {
	const char *const *urls; /* of its API, each without a slash at the end; tried in turn */
	size_t urls_count;
	const char *user;			 /* of basic authentication, or NULL, likewise below */
	const char *password_file;		 /* of that user */
	const char *token_file;			 /* of bearer authentication */
	const char *ca_file;			 /* authorities to trust instead of the system's */
	const char *certificate_file, *key_file; /* of the client, by which it says who it is */
	int64_t timeout_ms;			 /* of one request */
	int64_t wait_ms;			 /* that an event waits for its schema, at most */
	size_t max_waiting_events, max_waiting_bytes;
	size_t max_schemas;
	size_t max_kept_bytes;	     /* of schemas in the state directory */
	const char *state_directory; /* where schemas are kept for the next start, or NULL */
};
