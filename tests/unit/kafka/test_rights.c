#include "kafka/rights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct kafka_settings settings = {
	.bootstrap_servers = "kafka1:9092,kafka2:9092",
	.group_id = "group",
	.instance_id = "one",
	.input_topic = "input",
	.scored_topic = "scored",
	.advisory_topic = "advisories",
	.dead_letter_topic = "letters",
	.exactly_once = true,
};

static void what_is_needed(void **state)
{
	(void)state;
	const struct {
		bool exactly_once, calibrates, feedback, audits, checkpoints, webhook, otlp;
		right_set expected;
	} cases[] = {
		{ true, false, false, false, true, false, false, RIGHTS_OF_SCORING },
		{ true, false, true, false, false, false, false, RIGHTS_OF_SCORING },
		{ false, false, false, false, false, false, false,
		  RIGHTS_OF_SCORING & ~RIGHT_BIT(RIGHT_WRITE_TRANSACTIONS) },
		{ true, true, false, false, false, false, false,
		  RIGHTS_OF_SCORING | RIGHT_BIT(RIGHT_READ_CALIBRATION) | RIGHT_BIT(RIGHT_READ_SCORED) },
		{ true, false, false, true, false, false, false,
		  RIGHTS_OF_SCORING | RIGHT_BIT(RIGHT_READ_AUDIT) | RIGHT_BIT(RIGHT_READ_SCORED) },
		{ true, false, false, false, false, true, false,
		  RIGHTS_OF_SCORING | RIGHT_BIT(RIGHT_READ_WEBHOOK) | RIGHT_BIT(RIGHT_READ_ADVISORIES) },
		{ true, false, false, false, false, false, true,
		  RIGHTS_OF_SCORING | RIGHT_BIT(RIGHT_READ_OTLP) | RIGHT_BIT(RIGHT_READ_SCORED) },
		{ true, true, true, true, true, true, true, RIGHT_BIT(RIGHT_COUNT_) - 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct kafka_settings changed = settings;
		changed.exactly_once = cases[i].exactly_once;
		changed.feedback_topic = cases[i].feedback ? "feedback" : NULL;
		changed.audits = cases[i].audits;
		changed.webhook = cases[i].webhook;
		changed.otlp = cases[i].otlp;
		changed.checkpoint_topic = cases[i].checkpoints ? "checkpoints" : NULL;
		assert_int_equal(rights_needed(&changed, cases[i].calibrates), cases[i].expected);
	}
}

static void names(void **state)
{
	(void)state;
	const struct {
		enum right right;
		const char *operation, *resource, *name;
	} cases[] = {
		{ RIGHT_READ_GROUP, "READ", "group", "group" },
		{ RIGHT_READ_INPUT, "READ", "topic", "input" },
		{ RIGHT_WRITE_SCORED, "WRITE", "topic", "scored" },
		{ RIGHT_WRITE_ADVISORY, "WRITE", "topic", "advisories" },
		{ RIGHT_WRITE_DEAD_LETTER, "WRITE", "topic", "letters" },
		{ RIGHT_WRITE_TRANSACTIONS, "WRITE", "transactional id", "one" },
		{ RIGHT_READ_CALIBRATION, "READ", "group", "group.calibration" },
		{ RIGHT_READ_WEBHOOK, "READ", "group", "group.webhook" },
		{ RIGHT_READ_OTLP, "READ", "group", "group.otlp" },
		{ RIGHT_READ_ADVISORIES, "READ", "topic", "advisories" },
		{ RIGHT_READ_SCORED, "READ", "topic", "scored" },
		{ RIGHT_READ_FEEDBACK, "READ", "topic", "feedback" },
		{ RIGHT_READ_AUDIT, "READ", "group", "group.audit" },
		{ RIGHT_WRITE_CHECKPOINTS, "WRITE", "topic", "checkpoints" },
	};
	struct kafka_settings changed = settings;
	changed.feedback_topic = "feedback";
	changed.checkpoint_topic = "checkpoints";
	assert_int_equal(sizeof cases / sizeof *cases, RIGHT_COUNT_);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct right_name name;
		right_name(&changed, cases[i].right, &name);
		assert_string_equal(name.operation, cases[i].operation);
		assert_string_equal(name.resource, cases[i].resource);
		assert_string_equal(name.name, cases[i].name);
	}
}

static void what_is_missing_in_a_sentence(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	rights_describe(&settings, RIGHT_BIT(RIGHT_READ_GROUP) | RIGHT_BIT(RIGHT_WRITE_DEAD_LETTER), &text);
	assert_string_equal(text.data,
			    "this client lacks READ on group \"group\", WRITE on topic \"letters\"; "
			    "grant it (kafka-acls.sh --add --allow-principal User:… …)");
}

/* Whom to grant it is known where the client has a name and a password. */
static void commands_that_grant(void **state)
{
	(void)state;
	static const char sasl[] = "security.protocol=SASL_SSL", plain[] = "sasl.mechanism=PLAIN",
			  scram[] = "sasl.mechanisms=SCRAM-SHA-512", kerberos[] = "sasl.mechanism=GSSAPI",
			  user[] = "sasl.username=u1", odd[] = "sasl.username=o'neil & co",
			  tls[] = "security.protocol=SSL", longer[] = "sasl.username.x=nobody";
	const struct {
		enum right right;
		const char *properties[5];
		const char *id, *expected;
	} cases[] = {
		{ RIGHT_WRITE_SCORED,
		  { sasl, plain, user, longer },
		  "one",
		  "--allow-principal User:u1 --operation Write --topic scored" },
		{ RIGHT_READ_GROUP,
		  { user, scram, "security.protocol=sasl_plaintext" },
		  "one",
		  "--allow-principal User:u1 --operation Read --group group" },
		{ RIGHT_READ_INPUT,
		  { sasl, plain, user, "sasl.username=u2" },
		  "one",
		  "--allow-principal User:u2 --operation Read --topic input" },
		{ RIGHT_READ_INPUT, { 0 }, "one", "--allow-principal User:… --operation Read --topic input" },
		{ RIGHT_READ_INPUT,
		  { tls, plain, user },
		  "one",
		  "--allow-principal User:… --operation Read --topic input" },
		{ RIGHT_READ_INPUT,
		  { sasl, kerberos, user },
		  "one",
		  "--allow-principal User:… --operation Read --topic input" },
		{ RIGHT_WRITE_TRANSACTIONS,
		  { sasl, plain, odd },
		  "id of mine",
		  "--allow-principal 'User:o'\\''neil & co' --operation Write --transactional-id 'id of "
		  "mine'" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		struct kafka_settings changed = settings;
		changed.properties = cases[i].properties;
		changed.instance_id = cases[i].id;
		while (cases[i].properties[changed.properties_count])
			changed.properties_count++;
		right_describe(&changed, cases[i].right, &text);
		const char *command = strstr(text.data, "kafka-acls.sh ");
		assert_non_null(command);
		const char *start = "kafka-acls.sh --bootstrap-server kafka1:9092,kafka2:9092 --add ";
		assert_memory_equal(command, start, strlen(start));
		assert_string_equal(command + strlen(start), cases[i].expected);
		assert_non_null(strstr(text.data, "this client lacks "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_needed),
		cmocka_unit_test(names),
		cmocka_unit_test(what_is_missing_in_a_sentence),
		cmocka_unit_test(commands_that_grant),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
