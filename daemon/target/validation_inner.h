/* Parts of a truth that may have taken other rows: LIMIT and what is like it below the top level. A worker
 * process, one thread; errors are the target's. */
#pragma once

#include "target/validation_state.h"

/* Whether the truth would allow another result if they had. Where it can be asked, the database says what
 * they take their rows from: they decide where these are no more, where others have other keys, and where
 * those of the same keys have the same values. Otherwise those without an order leave it open, and of the
 * others the keys are believed to decide. */
err_t validation_inner_doubt(const struct validation *validation, size_t index, struct arena *arena,
			     enum validation_doubt *ret_doubt, struct err_detail *detail);
