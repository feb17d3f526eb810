#include "config/config.h"

#include "common/hash.h"
#include "tests/unit/config/files.h"

static err_t load_text(const char *text, struct config **ret_config, struct err_detail *detail)
{
	_cleanup_(temporary_cleanup) struct temporary_file file = temporary_text(text);
	return config_load(file.path, ret_config, detail);
}

static struct config *load(const char *text)
{
	struct config *config = NULL;
	struct err_detail detail = { "" };
	err_t err = load_text(text, &config, &detail);
	if (err)
		fail_msg("%s: %s", err_name(err), detail.message);
	return config;
}

/* The example of the documentation, with every kind of setting in it. */
static const char example[] =
	"kafka: { bootstrap_servers = \"localhost:9092\"; group_id = \"assayd\"; instance_id = \"…\"; # "
	"static\n"
	"         input_topic = \"generated-queries\"; scored_topic = \"scored-queries\";\n"
	"         advisory_topic = \"confidence-advisories\";\n"
	"         dead_letter_topic = \"generated-queries.dlq\"; feedback_topic = \"query-feedback\";\n"
	"         delivery = \"exactly_once\"; wire_format = \"single_object\"; # or \"confluent\", "
	"\"json\"\n"
	"         properties = ( \"security.protocol=SASL_SSL\" ); }; # any librdkafka property\n"
	"targets = ( { name = \"sales\"; engine = \"postgresql\"; dsn = \"host=db dbname=sales "
	"user=assayd_ro\";\n"
	"              password_file = \"…\"; connections = 4; statement_timeout_ms = 10000; max_rows = "
	"10000; },\n"
	"            { name = \"shop\"; engine = \"sqlite\"; path = \"/srv/shop.db\"; } ); # engines: …\n"
	"judge: { provider = \"openai\"; base_url = \"http://127.0.0.1:8080/v1\"; model = \"…\";\n"
	"         api_key_file = \"…\"; timeout_ms = 30000;\n"
	"         max_in_flight = 64; sample_rate = 1.0; cache_ttl_s = 86400; }; # no group: no judge\n"
	"calibration: { dsn = \"host=db dbname=assayd\"; }; confidence: { factors = [ \"technical\", "
	"\"advisory\" ]; };\n"
	"http: { listen = \"127.0.0.1:9464\"; };\n"
	"pipeline: { workers = 2; max_in_flight = 4096; max_in_flight_bytes = 67108864; };\n";

static void tokens_for_kafka(void **state)
{
	(void)state;
	_cleanup_(config_cleanup) struct config *none = load("");
	assert_false(none->oauth.configured);
	_cleanup_(config_cleanup) struct config *config =
		load("kafka: { properties = ( \"security.protocol=SASL_SSL\" ); oauth: { token_url = "
		     "\"https://a/t?u=v\"; client_id = \"b\"; client_secret_file = \"/c\"; parameters = ( "
		     "\"audience=a b\" ); extensions = ( \"logicalCluster=x\" ); }; };");
	assert_true(config->oauth.configured);
	assert_string_equal(config->oauth.client_secret_file, "/c");
	assert_int_equal(config->oauth.client_authentication, CONFIG_CLIENT_BASIC);
	assert_int_equal(config->oauth.timeout_ms, 5000);
	assert_int_equal(config->oauth.parameters.count, 1);
	assert_null(strstr(config_text(config).ptr, "client_secret_file"));
}

static void documented_example_loads(void **state)
{
	(void)state;
	_cleanup_(config_cleanup) struct config *config = load(example);
	assert_string_equal(config->kafka.instance_id, "…");
	assert_int_equal(config->kafka.delivery, CONFIG_EXACTLY_ONCE);
	assert_int_equal(config->kafka.properties.count, 1);
	assert_string_equal(config->kafka.properties.items[0], "security.protocol=SASL_SSL");
	assert_int_equal(config->targets_count, 2);
	assert_string_equal(config->targets[0].name, "sales");
	assert_int_equal(config->targets[0].engine, CONFIG_POSTGRESQL);
	assert_string_equal(config->targets[0].dsn, "host=db dbname=sales user=assayd_ro");
	assert_int_equal(config->targets[1].engine, CONFIG_SQLITE);
	assert_string_equal(config->targets[1].path, "/srv/shop.db");
	assert_null(config->targets[1].dsn);
	assert_true(config->judge.configured);
	assert_string_equal(config->judge.base_url, "http://127.0.0.1:8080/v1");
	assert_true(config->calibration.configured);
	assert_int_equal(config->confidence.factors.count, 2);
	assert_int_equal(config->confidence.factors.items[1], CONFIG_ADVISORY);
}

static void assert_kafka_defaults(const struct config_kafka *kafka)
{
	char host[256] = "";
	assert_int_equal(gethostname(host, sizeof host - 1), 0);
	assert_string_equal(kafka->bootstrap_servers, "localhost:9092");
	assert_string_equal(kafka->group_id, "assayd");
	assert_string_equal(kafka->instance_id, host);
	assert_string_equal(kafka->input_topic, "generated-queries");
	assert_string_equal(kafka->scored_topic, "scored-queries");
	assert_string_equal(kafka->advisory_topic, "confidence-advisories");
	assert_string_equal(kafka->dead_letter_topic, "generated-queries.dlq");
	assert_string_equal(kafka->feedback_topic, "query-feedback");
	assert_int_equal(kafka->delivery, CONFIG_EXACTLY_ONCE);
	assert_int_equal(kafka->wire_format, CONFIG_SINGLE_OBJECT);
	assert_int_equal(kafka->properties.count, 0);
	assert_int_equal(kafka->transaction_max_events, 5000);
	assert_int_equal(kafka->transaction_max_bytes, 4 << 20);
	assert_int_equal(kafka->transaction_linger_ms, 12);
	assert_int_equal(kafka->transaction_timeout_ms, 15000);
	assert_int_equal(kafka->session_timeout_ms, 10000);
	assert_int_equal(kafka->heartbeat_ms, 1000);
}

static void assert_number(double actual, double expected)
{
	if (actual < expected || actual > expected)
		fail_msg("%.17g is not %.17g", actual, expected);
}

static void assert_scoring_defaults(const struct config *config)
{
	assert_int_equal(config->confidence.factors.count, 3);
	assert_int_equal(config->confidence.factors.items[0], CONFIG_TECHNICAL);
	assert_int_equal(config->confidence.factors.items[1], CONFIG_ADVISORY);
	assert_int_equal(config->confidence.factors.items[2], CONFIG_RETRIEVAL_WITHOUT_ADVISORY);
	assert_int_equal(config->confidence.technical_alone, CONFIG_ALONE_MEDIUM);
	assert_number(config->confidence_thresholds.high, 0.9);
	assert_number(config->confidence_thresholds.medium, 0.7);
	assert_number(config->confidence_thresholds.low, 0.5);
	assert_number(config->retrieval.rrf_scale, 1);
	assert_number(config->retrieval_weights.top, 0.30);
	assert_number(config->retrieval_weights.gap, 0.20);
	assert_number(config->retrieval_weights.consensus, 0.15);
	assert_number(config->retrieval_weights.agreement, 0.15);
	assert_number(config->retrieval_weights.low_spread, 0.10);
	assert_number(config->retrieval_weights.graph, 0.05);
	assert_number(config->retrieval_weights.low_diversity, 0.05);
	assert_number(config->retrieval_thresholds.high, 0.85);
	assert_number(config->retrieval_thresholds.medium, 0.70);
	assert_number(config->retrieval_thresholds.low, 0.50);
	assert_int_equal(config->diagnostic.source, CONFIG_DIAGNOSTIC_OWN);
	assert_number(config->result.absolute_tolerance, 1e-4);
	assert_number(config->result.relative_tolerance, 1e-9);
	assert_number(config->result.performance_factor, 5);
	assert_number(config->result.performance_floor_ms, 250);
	assert_number(config->evaluation.pass_score, 0.7);
}

