/*
 * Transaction: sends the outputs of some publications together with the offsets and completion maps that make
 * them done, and finds out what became of it.
 *
 * A call whose outcome is not known yet is made again. When the producer itself is lost, because the broker
 * was away for longer than it keeps a transaction or because librdkafka gives up, a new one takes over its
 * transactional id and the group's committed offsets tell whether a commit that had been asked for took
 * place. A producer that was fenced before the broker can have lost patience was fenced by another instance,
 * which ends this one.
 *
 * At least once: outputs are confirmed first, then the offsets are committed. The publisher's thread alone.
 */
#pragma once

#include "kafka/transactor.h"

/* One transaction with all outputs of `publications`, whose assignment has been begun and joined. After
 * anything but OUTCOME_OK an output's `refusal` says what the broker thought of it. */
enum transaction_outcome transaction_run(struct transactor *transactor, const struct list *publications,
					 struct assignment *assignment);
