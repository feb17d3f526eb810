/*
 * Which server, role and database are meant says the configuration alone: of the variables that libpq reads,
 * those remain that name files of passwords, services and TLS. In every thread and worker process alike.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LIBPQ_VARIABLES_KEPT = 8 };

/* Removes the others from the environment. Once, while there are no other threads. */
void environment_clean(void);

/* The names of those that were removed, ", " between them; empty: none. Static. */
const char *environment_removed(void);

/* Whether "NAME=value" is one of the LIBPQ_VARIABLES_KEPT that remain. */
bool environment_keeps(const char *variable);