static void defaults(void **state)
{
	(void)state;
	struct config *config = NULL;
	unsetenv("STATE_DIRECTORY");
	assert_int_equal(config_load(NULL, &config, NULL), ERR_OK);
	assert_kafka_defaults(&config->kafka);
	assert_scoring_defaults(config);
	assert_int_equal(config->targets_count, 0);
	assert_false(config->judge.configured);
	assert_int_equal(config->judge.max_in_flight, 64);
	assert_false(config->calibration.configured);
	assert_int_equal(config->advisories.max_per_minute, 60);
	assert_number(config->advisories.low_confidence_below, 0.7);
	assert_number(config->advisories.low_relevance_below, 50);
	assert_true(config->records.embed_input);
	assert_false(config->records.redact_literals);
	assert_int_equal(config->records.sample_rows, 3);
	assert_string_equal(config->http.listen, "127.0.0.1:9464");
	assert_int_equal(config->pipeline.workers, 2);
	assert_int_equal(config->pipeline.max_in_flight, 4096);
	assert_int_equal(config->pipeline.max_in_flight_bytes, 67108864);
	assert_null(config->pipeline.state_directory);
	assert_int_equal(config->log.level, CONFIG_LOG_INFO);
	config_unref(config);
}

static void target_and_judge_defaults(void **state)
{
	(void)state;
	_cleanup_(config_cleanup) struct config *config =
		load("targets = ( { name = \"a\"; engine = \"sqlite\"; path = \"/a\"; } );\n"
		     "judge: { base_url = \"https://h/v1\"; model = \"m\"; };\n");
	const struct config_target *target = &config->targets[0];
	assert_int_equal(target->connections, 4);
	assert_int_equal(target->statement_timeout_ms, 10000);
	assert_int_equal(target->lock_timeout_ms, 1000);
	assert_int_equal(target->max_rows, 10000);
	assert_int_equal(target->max_result_bytes, 64 << 20);
	assert_int_equal(target->large_results, CONFIG_STREAM);
	assert_int_equal(target->worker_memory_bytes, 512 << 20);
	assert_int_equal(target->truth_cache_bytes, 16 << 20);
	assert_int_equal(target->truth_cache_ttl_s, 60);
	assert_int_equal(target->catalog_ttl_s, 300);
	assert_int_equal(target->user_functions, CONFIG_FUNCTIONS_NON_VOLATILE);
	assert_int_equal(target->foreign_tables, CONFIG_FOREIGN_READ);
	assert_int_equal(config->judge.provider, CONFIG_OPENAI);
	assert_int_equal(config->judge.timeout_ms, 30000);
	assert_number(config->judge.sample_rate, 1);
	assert_int_equal(config->judge.always_below, CONFIG_LOW);
	assert_int_equal(config->judge.cache_ttl_s, 86400);
	assert_int_equal(config->judge.queue_wait_ms, 1000);
	assert_int_equal(config->judge.when_saturated, CONFIG_SATURATED_SKIP);
	assert_int_equal(config->judge.max_attempts, 4);
	assert_int_equal(config->judge.requests_per_minute, 0);
	assert_int_equal(config->judge.tokens_per_minute, 0);
	assert_int_equal(config->judge.tokens_per_day, 0);
	assert_false(config->judge.unsafe);
	assert_null(config->judge.api_key_file);
	assert_null(config->judge.prompt_directory);
}

static void values_of_every_type(void **state)
{
	(void)state;
	_cleanup_(config_cleanup) struct config *config = load(
		"kafka: { delivery = \"at_least_once\"; wire_format = \"json\"; properties = []; };\n"
		"targets = ( { name = \"a\"; engine = \"postgresql\"; dsn = \"host=h passfile=/p\";\n"
		"  max_result_bytes = 4294967296; worker_memory_bytes = 0x200000000; large_results = "
		"\"truncate\";\n"
		"  foreign_tables = \"refuse\"; user_functions = \"list\"; allowed_functions = [ \"f\", "
		"\"g\" ];\n"
		"  required_columns = ( \"t.c\", \"s.t.c\" ); } );\n"
		"confidence: { factors = ( \"generator\" ); thresholds: { high = 1; medium = 0.5; }; };\n"
		"retrieval: { rrf_scale = 61; weights: { top = 0.25; gap = 0.25; }; };\n"
		"diagnostic: { source = \"worst\"; }; records: { embed_input = false; };\n"
		"http: { listen = \"\"; }; log: { level = \"debug\"; };\n"
		"result: { absolute_tolerance = 1e-6; };\n");
	assert_int_equal(config->kafka.delivery, CONFIG_AT_LEAST_ONCE);
	assert_int_equal(config->kafka.wire_format, CONFIG_JSON);
	assert_int_equal(config->targets[0].max_result_bytes, 4294967296);
	assert_int_equal(config->targets[0].worker_memory_bytes, 8589934592);
	assert_int_equal(config->targets[0].large_results, CONFIG_TRUNCATE);
	assert_int_equal(config->targets[0].user_functions, CONFIG_FUNCTIONS_LIST);
	assert_int_equal(config->targets[0].foreign_tables, CONFIG_FOREIGN_REFUSE);
	assert_int_equal(config->targets[0].allowed_functions.count, 2);
	assert_string_equal(config->targets[0].allowed_functions.items[1], "g");
	assert_string_equal(config->targets[0].required_columns.items[1], "s.t.c");
	assert_int_equal(config->confidence.factors.count, 1);
	assert_int_equal(config->confidence.factors.items[0], CONFIG_GENERATOR);
	assert_number(config->confidence_thresholds.high, 1);
	assert_number(config->confidence_thresholds.low, 0.5);
	assert_number(config->retrieval.rrf_scale, 61);
	assert_number(config->retrieval_weights.gap, 0.25);
	assert_int_equal(config->diagnostic.source, CONFIG_DIAGNOSTIC_WORST);
	assert_false(config->records.embed_input);
	assert_string_equal(config->http.listen, "");
	assert_int_equal(config->log.level, CONFIG_LOG_DEBUG);
	assert_number(config->result.absolute_tolerance, 1e-6);
}

#define PG(rest)    "targets = (\n{ name = \"a\"; engine = \"postgresql\"; dsn = \"host=h\";\n" rest " } );"
#define JUDGE(rest) "judge: { base_url = \"http://h\"; model = \"m\";\n" rest " };"
#define JUDGES(...) "judges = ( " __VA_ARGS__ " );"
#define ONE(rest)   "{ name = \"one\"; base_url = \"http://h\"; model = \"m\";" rest " }"
#define TWO(rest)   "{ name = \"two\"; base_url = \"http://i\"; model = \"m\";" rest " }"
#define STORE(rest) "calibration: { dsn = \"host=h\";\n" rest " };"
#define OAUTH(rest)                                                                                          \
	"kafka: { properties = ( \"security.protocol=SASL_SSL\" ); oauth: { token_url = \"https://a/t?u\"; " \
	"client_id = \"b\"; client_secret_file = \"c\";\n" rest " }; };"
