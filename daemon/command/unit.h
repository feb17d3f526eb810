/*
 * What the installed unit assayd.service, with its drop-ins, allows the daemon: read from its files, so that
 * it can be known where no service manager runs, and from within another confinement. Settings that are not
 * understood (percentages, specifiers) count as not given.
 */
#pragma once

#include "common/arena.h"

#define UNIT_NAME "assayd.service"

enum unit_home { UNIT_HOME_OPEN, UNIT_HOME_READ_ONLY, UNIT_HOME_HIDDEN };

struct unit {
	const char *file;	 /* NULL: it is not installed here, and the rest says nothing */
	const char *user;	 /* or NULL: root */
	int64_t stop_timeout_ms; /* TimeoutStopSec; INT64_MAX: none */
	int64_t memory_max;	 /* bytes; INT64_MAX: none */
	enum unit_home protect_home;
	bool protect_system; /* strict: what is not named cannot be written */
	bool private_tmp;
	const char *state_directory;	 /* "/var/lib/…" or NULL */
	const char *const *writable;	 /* ReadWritePaths, StateDirectory and the like */
	const char *const *inaccessible; /* both end with NULL */
	const char *const *bound;	 /* BindPaths and BindReadOnlyPaths: where they appear */
};

/* All texts in the arena. Blocks on files alone. */
void unit_read(struct arena *arena, struct unit *ret_unit);

/* Why the daemon cannot reach the path there, or NULL: as far as the unit says, whatever the file's mode is.
 */
const char *unit_hides(const struct unit *unit, const char *path);

/* Whether it may write there, likewise. */
bool unit_lets_write(const struct unit *unit, const char *path);
