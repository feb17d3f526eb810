/*
 * Recovery: a new producer in the place of one that was lost in a transaction, and what became of that
 * transaction.
 *
 * Claiming the transactional id anew makes the broker finish the transaction: a commit that it had begun is
 * completed, anything else is aborted. When a commit had been asked for, the group's committed offsets tell
 * which: nobody else moves them as long as the assignment is ours, and if it is not any more, the events are
 * discarded either way, or refused with the generation that their next transaction carries.
 *
 * The publisher's thread alone.
 */
#pragma once

#include "kafka/transactor.h"

/* Waits for as long as the right to the transactional id is missing. OUTCOME_FATAL: there must be no new
 * producer (another instance has the id) or there can be none. */
enum transaction_outcome producer_recovery_run(struct transactor *transactor, struct assignment *assignment);
