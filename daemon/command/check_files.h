/* `assayd check --offline`: what can be known of a configuration without reaching any server. */
#pragma once

#include "command/findings.h"
#include "config/config.h"
#include "kafka/client.h"

/* Reads everything that the file names on this machine (secrets, prompts, certificates, schemas), looks at
 * connection strings and Kafka properties, and tells what is wrong. `problems` (NULL: none) are what is wrong
 * with the file: what takes those settings is left out. Blocks on files alone. */
void check_files(const struct config *config, const struct conf_problems *problems,
		 struct findings *findings);

/* The files of TLS and what a login to Kafka needs; false where some of it is wrong, which is told. */
bool check_security(const struct kafka_settings *settings, struct arena *arena, struct findings *findings);

/* The files of TLS and the service that a connection string of libpq, or of a target whatever its engine,
 * names; false where some of it is wrong, which is told as of `what`. */
bool check_database_files(const char *dsn, const char *what, struct findings *findings);
bool check_target_files(const struct config_target *target, const char *what, struct findings *findings);

/* The schemas of writers that the configuration adds. */
void check_schemas(const struct config *config, struct findings *findings);
