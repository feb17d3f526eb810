/* What `assayd check` looks at of the receivers outside. Main thread or one of its threads. */
#pragma once

#include "command/findings.h"
#include "config/config.h"

/* The files that the webhook names; false where some of it is wrong. */
bool check_webhook_files(const struct config_webhook *webhook, struct findings *findings);

/* Likewise of the collector. */
bool check_otlp_files(const struct config_otlp *otlp, struct findings *findings);

/* The same, and whether its receiver answers, which is sent no advisory. */
void check_webhook(const struct config_webhook *webhook, struct findings *findings);

/* Likewise, whether the collector takes a request without records. */
void check_otlp(const struct config_otlp *otlp, struct findings *findings);