#define TEN(text) text text text text text text text text text text
#define LONG_TEXT TEN(TEN("key")) /* more than the name of a file can have */

static const struct {
	const char *text;
	err_t err;
	const char *place;   /* behind the file's name */
	const char *message; /* part of what follows */
} bad_files[] = {
	/* syntax */
	{ "kafka: {\n group_id = ;\n};", ERR_CONFIG_SYNTAX,
	  ":2: ", "syntax error, here or in the line before; write name = value;" },
	{ "log: { level = \"info\"; };\nlog: { };", ERR_CONFIG_SYNTAX,
	  ":2: ", "duplicate setting name: what begins here is in the same group above already" },
	{ "log: {\n level = \"info\";\n", ERR_CONFIG_SYNTAX, ":", "syntax error" },
	{ "a: " TEN(TEN(TEN(TEN("{ b: ")))), ERR_CONFIG_SYNTAX,
	  ":1: ", "groups lie too deep within each other" },
	{ "\n@include \"/etc\"\n", ERR_CONFIG_SYNTAX, ":2: ", "@include" },
	/* unknown settings and groups */
	{ "kafka: {\n\n groupid = \"a\"; };", ERR_CONFIG_UNKNOWN,
	  ":3: kafka.groupid: ", "did you mean group_id?" },
	{ "kafak: { };", ERR_CONFIG_UNKNOWN, ":1: kafak: ", "did you mean kafka?" },
	{ "\nzebra = 1;", ERR_CONFIG_UNKNOWN,
	  ":2: zebra: ", "known here are kafka, registry, targets, judge" },
	{ "http: { port = 1; };", ERR_CONFIG_UNKNOWN, ":1: http.port: ", "known here are listen" },
	{ "retrieval: {\n weights: {\n  topp = 1.0; }; };", ERR_CONFIG_UNKNOWN,
	  ":3: retrieval.weights.topp: ", "did you mean top?" },
	{ "kafka: { zebra = 1; };", ERR_CONFIG_UNKNOWN,
	  ":1: kafka.zebra: ", "schema_directory, transaction_max_events, transaction_max_bytes, …" },
	{ "weights: { };", ERR_CONFIG_UNKNOWN, ":1: weights: ", "no such setting" },
	{ "targets = ( { name = \"a\"; engine = \"sqlite\"; path = \"/a\"; },\n{ nam = \"b\"; } );",
	  ERR_CONFIG_UNKNOWN, ":2: targets[1].nam: ", "did you mean name?" },
	/* types */
	{ "kafka = 5;", ERR_CONFIG_TYPE, ":1: kafka: ", "a group" },
	{ "kafka: {\n group_id = 5; };", ERR_CONFIG_TYPE,
	  ":2: kafka.group_id: ", "a text is expected here, not a whole number" },
	{ "pipeline: { workers = \"2\"; };", ERR_CONFIG_TYPE,
	  ":1: pipeline.workers: ", "a whole number is expected here, not a text" },
	{ "pipeline: { workers = 2.0; };", ERR_CONFIG_TYPE,
	  ":1: pipeline.workers: ", "not a number with a fraction" },
	{ "result: { performance_factor = true; };", ERR_CONFIG_TYPE,
	  ":1: result.performance_factor: ", "a number is expected" },
	{ "records: {\n\n embed_input = 1; };", ERR_CONFIG_TYPE,
	  ":3: records.embed_input: ", "true or false is expected" },
	{ "kafka: { properties = \"a=b\"; };", ERR_CONFIG_TYPE, ":1: kafka.properties: ", "a list of texts" },
	{ "kafka: { properties = ( \"a=b\",\n 5 ); };", ERR_CONFIG_TYPE,
	  ":2: kafka.properties[1]: ", "a text is expected" },
	{ "log: { level = 3; };", ERR_CONFIG_TYPE, ":1: log.level: ", "a text is expected" },
	{ "targets: { };", ERR_CONFIG_TYPE, ":1: targets: ", "a list of groups" },
	{ "targets = ( 5 );", ERR_CONFIG_TYPE, ":1: targets[0]: ", "a group" },
	{ "retrieval: { weights = 1; };", ERR_CONFIG_TYPE, ":1: retrieval.weights: ", "a group" },
	/* ranges */
	{ "pipeline: {\n workers = 0; };", ERR_CONFIG_RANGE,
	  ":2: pipeline.workers: ", "0 is out of range; allowed is 1 to 256 threads" },
	{ "pipeline: { workers = -1; };", ERR_CONFIG_RANGE, ":1: pipeline.workers: ", "-1 is out of range" },
	{ "pipeline: { workers = 4294967297; };", ERR_CONFIG_RANGE,
	  ":1: pipeline.workers: ", "4294967297 is out of range" },
	{ "pipeline: {\n workers = 99999999999999999999; };", ERR_CONFIG_RANGE,
	  ":2: ", "does not fit into 64 bits" },
	{ JUDGE("sample_rate = 1.5;"), ERR_CONFIG_RANGE,
	  ":2: judge.sample_rate: ", "1.5 is out of range; allowed is 0 to 1" },
	{ JUDGE("sample_rate = -1e999;"), ERR_CONFIG_RANGE,
	  ":2: judge.sample_rate: ", "-inf is out of range" },
	{ "kafka: { group_id = \"\"; };", ERR_CONFIG_RANGE, ":1: kafka.group_id: ", "empty" },
	{ "kafka: { delivery = \"exactly_onec\"; };", ERR_CONFIG_RANGE, ":1: kafka.delivery: ",
	  "\"exactly_onec\" is not one of exactly_once, at_least_once; did you mean exactly_once?" },
	{ "confidence: { factors = [ ]; };", ERR_CONFIG_RANGE, ":1: confidence.factors: ", "at least 1" },
	{ "confidence: { factors = [ \"technical\",\n \"technical\" ]; };", ERR_CONFIG_RANGE,
	  "confidence.factors[1]: ", "technical is given twice" },
	{ "confidence: { factors = [ \"safety\" ]; };", ERR_CONFIG_RANGE, ":1: confidence.factors[0]: ",
	  "not one of technical, advisory, retrieval, generator, agreement, "
	  "retrieval_without_advisory" },
	{ "kafka: {\n group_id = "
	  "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"; };",
	  ERR_CONFIG_RANGE, ":2: kafka.group_id: ", "the text has 250 bytes; allowed are 249" },
	{ "kafka: { group_id = \"\\xff\"; };", ERR_CONFIG_RANGE,
	  ":1: kafka.group_id: ", "the text is not valid UTF-8" },
	{ "kafka: { properties = ( \"a=b\", \"\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.properties[1]: ", "empty" },
	{ "http: { listen = [ \"a\" ]; };", ERR_CONFIG_TYPE, ":1: http.listen: ", "not a list" },
	{ "http: { listen = { }; };", ERR_CONFIG_TYPE, ":1: http.listen: ", "not a group" },
	{ "confidence: { factors = [\"technical\", \"technical\", \"technical\", \"technical\", "
	  "\"technical\", \"technical\", \"technical\", \"technical\", \"technical\", \"technical\", "
	  "\"technical\", \"technical\", \"technical\", \"technical\", \"technical\", \"technical\", "
	  "\"technical\" ]; };",
	  ERR_CONFIG_RANGE, ":1: confidence.factors: ", "17 items; allowed are 16" },
	{ "axxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxx = 1;",
	  ERR_CONFIG_UNKNOWN, ":1: axxx", "known here are kafka" },
	/* missing */
	{ "\njudge: { model = \"m\"; };", ERR_CONFIG_MISSING, ":2: judge: ", "base_url is missing" },
	{ "judge: { base_url = \"http://h\"; };", ERR_CONFIG_MISSING, ":1: judge: ", "model is missing" },
	{ "\n\ncalibration: { };", ERR_CONFIG_MISSING, ":3: calibration: ", "dsn is missing" },
	{ "targets = (\n{ engine = \"sqlite\"; path = \"/a\"; } );", ERR_CONFIG_MISSING,
	  ":2: targets[0]: ", "name is missing" },
	{ "targets = (\n{ name = \"a\"; path = \"/a\"; } );", ERR_CONFIG_MISSING,
	  ":2: targets[0]: ", "engine is missing; it is one of postgresql, sqlite, mariadb, mongodb" },
	{ "targets = (\n{ name = \"a\"; engine = \"sqlite\"; } );", ERR_CONFIG_MISSING,
	  ":2: targets[0]: ", "needs path" },
	{ "targets = (\n{ name = \"a\"; engine = \"mariadb\"; } );", ERR_CONFIG_MISSING,
	  ":2: targets[0]: ", "needs dsn" },
	{ "targets = (\n{ name = \"a\"; engine = \"mongodb\"; dsn = \"h\"; } );", ERR_CONFIG_RANGE,
	  ":2: targets[0].dsn: ",
	  "not a connection string of MongoDB: write mongodb://user@host:27017/database" },
	{ "targets = (\n{ name = \"a\"; engine = \"mongodb\"; } );", ERR_CONFIG_MISSING,
	  ":2: targets[0]: ", "a target of the engine mongodb needs dsn" },
	{ "targets = (\n{ name = \"a\"; engine = \"mongodb\"; dsn = \"mongodb://u:pw@h/d\"; } );",
	  ERR_CONFIG_RANGE, ":2: targets[0].dsn: ", "the connection string contains a password" },
	{ "targets = (\n{ name = \"a\"; engine = \"MySQL\"; dsn = \"h\"; } );", ERR_CONFIG_RANGE,
	  ":2: targets[0].engine: ",
	  "\"MySQL\" is not one of postgresql, sqlite, mariadb, mongodb; did you mean mariadb?" },
	{ "judge: { base_url = \"http://h\"; model = \"m\"; provider = \"mysql\"; };", ERR_CONFIG_RANGE,
	  ":1: judge.provider: ", "is not one of openai, anthropic" },
	{ PG("user_functions = \"list\";"), ERR_CONFIG_MISSING,
	  ":3: targets[0].user_functions: ", "needs allowed_functions" },
	{ PG("worker_memory_bytes = 134217728;\n  max_result_bytes = 67108865;"), ERR_CONFIG_RANGE,
	  ":4: targets[0].max_result_bytes: ",
	  "two results of 67108865 bytes do not fit into worker_memory_bytes = 134217728; lower it to "
	  "67108864 or" },
	{ PG("max_result_bytes = 4294967296;"), ERR_CONFIG_RANGE,
	  ":3: targets[0].max_result_bytes: ", "lower it to 268435456 or raise worker_memory_bytes" },
	/* secrets */
	{ PG("password = \"hunter2\";"), ERR_CONFIG_UNKNOWN, ":3: targets[0].password: ", "password_file" },
	{ JUDGE("api_key = \"hunter2\";"), ERR_CONFIG_UNKNOWN, ":2: judge.api_key: ", "api_key_file" },
	{ STORE("password = \"hunter2\";"), ERR_CONFIG_UNKNOWN,
	  ":2: calibration.password: ", "password_file" },
	{ "calibration: {\n dsn = \"host=h password=hunter2\"; };", ERR_CONFIG_RANGE,
	  ":2: calibration.dsn: ", "password_file" },
	{ "calibration: { dsn = \"host=h PassWord = hunter2\"; };", ERR_CONFIG_RANGE,
	  ":1: calibration.dsn: ", "password_file" },
	{ "calibration: { dsn = \"postgresql://u:hunter2@h/d\"; };", ERR_CONFIG_RANGE,
	  ":1: calibration.dsn: ", "password_file" },
	{ "targets = ( { name = \"a\"; engine = \"postgresql\";\n dsn = "
	  "\"postgres://u@h/d?password=hunter2\"; } );",
	  ERR_CONFIG_RANGE, ":2: targets[0].dsn: ", "password_file" },
	{ "judge: { model = \"m\"; base_url = \"https://u:hunter2@h/v1\"; };", ERR_CONFIG_RANGE,
	  ":1: judge.base_url: ", "api_key_file" },
	{ "kafka: { properties = ( \"a=b\",\n \"sasl.password=hunter2\" ); };", ERR_CONFIG_RANGE,
	  ":2: kafka.properties[1]: ", "secret_properties" },
	{ "kafka: { properties = ( \"ssl.key.pem=hunter2\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.properties[0]: ", "secret_properties" },
	{ JUDGE("api_key_file = \"sk-hunter2\";"), ERR_CONFIG_RANGE,
	  ":2: judge.api_key_file: ", "write the secret to a file and name it" },
	{ JUDGE("api_key_file = \"" LONG_TEXT "hunter2\";"), ERR_CONFIG_RANGE,
	  ":2: judge.api_key_file: ", "looks like a secret" },
	{ JUDGE("cache_dsn = \"host=h\";\n cache_password_file = \"sk-hunter2\";"), ERR_CONFIG_RANGE,
	  ":3: judge.cache_password_file: ", "looks like a secret" },
	{ STORE("password_file = \"sk-hunter2\";"), ERR_CONFIG_RANGE,
	  ":2: calibration.password_file: ", "looks like a secret" },
	{ PG("password_file = \"sk-hunter2\";"), ERR_CONFIG_RANGE,
	  ":3: targets[0].password_file: ", "looks like a secret" },
	{ "kafka: { secret_properties = ( \"sasl.password=sk-hunter2\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.secret_properties[0]: ", "looks like a secret" },
	/* kafka */
	{ "kafka: { bootstrap_servers = ( \"b1:9092\", \"b2:9092\" ); };", ERR_CONFIG_TYPE,
	  ":1: kafka.bootstrap_servers: ", "with commas between them: \"b1:9092,b2:9092\"" },
	{ "kafka: { bootstrap_servers = [ \"b1:9092\" ]; };", ERR_CONFIG_TYPE,
	  ":1: kafka.bootstrap_servers: ", "with commas between them: \"b1:9092\"" },
	{ "kafka: { bootstrap_servers = [ ]; };", ERR_CONFIG_TYPE,
	  ":1: kafka.bootstrap_servers: ", "a list" },
	{ "kafka: { bootstrap_servers = 9092; };", ERR_CONFIG_TYPE,
	  ":1: kafka.bootstrap_servers: ", "a text is expected here, not a whole number" },
	{ "kafka: { bootstrap_servers = \"b1:9092;b2:9092\"; };", ERR_CONFIG_RANGE,
	  ":1: kafka.bootstrap_servers: ", "separated by commas: write \"b1:9092,b2:9092\"" },
	{ "kafka: { properties = ( \"max.poll.interval.ms=1\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.properties[0]: ", "follows from kafka.session_timeout_ms" },
	{ "kafka: { properties = ( \"novalue\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.properties[0]: ", "name=value" },
	{ "kafka: { properties = ( \"=v\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.properties[0]: ", "name=value" },
	{ "kafka: { properties = ( \"group.id=x\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.properties[0]: ", "kafka.group_id" },
	{ "kafka: { properties = ( \"linger.ms=1\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.properties[0]: ", "linger.ms cannot be set here" },
	{ "kafka: { secret_properties = ( \"sasl.password=\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.secret_properties[0]: ", "file is missing" },
	/* kafka.oauth */
	{ "kafka: { properties = ( \"sasl.mechanism=OAUTHBEARER\" ); };", ERR_CONFIG_MISSING,
	  ":1: kafka.properties: ", "needs the group kafka.oauth" },
	{ "kafka: { properties = ( \"sasl.oauthbearer.method=oidc\" ); };", ERR_CONFIG_RANGE,
	  ":1: kafka.properties[0]: ", "follows from kafka.oauth" },
	{ "kafka: { oauth: { token_url = \"https://a\"; client_id = \"b\"; client_secret_file = \"c\"; }; };",
	  ERR_CONFIG_MISSING, ":1: kafka.oauth: ", "security.protocol=SASL_SSL" },
	{ "kafka: { oauth: { token_url = \"https://a\"; client_id = \"b\"; }; };", ERR_CONFIG_MISSING,
	  ":1: kafka.oauth: ", "client_secret_file" },
	{ "kafka: { properties = ( \"security.protocol=SASL_SSL\",\n\"sasl.mechanism=PLAIN\" );\n oauth: { "
	  "token_url = \"https://a\"; client_id = \"b\"; client_secret_file = \"c\"; }; };",
	  ERR_CONFIG_RANGE, ":1: kafka.properties: ", "kafka.oauth is for OAUTHBEARER" },
	{ OAUTH("client_secret = \"c\";"), ERR_CONFIG_UNKNOWN,
	  ":2: kafka.oauth.client_secret: ", "client_secret_file" },
	{ OAUTH("parameters = ( \"scope=a\" );"), ERR_CONFIG_RANGE,
	  ":2: kafka.oauth.parameters[0]: ", "assayd sets it itself" },
	{ OAUTH("parameters = ( \"a\" );"), ERR_CONFIG_RANGE,
	  ":2: kafka.oauth.parameters[0]: ", "name=value" },
	{ OAUTH("extensions = ( \"auth=a\" );"), ERR_CONFIG_RANGE,
	  ":2: kafka.oauth.extensions[0]: ", "assayd sets it itself" },
	{ OAUTH("extensions = ( \"a1=b\" );"), ERR_CONFIG_RANGE,
	  ":2: kafka.oauth.extensions[0]: ", "a name of letters" },
	{ "kafka: { properties = ( \"security.protocol=SASL_SSL\" ); oauth: {\n token_url = \"ftp://a\"; "
	  "client_id = "
	  "\"b\"; client_secret_file = \"c\"; }; };",
	  ERR_CONFIG_RANGE, ":2: kafka.oauth.token_url: ", "http://" },
	{ "kafka: { properties = ( \"security.protocol=SASL_SSL\" ); oauth: {\n token_url = "
	  "\"https://u:p@a\"; "
	  "client_id = \"b\"; client_secret_file = \"c\"; }; };",
	  ERR_CONFIG_RANGE, ":2: kafka.oauth.token_url: ", "a user or a password" },
	{ "kafka: {\n wire_format = \"confluent\"; };", ERR_CONFIG_RANGE,
	  ":2: kafka.wire_format: ", "registry is missing" },
	/* registry */
	{ "registry: { user = \"u\"; };", ERR_CONFIG_MISSING, ":1: registry: ", "urls is missing" },
	{ "registry: { urls = ( \"http://a\" );\n user = \"u\"; };", ERR_CONFIG_MISSING,
	  ":2: registry.user: ", "password_file is missing" },
	{ "registry: { urls = ( \"http://a\" );\n token = \"hunter2\"; };", ERR_CONFIG_UNKNOWN,
	  ":2: registry.token: ", "set token_file to its name" },
	{ "registry: { urls = ( \"http://a\",\n\"ftp://b\" ); };", ERR_CONFIG_RANGE,
	  ":2: registry.urls[1]: ", "http" },
	{ "registry: { urls = ( \"http://a\" ); user = \"u\";\n token_file = \"/t\"; };", ERR_CONFIG_RANGE,
	  ":2: registry.token_file: ", "user is given" },
	{ "registry: { urls = ( \"http://a\" );\n password_file = \"/p\"; };", ERR_CONFIG_RANGE,
	  ":2: registry.password_file: ", "only used with user" },
	{ "registry: { urls = ( \"http://a\" );\n key_file = \"/k\"; };", ERR_CONFIG_RANGE,
	  ":2: registry.key_file: ", "certificate_file" },
	{ "registry: { urls = ( \"http://a\", \"http://b\",\n\"http://a\" ); };", ERR_CONFIG_RANGE,
	  ":2: registry.urls[2]: ", "that is registry.urls[0], too" },
	{ "registry: { urls = ( \"http://a\" );\n ca_file = \"/c\"; };", ERR_CONFIG_RANGE,
	  ":2: registry.ca_file: ", "only used with addresses of https" },
	{ "registry: { urls = ( \"http://a\" );\n certificate_file = \"/c\"; };", ERR_CONFIG_RANGE,
	  ":2: registry.certificate_file: ", "only used with addresses of https" },
	{ "registry: { urls = ( \"http://a\" );\n register = true; };", ERR_CONFIG_RANGE,
	  ":2: registry.register: ", "kafka.wire_format = \"confluent\"" },
	{ "registry: { urls = ( \"http://a\" );\n max_waiting_events = 3000; };", ERR_CONFIG_RANGE,
	  ":2: registry.max_waiting_events: ",
	  "allowed here is 1 to 2048: lower it, or raise pipeline.max_in_flight" },
	{ "pipeline: { max_in_flight = 101; }; registry: { urls = ( \"http://a\" );\n max_waiting_events = "
	  "52; };",
	  ERR_CONFIG_RANGE, ":2: registry.max_waiting_events: ", "pipeline.max_in_flight = 101" },
	{ "registry: { urls = ( \"http://a\" );\n max_waiting_bytes = 40000000; };", ERR_CONFIG_RANGE,
	  ":2: registry.max_waiting_bytes: ", "allowed here is 65536 to 33554432" },
	{ "registry: { urls = ( \"http://a\" ); password_file = \"/p\";\n user = \"a:b\"; };",
	  ERR_CONFIG_RANGE, ":2: registry.user: ", "takes no \":\" in a user" },
	{ "kafka: { heartbeat_ms = 5000; };", ERR_CONFIG_RANGE,
	  ":1: kafka.heartbeat_ms: ", "session_timeout_ms" },
	{ "kafka: { transaction_timeout_ms = 1000;\n transaction_linger_ms = 1000; };", ERR_CONFIG_RANGE,
	  ":2: kafka.transaction_linger_ms: ", "transaction_timeout_ms" },
	{ "kafka: {\n scored_topic = \"generated-queries\"; };", ERR_CONFIG_RANGE,
	  ":2: kafka.scored_topic: ", "is already used as kafka.input_topic" },
	{ "kafka: { input_topic = \"a b\"; };", ERR_CONFIG_RANGE, ":1: kafka.input_topic: ", "letters" },
	{ "kafka: { input_topic = \"..\"; };", ERR_CONFIG_RANGE, ":1: kafka.input_topic: ", "neither" },
	/* targets */
	{ "targets = ( { name = \"a\"; engine = \"sqlite\"; path = \"/a\"; },\n{ name = \"a\"; engine = "
	  "\"sqlite\"; path = \"/b\"; } );",
	  ERR_CONFIG_RANGE, ":2: targets[1].name: ", "another target" },
	{ PG("path = \"/a\";"), ERR_CONFIG_RANGE, ":3: targets[0].path: ", "only the engine sqlite" },
	{ "targets = ( { name = \"a\"; engine = \"sqlite\"; path = \"/a\";\n dsn = \"x\"; } );",
	  ERR_CONFIG_RANGE, ":2: targets[0].dsn: ", "takes path instead" },
	{ PG("allowed_functions = ( \"f\" );"), ERR_CONFIG_RANGE,
	  ":3: targets[0].allowed_functions: ", "user_functions" },
	{ PG("required_columns = ( \"a.b\",\n\"tenant\" );"), ERR_CONFIG_RANGE,
	  ":4: targets[0].required_columns[1]: ", "table.column" },
	{ PG("required_columns = ( \"a..b\" );"), ERR_CONFIG_RANGE,
	  ":3: targets[0].required_columns[0]: ", "table.column" },
	{ PG("required_columns = ( \".b\" );"), ERR_CONFIG_RANGE,
	  ":3: targets[0].required_columns[0]: ", "table.column" },
	{ PG("required_columns = ( \"a.\" );"), ERR_CONFIG_RANGE,
	  ":3: targets[0].required_columns[0]: ", "table.column" },
	{ PG("required_columns = ( \"a.b.c.d\" );"), ERR_CONFIG_RANGE,
	  ":3: targets[0].required_columns[0]: ", "table.column" },
	/* the rest */
	{ "judge: { model = \"m\"; base_url = \"h:80\"; };", ERR_CONFIG_RANGE,
	  ":1: judge.base_url: ", "http://" },
	{ STORE("bucket_s = 7;"), ERR_CONFIG_RANGE, ":2: calibration.bucket_s: ", "multiple of 7 s" },
	{ STORE("drift_closes_at = 0.4;"), ERR_CONFIG_RANGE,
	  ":2: calibration.drift_closes_at: ", "0.4 is below" },
	{ "confidence: {\n thresholds: { high = 0.6; }; };", ERR_CONFIG_RANGE,
	  ":2: confidence.thresholds: ", "high 0.6, medium 0.7" },
	{ "retrieval: { thresholds: { low = 0.9; }; };", ERR_CONFIG_RANGE,
	  ":1: retrieval.thresholds: ", "descending" },
	{ "retrieval: {\n weights: { top = 0.31; }; };", ERR_CONFIG_RANGE,
	  ":2: retrieval.weights: ", "the sum of the seven weights is 1.01 instead of 1" },
	/* several judges */
	{ JUDGES("{ base_url = \"http://h\"; model = \"m\"; }"), ERR_CONFIG_MISSING,
	  ":1: judges[0]: ", "name is missing" },
	{ JUDGES(ONE("") ",\n" TWO("name2 = 1;")), ERR_CONFIG_UNKNOWN,
	  ":2: judges[1].name2: ", "did you mean name?" },
	{ JUDGES(ONE("") ",\n{ name = \"two\"; model = \"m\"; }"), ERR_CONFIG_MISSING,
	  ":2: judges[1]: ", "base_url is missing" },
	{ JUDGES(ONE("") ",\n" ONE("")), ERR_CONFIG_RANGE, ":2: judges[1].name: ", "name of another judge" },
	{ JUDGES(ONE("") ",\n{ name = \"a b\"; base_url = \"http://h\"; model = \"m\"; }"), ERR_CONFIG_RANGE,
	  ":2: judges[1].name: ", "letters, digits" },
	{ JUDGES("{ name = \"..\"; base_url = \"http://h\"; model = \"m\"; }"), ERR_CONFIG_RANGE,
	  ":1: judges[0].name: ", "neither" },
	{ JUDGES(ONE("") ",\n{ name = \"two\"; base_url = \"h:80\"; model = \"m\"; }"), ERR_CONFIG_RANGE,
	  ":2: judges[1].base_url: ", "http://" },
	{ JUDGES(ONE("sample_rate = 0.5;")), ERR_CONFIG_UNKNOWN,
	  ":1: judges[0].sample_rate: ", "write it in the group panel" },
	{ JUDGES(ONE("cache_dsn = \"\";")), ERR_CONFIG_UNKNOWN,
	  ":1: judges[0].cache_dsn: ", "write it in the group panel" },
	{ JUDGES(ONE("") ",\n" TWO("api_key = \"hunter2\";")), ERR_CONFIG_UNKNOWN,
	  ":2: judges[1].api_key: ", "api_key_file" },
	{ JUDGES(ONE("") ",\n" TWO("api_key_file = \"sk-hunter2-0123456789\";")), ERR_CONFIG_RANGE,
	  ":2: judges[1].api_key_file: ", "looks like a secret" },
	{ "\n" JUDGES(ONE("")) "\n" JUDGE(""), ERR_CONFIG_RANGE,
	  ":2: judges: ", "the group judge is given, too" },
	{ JUDGES(TEN("{ name = \"a\"; base_url = \"http://h\"; model = \"m\"; },") ONE("")), ERR_CONFIG_RANGE,
	  ":1: judges: ", "11 judges are too many; allowed are up to 8" },
	{ "judges: { name = \"one\"; };", ERR_CONFIG_TYPE, ":1: judges: ", "list of groups" },
	{ "\npanel: { unsafe = true; };", ERR_CONFIG_RANGE, ":2: panel: ", "only used with judges" },
	{ JUDGE("") "\npanel: { unsafe = true; };", ERR_CONFIG_RANGE,
	  ":3: panel: ", "only used with judges" },
	{ JUDGES(ONE("")) "\npanel: { sample_rate = 2; };", ERR_CONFIG_RANGE,
	  ":2: panel.sample_rate: ", "out of range" },
	{ JUDGES(ONE("")) "\npanel: { timeout_ms = 2000; };", ERR_CONFIG_UNKNOWN,
	  ":2: panel.timeout_ms: ", "known here are" },
	{ JUDGES(ONE("")) "\npanel: { cache_password_file = \"/k\"; };", ERR_CONFIG_RANGE,
	  ":2: panel.cache_password_file: ", "only used with cache_dsn" },
	/* the audit log */
	{ "audit: { log = true; dsn = \"host=h\"; };", ERR_CONFIG_MISSING, ":1: audit",
	  "needs the key that signs" },
	{ "audit: { log = true; key_file = \"k\"; };", ERR_CONFIG_MISSING, ":1: audit", "needs a database" },
	{ "audit: {\n key_file = \"PRIVATE+KEY+a+00+AA\"; };", ERR_CONFIG_RANGE,
	  ":2: audit.key_file: ", "like a secret" },
	{ "audit: {\n checkpoint_topic = \"scored-queries\"; };", ERR_CONFIG_RANGE,
	  ":2: audit.checkpoint_topic: ", "has another use already" },
	{ "audit: {\n checkpoint_topic = \"a b\"; };", ERR_CONFIG_RANGE,
	  ":2: audit.checkpoint_topic: ", "consists of letters" },
	{ "audit: {\n checkpoint_file = \"checkpoints\"; };", ERR_CONFIG_RANGE,
	  ":2: audit.checkpoint_file: ", "does not begin with /" },
	{ "audit: {\n password_file = \"p\"; };", ERR_CONFIG_RANGE,
	  ":2: audit.password_file: ", "only used with dsn" },
	{ JUDGES(ONE("")) "\npanel: { cache_dsn = \"password=hunter2\"; };", ERR_CONFIG_RANGE,
	  ":2: panel.cache_dsn: ", "contains a password" },
	{ "http: { listen = \"9464\"; };", ERR_CONFIG_RANGE, ":1: http.listen: ", "address and a port" },
	{ "http: { listen = \"localhost:99999\"; };", ERR_CONFIG_RANGE,
	  ":1: http.listen: ", "address and a port" },
	{ "http: { listen = \":80\"; };", ERR_CONFIG_RANGE, ":1: http.listen: ", "address and a port" },
};

