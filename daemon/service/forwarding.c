#include "service/forwarding.h"

#include "outward/otlp.h"
#include "outward/webhook.h"

static unsigned bits_of(const struct conf_enums *list)
{
	unsigned bits = 0;
	for (size_t i = 0; i < list->count; i++)
		bits |= 1U << list->items[i];
	return bits;
}

static err_t start(const struct forwarder_options *options, struct forwarder **ret_forwarder,
		   struct err_detail *detail)
{
	err_t err = forwarder_start(options, ret_forwarder, detail);
	if (err)
		options->outlet.release(options->outlet.context);
	return err;
}

err_t forwarding_start_webhook(const struct config *config, const struct kafka_settings *kafka,
			       const struct codec *codec, struct forwarder **ret_forwarder,
			       struct err_detail *detail)
{
	const struct config_webhook *webhook = &config->webhook;
	if (!webhook->configured)
		return ERR_OK;
	const struct webhook_options options = {
		.codec = codec,
		.url = webhook->url,
		.secret_file = webhook->secret_file,
		.ca_file = webhook->ca_file,
		.kinds = bits_of(&webhook->kinds),
		.levels = bits_of(&webhook->levels),
		.timeout_ms = webhook->timeout_ms,
		.give_up_after_ms = webhook->give_up_after_s * 1000,
	};
	const struct forwarder_options forwarder = {
		.kafka = kafka,
		.topic = kafka->advisory_topic,
		.group_suffix = KAFKA_WEBHOOK_SUFFIX,
		.group_right = RIGHT_READ_WEBHOOK,
		.topic_right = RIGHT_READ_ADVISORIES,
		.outlet = webhook_outlet(&options),
	};
	return start(&forwarder, ret_forwarder, detail);
}

err_t forwarding_start_otlp(const struct config *config, const struct kafka_settings *kafka,
			    const struct codec *codec, struct forwarder **ret_forwarder,
			    struct err_detail *detail)
{
	const struct config_otlp *otlp = &config->otlp;
	if (!otlp->configured)
		return ERR_OK;
	const struct otlp_options options = {
		.codec = codec,
		.endpoint = otlp->endpoint,
		.authorization_file = otlp->authorization_file,
		.ca_file = otlp->ca_file,
		.instance_id = kafka->instance_id,
		.explanations = otlp->explanations,
		.max_records = (size_t)otlp->max_records,
		.linger_ms = otlp->linger_ms,
		.timeout_ms = otlp->timeout_ms,
		.give_up_after_ms = otlp->give_up_after_s * 1000,
	};
	const struct forwarder_options forwarder = {
		.kafka = kafka,
		.topic = kafka->scored_topic,
		.group_suffix = KAFKA_OTLP_SUFFIX,
		.group_right = RIGHT_READ_OTLP,
		.topic_right = RIGHT_READ_SCORED,
		.outlet = otlp_outlet(&options),
	};
	return start(&forwarder, ret_forwarder, detail);
}
