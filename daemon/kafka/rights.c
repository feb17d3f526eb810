#include "kafka/rights.h"

#include "kafka/security.h"

enum operation { READ, WRITE };
enum resource { GROUP, TOPIC, TRANSACTIONAL_ID };

static const struct {
	const char *name, *option;
} operations[] = { [READ] = { "READ", "Read" }, [WRITE] = { "WRITE", "Write" } };

static const struct {
	const char *name, *option;
} resources[] = { [GROUP] = { "group", "--group" },
		  [TOPIC] = { "topic", "--topic" },
		  [TRANSACTIONAL_ID] = { "transactional id", "--transactional-id" } };

static const struct {
	enum operation operation;
	enum resource resource;
} rights[] = {
	[RIGHT_READ_GROUP] = { READ, GROUP },
	[RIGHT_READ_INPUT] = { READ, TOPIC },
	[RIGHT_WRITE_SCORED] = { WRITE, TOPIC },
	[RIGHT_WRITE_ADVISORY] = { WRITE, TOPIC },
	[RIGHT_WRITE_DEAD_LETTER] = { WRITE, TOPIC },
	[RIGHT_WRITE_TRANSACTIONS] = { WRITE, TRANSACTIONAL_ID },
	[RIGHT_READ_CALIBRATION] = { READ, GROUP },
	[RIGHT_READ_SCORED] = { READ, TOPIC },
	[RIGHT_READ_FEEDBACK] = { READ, TOPIC },
	[RIGHT_READ_AUDIT] = { READ, GROUP },
	[RIGHT_WRITE_CHECKPOINTS] = { WRITE, TOPIC },
	[RIGHT_READ_WEBHOOK] = { READ, GROUP },
	[RIGHT_READ_ADVISORIES] = { READ, TOPIC },
	[RIGHT_READ_OTLP] = { READ, GROUP },
};

right_set rights_needed(const struct kafka_settings *settings, bool calibrates)
{
	right_set needed = RIGHTS_OF_SCORING;
	if (!settings->exactly_once)
		needed &= ~RIGHT_BIT(RIGHT_WRITE_TRANSACTIONS);
	if (calibrates)
		needed |= RIGHT_BIT(RIGHT_READ_CALIBRATION) | RIGHT_BIT(RIGHT_READ_SCORED);
	if (calibrates && settings->feedback_topic)
		needed |= RIGHT_BIT(RIGHT_READ_FEEDBACK);
	if (settings->audits)
		needed |= RIGHT_BIT(RIGHT_READ_AUDIT) | RIGHT_BIT(RIGHT_READ_SCORED);
	if (settings->audits && settings->checkpoint_topic)
		needed |= RIGHT_BIT(RIGHT_WRITE_CHECKPOINTS);
	if (settings->webhook)
		needed |= RIGHT_BIT(RIGHT_READ_WEBHOOK) | RIGHT_BIT(RIGHT_READ_ADVISORIES);
	if (settings->otlp)
		needed |= RIGHT_BIT(RIGHT_READ_OTLP) | RIGHT_BIT(RIGHT_READ_SCORED);
	return needed;
}

static const char *resource_name(const struct kafka_settings *settings, enum right right)
{
	switch (right) {
	case RIGHT_READ_INPUT:
		return settings->input_topic;
	case RIGHT_WRITE_SCORED:
	case RIGHT_READ_SCORED:
		return settings->scored_topic;
	case RIGHT_WRITE_ADVISORY:
	case RIGHT_READ_ADVISORIES:
		return settings->advisory_topic;
	case RIGHT_WRITE_DEAD_LETTER:
		return settings->dead_letter_topic;
	case RIGHT_WRITE_TRANSACTIONS:
		return settings->instance_id;
	case RIGHT_READ_FEEDBACK:
		return settings->feedback_topic ? settings->feedback_topic : "";
	case RIGHT_WRITE_CHECKPOINTS:
		return settings->checkpoint_topic ? settings->checkpoint_topic : "";
	default:
		return settings->group_id;
	}
}

static const char *group_suffix(enum right right)
{
	switch (right) {
	case RIGHT_READ_CALIBRATION:
		return KAFKA_CALIBRATION_SUFFIX;
	case RIGHT_READ_AUDIT:
		return KAFKA_AUDIT_SUFFIX;
	case RIGHT_READ_WEBHOOK:
		return KAFKA_WEBHOOK_SUFFIX;
	case RIGHT_READ_OTLP:
		return KAFKA_OTLP_SUFFIX;
	default:
		return "";
	}
}

void right_name(const struct kafka_settings *settings, enum right right, struct right_name *ret_name)
{
	ret_name->operation = operations[rights[right].operation].name;
	ret_name->resource = resources[rights[right].resource].name;
	snprintf(ret_name->name, sizeof ret_name->name, "%s%s", resource_name(settings, right),
		 group_suffix(right));
}

/* ---- how they are granted ---- */

/* A word of a shell's command line. */
static void append_word(struct buf *out, const char *before, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:,/@";
	if (!text[strspn(text, plain)]) {
		buf_printf(out, "%s%s", before, text);
		return;
	}
	buf_printf(out, "'%s", before);
	for (; *text; text++) {
		if (*text == '\'')
			buf_append_text(out, "'\\'");
		buf_append_char(out, *text);
	}
	buf_append_char(out, '\'');
}

static void append_principal(const struct kafka_settings *settings, struct buf *out)
{
	char principal[256];
	security_principal(settings, principal, sizeof principal);
	if (*principal)
		append_word(out, "User:", principal);
	else
		buf_append_text(out, "User:…");
}

void rights_describe(const struct kafka_settings *settings, right_set missing, struct buf *out)
{
	struct right_name name;
	const char *before = "this client lacks ";
	for (enum right right = 0; right < RIGHT_COUNT_; right++) {
		if (!(missing & RIGHT_BIT(right)))
			continue;
		right_name(settings, right, &name);
		buf_printf(out, "%s%s on %s \"%s\"", before, name.operation, name.resource, name.name);
		before = ", ";
	}
	buf_append_text(out, "; grant it (kafka-acls.sh --add --allow-principal ");
	append_principal(settings, out);
	buf_append_text(out, " …)");
}

void right_describe(const struct kafka_settings *settings, enum right right, struct buf *out)
{
	struct right_name name;
	right_name(settings, right, &name);
	buf_printf(out,
		   "this client lacks %s on %s \"%s\"; grant it, and processing resumes by "
		   "itself: kafka-acls.sh ",
		   name.operation, name.resource, name.name);
	buf_append_text(out, "--bootstrap-server ");
	append_word(out, "", settings->bootstrap_servers);
	buf_append_text(out, " --add --allow-principal ");
	append_principal(settings, out);
	buf_printf(out, " --operation %s %s ", operations[rights[right].operation].option,
		   resources[rights[right].resource].option);
	append_word(out, "", name.name);
}

bool rights_are_missing(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
	       err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
	       err == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED ||
	       err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
}