static void bad_files_are_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bad_files); i++) {
		_cleanup_(temporary_cleanup) struct temporary_file file = temporary_text(bad_files[i].text);
		struct config *config = NULL;
		struct err_detail detail = { "" };
		err_t err = config_load(file.path, &config, &detail);
		const char *rest = detail.message + strlen(file.path);
		if (err != bad_files[i].err || strncmp(detail.message, file.path, strlen(file.path)) != 0 ||
		    !strstr(rest, bad_files[i].place) || !strstr(rest, bad_files[i].message))
			fail_msg("%s\n  gives %s: %s", bad_files[i].text, err_name(err), detail.message);
		if (strstr(detail.message, "hunter2"))
			fail_msg("the message shows a secret: %s", detail.message);
		assert_null(config);
	}
}

static void files_that_cannot_be_read(void **state)
{
	(void)state;
	struct config *config = NULL;
	struct err_detail detail = { "" };
	assert_int_equal(config_load("/nonexistent/assayd.conf", &config, &detail), ERR_CONFIG_FILE);
	assert_string_equal(detail.message, "/nonexistent/assayd.conf: No such file or directory: name the "
					    "configuration's file with --config");
	assert_int_equal(config_load("/tmp", &config, &detail), ERR_CONFIG_FILE);
	assert_string_equal(detail.message, "/tmp: a directory: name the file itself with --config");
	assert_int_equal(config_load("/dev/zero", &config, &detail), ERR_CONFIG_FILE);

	_cleanup_(temporary_cleanup) struct temporary_file nul = temporary_file("http: {\0};", 10);
	assert_int_equal(config_load(nul.path, &config, &detail), ERR_CONFIG_SYNTAX);
	assert_non_null(strstr(detail.message, "NUL"));

	_cleanup_(cleanup_free) char *blanks = malloc(2 << 20);
	memset(blanks, ' ', 2 << 20);
	_cleanup_(temporary_cleanup) struct temporary_file large = temporary_file(blanks, 2 << 20);
	assert_int_equal(config_load(large.path, &config, &detail), ERR_CONFIG_FILE);
	assert_non_null(strstr(detail.message, "larger than"));
	assert_null(config);
}

