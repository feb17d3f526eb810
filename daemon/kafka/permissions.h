/*
 * Permissions: whether this client may do with groups, topics and the transactional id what the daemon will
 * do, found out by trying it in ways that leave no trace.
 *
 * The broker judges permission before it looks at what it is asked, so each attempt is one that it has to
 * refuse afterwards: a commit for a partition that cannot be, a message with a confirmation that there is
 * not. The transactional id is claimed for good, which would shut out an instance that has it: it is tried
 * only while no member of the group has that instance's name; one that runs has shown that it may.
 * librdkafka's broker in memory forbids nothing, and would take the messages: none is sent there.
 */
#pragma once

#include "kafka/rights.h"

#include <stdatomic.h>

/* What is missing, all in one sentence, as ERR_KAFKA_TOPIC; or ERR_KAFKA_UNAVAILABLE. `calibrates`: the
 * scored topic and that of feedback are read as well. `untestable`: rights to write that are not tried
 * (topics_check_all). `ret_instance_runs`: whether a member of the group has
 * this instance's name, as far as that is told; also on failure. Blocks, each attempt for up to `timeout_ms`.
 */
err_t permissions_check(const struct kafka_settings *settings, bool calibrates, right_set untestable,
			int timeout_ms, bool *ret_instance_runs, struct err_detail *detail);

/* Whether this client may write to the input topic and, with `dead_letters`, to that of dead letters, as
 * commands do that send events: what is missing, with what grants it, as ERR_KAFKA_TOPIC. ERR_OK also where
 * that cannot be found out in the time. */
err_t permissions_check_input(const struct kafka_settings *settings, bool dead_letters, int timeout_ms,
			      struct err_detail *detail);

/* Which of the rights to the group, the input and the outputs are missing: `*ret_missing`; returns those of
 * which that could be found out. Blocks for up to some `timeout_ms`, or until shortly after `*stopping`
 * (NULL: never) is true. */
right_set permissions_look(const struct kafka_settings *settings, right_set wanted, int timeout_ms,
			   const _Atomic bool *stopping, right_set *ret_missing);
