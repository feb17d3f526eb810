/*
 * The model that probabilities come from now: replaced by whoever loads models, read by any thread, which
 * does not wait for that.
 */
#pragma once

#include "calibration/model/model.h"

/* Without a model at first. */
struct model_current *model_current_new(void);
void model_current_free(struct model_current *current); /* NULL is fine; nobody uses it any more */

/* Takes the reference; NULL: there is none any more. */
void model_current_set(struct model_current *current, struct model *model);

/* A reference, which is the caller's; NULL: there is no model, or `current` is NULL. */
struct model *model_current_get(struct model_current *current);