static void detail_may_be_missing(void **state)
{
	(void)state;
	struct config *config = NULL;
	assert_int_equal(load_text("zebra = 1;", &config, NULL), ERR_CONFIG_UNKNOWN);
	assert_int_equal(load_text("http: { listen = \"x\"; };", &config, NULL), ERR_CONFIG_RANGE);
}

static void digest(void **state)
{
	(void)state;
	_cleanup_(config_cleanup) struct config *empty = load("");
	_cleanup_(config_cleanup) struct config *same = load("# nothing\npipeline: { workers = 2; };");
	_cleanup_(config_cleanup) struct config *other = load("pipeline: { workers = 3; };");
	_cleanup_(config_cleanup) struct config *quoted =
		load("kafka: { properties = ( \"a=b\", \"c=d\" ); };");
	_cleanup_(config_cleanup) struct config *joined =
		load("kafka: { properties = ( \"a=b\\\",\\\"c=d\" ); };");
	_cleanup_(config_cleanup) struct config *key = load(JUDGE("api_key_file = \"/a\";"));
	_cleanup_(config_cleanup) struct config *other_key = load(JUDGE("api_key_file = \"/b\";"));
	assert_int_equal(strlen(config_digest(empty)), 64);
	assert_string_equal(config_digest(empty), config_digest(same));
	assert_string_not_equal(config_digest(empty), config_digest(other));
	assert_string_not_equal(config_digest(quoted), config_digest(joined));
	assert_string_equal(config_digest(key), config_digest(other_key));
	assert_string_not_equal(config_digest(key), config_digest(empty));
}

