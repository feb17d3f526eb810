/*
 * Secrets and files of TLS of Kafka that change while the daemon runs. Other secrets are read when they are
 * used; a Kafka client asks for its own only once. Main thread.
 */
#pragma once

#include "config/config.h"
#include "kafka/security.h"

struct rotation;

/* To be made before the secrets are read for the first time: what changes from here on is noticed. The
 * configuration has to stay as long as the result, which is the caller's. */
struct rotation *rotation_new(const struct config *config);
void rotation_free(struct rotation *rotation); /* NULL is fine */

DEFINE_CLEANUP(struct rotation, rotation_cleanup, rotation_free)

/* Looks at the files, and reads them where one was replaced or written. Clients that have joined
 * kafka/login.h get a fresh login. Logs what has changed, what only the next start takes over, and why a file
 * cannot be read. */
void rotation_look(struct rotation *rotation);

/* The same at a reload, which takes none of the files of TLS over: logs each that waits for a restart,
 * however often that was said before. */
void rotation_reload(struct rotation *rotation);

/* What is known of the files; lives as long as the rotation, for any thread. */
const struct security_standing *rotation_standing(const struct rotation *rotation);
