/* What `assayd check` says of a MongoDB target, as far as it follows from the server's answers. Pure. */
#pragma once

#include <bson/bson.h> // first: it calls what banned.h forbids

#include "common/arena.h"
#include "common/buf.h"

/* Appends, one a line, what a person should know of the role by the answer to connectionStatus with
 * showPrivileges: what it may do besides reading, or that nobody has logged in. `user`: of the dsn, or NULL.
 */
void mongodb_check_role(const bson_t *status, const char *user, struct arena *arena, struct buf *notes);