/* Whoever has the text can compute the digest; names of secrets are not in it, nor what the machine adds. */
static void text_of_digest(void **state)
{
	(void)state;
	char digest[DIGEST_HEX_SIZE];
	setenv("STATE_DIRECTORY", "/var/lib/of-this-machine", 1);
	_cleanup_(config_cleanup) struct config *config =
		load(JUDGE("api_key_file = \"/name/of/secret\";") "pipeline: { workers = 3; };");
	unsetenv("STATE_DIRECTORY");
	str_t text = config_text(config);
	hash_sha256_hex(text.ptr, text.len, digest);
	assert_string_equal(config_digest(config), digest);
	assert_string_equal(config->pipeline.state_directory, "/var/lib/of-this-machine");
	assert_non_null(strstr(text.ptr, "\npipeline.workers=3\n"));
	assert_null(strstr(text.ptr, "/name/of/secret"));
	assert_null(strstr(text.ptr, "of-this-machine"));
	assert_non_null(strstr(text.ptr, "\nkafka.instance_id=none\n"));
}

static int made;

static void make_group(const struct config *config, struct buf *out)
{
	made++;
	buf_printf(out, "of %s", config->kafka.group_id);
}

static void a_text_is_derived_once(void **state)
{
	(void)state;
	_cleanup_(config_cleanup) struct config *one = load("kafka: { group_id = \"a\"; };");
	_cleanup_(config_cleanup) struct config *other = load("kafka: { group_id = \"b\"; };");
	for (int i = 0; i < 3; i++) {
		assert_string_equal(config_derived(one, make_group).ptr, "of a");
		assert_string_equal(config_derived(other, make_group).ptr, "of b");
	}
	assert_int_equal(made, 2);
}

