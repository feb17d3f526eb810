/*
 * One validation inside a worker process: runs the truths and the generated query in one snapshot, compares,
 * and says which truth fits best. One thread.
 */
#pragma once

#include "target/truth_cache.h"

/* Opens `*session` when there is none or it was lost, and leaves it open for the next one (NULL when it could
 * not be kept). Results of truths are taken from and put into `cache`; only a full match with one from there
 * is final, all else is compared within one snapshot. A lost connection or a target out of resources is tried
 * once more. Never fails: an error of the target is part of the result. */
void validation_run(const struct engine *engine, const struct worker_settings *settings, void **session,
		    struct truth_cache *cache, const struct validation_request *request, struct arena *arena,
		    struct validation_result *ret_result);

/* Opens the session unless it is usable. */
err_t validation_session_ensure(const struct engine *engine, const struct worker_settings *settings,
				void **session, struct err_detail *detail);

/* Closes the session, if there is one, and sets it to NULL. */
void validation_session_close(const struct engine *engine, void **session);
