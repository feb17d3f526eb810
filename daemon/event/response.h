/* The shape of a model's raw reply. Pure; any thread. */
#pragma once

#include "avro/generated_query.h"
#include "score/advisory.h"

/* A JSON object with all fields, with some missing, or no JSON object at all. A field that is null counts as
 * missing. */
enum response_quality response_check(const struct model_response *response);