static void restart_needed(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after, *names;
		size_t count;
	} cases[] = {
		{ "", "", "", 0 },
		{ "", "log: { level = \"debug\"; }; confidence: { thresholds: { high = 0.95; }; };", "", 0 },
		{ "", "kafka: { group_id = \"b\"; }; pipeline: { workers = 3; };",
		  "kafka.group_id, pipeline.workers", 2 },
		{ JUDGE(""), JUDGE("sample_rate = 0.5; max_in_flight = 1;"), "", 0 },
		{ JUDGE(""), JUDGE("api_key_file = \"/k\";"), "judge.api_key_file", 1 },
		{ "", JUDGE(""), "judge", 1 },
		{ JUDGE(""), JUDGES(ONE("")), "judge, judges", 2 },
		{ JUDGES(ONE("") "," TWO("")),
		  JUDGES(ONE("timeout_ms = 500;") "," TWO("tokens_per_day = 1;")), "", 0 },
		{ JUDGES(ONE("")), JUDGES(ONE("")) "panel: { sample_rate = 0.5; unsafe = true; };", "", 0 },
		{ JUDGES(ONE("")), JUDGES(ONE("")) "panel: { cache_wait_ms = 9; };", "panel.cache_wait_ms",
		  1 },
		{ JUDGES(ONE("") "," TWO("")), JUDGES(ONE("")), "judges", 1 },
		{ JUDGES(ONE("") "," TWO("")), JUDGES(TWO("") "," ONE("")),
		  "judges[0].name, judges[0].base_url, judges[1].name, judges[1].base_url", 4 },
		{ "", PG(""), "targets", 1 },
		{ PG(""), PG("max_rows = 5;"), "targets[0].max_rows", 1 },
		{ "kafka: { properties = ( \"a=b\" ); };", "kafka: { properties = ( \"a=c\" ); };",
		  "kafka.properties", 1 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(config_cleanup) struct config *before = load(cases[i].before);
		_cleanup_(config_cleanup) struct config *after = load(cases[i].after);
		_cleanup_(buf_free) struct buf names = BUF_INIT;
		assert_int_equal(config_restart_needed(before, after, &names), cases[i].count);
		assert_string_equal(buf_str(&names).ptr, cases[i].names);
	}
}

