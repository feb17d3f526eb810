/*
 * Permissions: whether this client may do with groups, topics and the transactional id what the daemon will
 * do, found out by trying it in ways that leave no trace.
 *
 * The broker judges permission before it looks at what it is asked, so each attempt is one that it has to
 * refuse afterwards: a commit for a partition that cannot be, a message with a confirmation that there is
 * not. The transactional id is claimed for good, which would shut out an instance that has it: it is tried
 * only while no member of the group has that instance's name; one that runs has shown that it may.
 */
#pragma once

#include "kafka/client.h"

/* What is missing, all in one sentence, as ERR_KAFKA_TOPIC; or ERR_KAFKA_UNAVAILABLE. `calibrates`: the
 * scored topic and that of feedback are read as well. Blocks, each attempt for up to `timeout_ms`. */
err_t permissions_check(const struct kafka_settings *settings, bool calibrates, int timeout_ms,
			struct err_detail *detail);
