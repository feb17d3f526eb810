/* What of the outputs is handed to receivers outside, by the configuration. */
#pragma once

#include "config/config.h"
#include "outward/forwarder.h"

struct codec;

/* Starts the webhook; `*ret_forwarder` is left NULL where none is configured. Everything outlives it. */
err_t forwarding_start_webhook(const struct config *config, const struct kafka_settings *kafka,
			       const struct codec *codec, struct forwarder **ret_forwarder,
			       struct err_detail *detail);

/* Likewise of evaluation results to the collector. */
err_t forwarding_start_otlp(const struct config *config, const struct kafka_settings *kafka,
			    const struct codec *codec, struct forwarder **ret_forwarder,
			    struct err_detail *detail);