static void several_judges(void **state)
{
	(void)state;
	size_t count;
	_cleanup_(config_cleanup) struct config *none = load("");
	_cleanup_(config_cleanup) struct config *alone = load(JUDGE("sample_rate = 0.5; cache_wait_ms = 7;"));
	_cleanup_(config_cleanup) struct config *list = load(JUDGES(ONE("max_in_flight = 3;") "," TWO(
		"provider = \"anthropic\"; prompt_token_price = 2;")) "panel: { sample_rate = 0.25; "
								      "always_below = \"HIGH_CONFIDENCE\"; "
								      "unsafe = true;"
								      "cache_dsn = \"\"; cache_retention_s = "
								      "61; };");
	config_judges(none, &count);
	assert_int_equal(count, 0);
	assert_ptr_equal(config_judges(alone, &count), &alone->judge);
	assert_int_equal(count, 1);
	assert_null(alone->judge.name);
	assert_ptr_equal(config_judge_named(alone, NULL), &alone->judge);
	assert_null(config_judge_named(alone, "one"));
	assert_number(config_judging(alone).sample_rate, 0.5);
	assert_int_equal(config_judging(alone).cache_wait_ms, 7);
	const struct config_judge *judges = config_judges(list, &count);
	assert_int_equal(count, 2);
	assert_string_equal(judges[0].name, "one");
	assert_int_equal(judges[0].max_in_flight, 3);
	assert_int_equal(judges[0].timeout_ms, 30000);
	assert_int_equal(judges[1].provider, CONFIG_ANTHROPIC);
	assert_ptr_equal(config_judge_named(list, "two"), &judges[1]);
	assert_null(config_judge_named(list, "three"));
	const struct config_panel judging = config_judging(list);
	assert_number(judging.sample_rate, 0.25);
	assert_int_equal(judging.always_below, CONFIG_HIGH);
	assert_true(judging.unsafe);
	assert_string_equal(judging.cache_dsn, "");
	assert_int_equal(judging.cache_retention_s, 61);
	assert_int_equal(judging.cache_wait_ms, 2000);
	_cleanup_(config_cleanup) struct config *plain = load(JUDGES(ONE("")));
	assert_number(config_judging(plain).sample_rate, 1);
	assert_int_equal(config_judging(plain).always_below, CONFIG_LOW);
}

static void references(void **state)
{
	(void)state;
	struct config *config = load("");
	struct config *again = config_ref(config);
	assert_ptr_equal(config, again);
	config_unref(config);
	assert_string_equal(again->kafka.group_id, "assayd");
	config_unref(again);
	config_unref(NULL);
}

static void state_directory_of_systemd(void **state)
{
	(void)state;
	setenv("STATE_DIRECTORY", "/var/lib/assayd:/var/lib/other", 1);
	_cleanup_(config_cleanup) struct config *config = load("");
	_cleanup_(config_cleanup) struct config *chosen = load("pipeline: { state_directory = \"/x\"; };");
	unsetenv("STATE_DIRECTORY");
	assert_string_equal(config->pipeline.state_directory, "/var/lib/assayd");
	assert_string_equal(chosen->pipeline.state_directory, "/x");
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		count++;
	return count;
}

/* The file that is installed, as it is and with all that is commented out put in. */
static void installed_file_loads(void **state)
{
	(void)state;
	_cleanup_(cleanup_free) char *text = slurp(ASSAYD_SOURCE_DIR "/conf/assayd.conf");
	_cleanup_(config_cleanup) struct config *plain = load(text);
	assert_false(plain->judge.configured);
	for (char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		if (*at == '#' && at[1] != ' ' && at[1] != '\n')
			*at = ' ';
	}
	_cleanup_(config_cleanup) struct config *full = load(text);
	assert_true(full->judge.configured);
	assert_true(full->calibration.configured);
	assert_true(full->targets_count > 0);
	assert_int_equal(full->targets_count, count_of(text, "engine = \""));
	assert_number(full->judge.sample_rate, 0.1);
}

static void reference_is_complete(void **state)
{
	(void)state;
	static const char *const parts[] = {
		".SS kafka\n",
		".SS retrieval.weights\n",
		".B workers\n(whole number 1 to 256 threads; default 2)\n",
		".B delivery\n(one of exactly_once, at_least_once; default \"exactly_once\")\n",
		".B base_url\n(text; required)\n",
		"As in judge: provider, base_url, model, ",
		"As in judge: sample_rate, always_below, ",
		"; default 1.0; reloadable)\n",
		".B factors\n(list of any of technical, advisory, retrieval, generator, agreement, "
		"retrieval_without_advisory; default ",
	};
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	config_print_reference(out);
	fclose(out);
	for (size_t i = 0; i < COUNT(parts); i++) {
		if (!strstr(text, parts[i]))
			fail_msg("the reference lacks: %s", parts[i]);
	}
	assert_null(strstr(text, ".B password\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_for_kafka),
		cmocka_unit_test(documented_example_loads),
		cmocka_unit_test(defaults),
		cmocka_unit_test(target_and_judge_defaults),
		cmocka_unit_test(values_of_every_type),
		cmocka_unit_test(bad_files_are_explained),
		cmocka_unit_test(files_that_cannot_be_read),
		cmocka_unit_test(detail_may_be_missing),
		cmocka_unit_test(digest),
		cmocka_unit_test(text_of_digest),
		cmocka_unit_test(a_text_is_derived_once),
		cmocka_unit_test(restart_needed),
		cmocka_unit_test(several_judges),
		cmocka_unit_test(references),
		cmocka_unit_test(state_directory_of_systemd),
		cmocka_unit_test(installed_file_loads),
		cmocka_unit_test(reference_is_complete),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
