#include "service/options.h"

#include "common/buf.h"

#include <getopt.h>
#include <stddef.h>

const char options_help[] =
	"assayd scores the SQL that language models write.\n"
	"\n"
	"Usage:\n"
	"  assayd run --config FILE          the daemon: from Kafka to scored records and calibration\n"
	"  assayd score [--config FILE] [--catalog FILE.sql] [--json]\n"
	"                                    the same stages for JSON lines: one query in, one scored query "
	"out\n"
	"  assayd check --config FILE [--offline] [--strict]\n"
	"                                    reach everything that a configuration names and say what is "
	"wrong;\n"
	"                                    --offline: the file alone; --strict: warnings fail, too\n"
	"  assayd calibration --config FILE [--window 1h|24h|7d] [--application NAME]\n"
	"                     [--accuracy SHARE] [--json]\n"
	"                                    how well confidence predicts correctness, and from which\n"
	"                                    threshold on that share is right\n"
	"  assayd calibration --config FILE --model [--json]\n"
	"                                    what the learnt probability has learnt, and how good it is\n"
	"  assayd calibration --config FILE --documents [--window 24h|7d] [--application NAME] [--json]\n"
	"                                    which documents of the retrieval come with wrong answers\n"
	"  assayd calibration --config FILE --replay RECORDS|--replay-topic [--window 1h|24h|7d]\n"
	"                     [--model-version N] [--accuracy SHARE] [--json]\n"
	"                                    what that configuration and model would have said of past\n"
	"                                    records\n"
	"  assayd calibration --config FILE --verify|--rebuild [--dry-run] [--json]\n"
	"                                    compare the calibration with its log, or count it anew;\n"
	"                                    --dry-run: say what a rebuild would change\n"
	"  assayd tail [TOPIC] --config FILE [--level HIGH|MEDIUM|LOW|VERY_LOW]\n"
	"              [--action USE|USE_WITH_CAUTION|VERIFY|WITHHOLD] [--application NAME]\n"
	"              [--since SPAN] [--once] [--json]\n"
	"                                    an output topic (scored, advisories, dead-letters, feedback) as "
	"it\n"
	"                                    goes on\n"
	"  assayd show EVENT_ID --config FILE [--since SPAN] [--json]\n"
	"                                    all that the topics have of one event\n"
	"  assayd top --config FILE [--once] [--json]\n"
	"                                    the status page of the running daemon, on a terminal\n"
	"  assayd produce [FILE...] --config FILE [--dry-run] [--json]\n"
	"                                    events as JSON lines, from files or standard input, into the\n"
	"                                    input topic; --dry-run: only check them\n"
	"  assayd redrive --config FILE [--reason CODE] [--all] [--event-id ID] [--since SPAN|TIME]\n"
	"                 [--until SPAN|TIME] [--limit N] [--max-redrives N] [--dry-run] [--json]\n"
	"                                    dead letters back into the input topic, each once, when what\n"
	"                                    made them so is mended; --dry-run: say what would be done\n"
	"  assayd config digest FILE         the digest by which records name that configuration\n"
	"  assayd audit show DIGEST|model:N|list|check --config FILE\n"
	"                                    what records name by that digest, from the archive\n"
	"  assayd audit key NAME [--output FILE]\n"
	"                                    makes a key that signs the tamper-evident log\n"
	"  assayd audit begin-again --config FILE --partition N --reason TEXT\n"
	"                                    has a stopped log go on with another history of the topic\n"
	"  assayd audit recompute RECORDS|- --config FILE [--analyse] [--json]\n"
	"  assayd audit recompute --topic --config FILE [--analyse] [--json]\n"
	"                                    compute past records again and say what differs;\n"
	"                                    --analyse: the SQL itself, too\n"
	"  assayd audit verify [--config FILE] [--key KEY|FILE] [--checkpoints FILE] [--export FILE]\n"
	"                      [--no-database] [--all-covered] [--all-kept] [--json]\n"
	"                                    holds the scored topic, or an export of it, against the signed\n"
	"                                    checkpoints of its log, and says which records differ\n"
	"  assayd audit export --config FILE [--no-database]\n"
	"                                    the records of the scored topic as JSON lines\n"
	"  assayd audit prove EVENT_ID --config FILE [--partition N] [--key KEY|FILE] [--output FOLDER]\n"
	"                                    files that prove that records of an event are in the log\n"
	"  assayd --help, --version\n"
	"\n"
	"Exit status: 0 when all went well, else of sysexits.h (64 usage, 65 data, 66 no input, 69 "
	"unavailable,\n"
	"74 output failed, 75 try again, 78 configuration).\n";

struct command_options {
	const char *name; /* one word, or two */
	enum command command;
	bool needs_config;
	const char *flags;   /* values of long_options that it has */
	const char *operand; /* what it is about besides, for people; in brackets: it may be left out; with
				dots: there may be several; NULL: nothing */
};

static const struct command_options commands[] = {
	{ "run", COMMAND_RUN, true, "chV", NULL },
	{ "score", COMMAND_SCORE, false, "csjhV", NULL },
	{ "check", COMMAND_CHECK, true, "cothV", NULL },
	{ "calibration", COMMAND_CALIBRATION, true, "cwaymDpknjvrdhV", NULL },
	{ "tail", COMMAND_TAIL, true, "clubaejhV", "[TOPIC]" },
	{ "show", COMMAND_SHOW, true, "cejhV", "EVENT_ID" },
	{ "top", COMMAND_TOP, true, "cbjhV", NULL },
	{ "produce", COMMAND_PRODUCE, true, "cdjhV", "[FILE...]" },
	{ "redrive", COMMAND_REDRIVE, true, "cRBIeiLMdjhV", NULL },
	{ "audit show", COMMAND_AUDIT_SHOW, true, "chV", "DIGEST" },
	{ "audit recompute", COMMAND_AUDIT_RECOMPUTE, true, "cjTAhV", "records, as a file, - or --topic" },
	{ "config digest", COMMAND_CONFIG_DIGEST, false, "hV", "FILE" },
	{ "audit key", COMMAND_AUDIT_KEY, false, "OhV", "NAME" },
	{ "audit begin-again", COMMAND_AUDIT_BEGIN_AGAIN, true, "cPRhV", NULL },
	{ "audit verify", COMMAND_AUDIT_VERIFY, false, "cKCXNGEjhV", NULL },
	{ "audit export", COMMAND_AUDIT_EXPORT, true, "cNhV", NULL },
	{ "audit prove", COMMAND_AUDIT_PROVE, true, "cPKOhV", "EVENT_ID" },
};

static const struct option long_options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "catalog", required_argument, NULL, 's' },
	{ "window", required_argument, NULL, 'w' },
	{ "application", required_argument, NULL, 'a' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "verify", no_argument, NULL, 'v' },
	{ "rebuild", no_argument, NULL, 'r' },
	{ "dry-run", no_argument, NULL, 'd' },
	{ "offline", no_argument, NULL, 'o' },
	{ "strict", no_argument, NULL, 't' },
	{ "accuracy", required_argument, NULL, 'y' },
	{ "model", no_argument, NULL, 'm' },
	{ "documents", no_argument, NULL, 'D' },
	{ "replay", required_argument, NULL, 'p' },
	{ "model-version", required_argument, NULL, 'n' },
	{ "replay-topic", no_argument, NULL, 'k' },
	{ "output", required_argument, NULL, 'O' },
	{ "partition", required_argument, NULL, 'P' },
	{ "reason", required_argument, NULL, 'R' },
	{ "level", required_argument, NULL, 'l' },
	{ "action", required_argument, NULL, 'u' },
	{ "since", required_argument, NULL, 'e' },
	{ "until", required_argument, NULL, 'i' },
	{ "limit", required_argument, NULL, 'L' },
	{ "max-redrives", required_argument, NULL, 'M' },
	{ "event-id", required_argument, NULL, 'I' },
	{ "all", no_argument, NULL, 'B' },
	{ "once", no_argument, NULL, 'b' },
	{ "topic", no_argument, NULL, 'T' },
	{ "analyse", no_argument, NULL, 'A' },
	{ "key", required_argument, NULL, 'K' },
	{ "checkpoints", required_argument, NULL, 'C' },
	{ "export", required_argument, NULL, 'X' },
	{ "no-database", no_argument, NULL, 'N' },
	{ "all-covered", no_argument, NULL, 'G' },
	{ "all-kept", no_argument, NULL, 'E' },
	{ NULL, 0, NULL, 0 },
};

static const char *long_name(int flag)
{
	const struct option *option = long_options;
	while (option->val != flag)
		option++;
	return option->name;
}

/* Where values and switches go. */
static const struct {
	char flag;
	size_t member;
} text_flags[] = {
	{ 'c', offsetof(struct options, config_file) },
	{ 's', offsetof(struct options, catalog_file) },
	{ 'w', offsetof(struct options, window) },
	{ 'a', offsetof(struct options, application) },
	{ 'y', offsetof(struct options, accuracy) },
	{ 'p', offsetof(struct options, records) },
	{ 'n', offsetof(struct options, model_version) },
	{ 'l', offsetof(struct options, level) },
	{ 'u', offsetof(struct options, action) },
	{ 'e', offsetof(struct options, since) },
	{ 'X', offsetof(struct options, export_file) },
	{ 'P', offsetof(struct options, partition) },
	{ 'i', offsetof(struct options, until) },
	{ 'L', offsetof(struct options, limit) },
	{ 'M', offsetof(struct options, max_redrives) },
	{ 'O', offsetof(struct options, output) },
}, switch_flags[] = {
	{ 'k', offsetof(struct options, replays_topic) },
	{ 'T', offsetof(struct options, topic) },
	{ 'A', offsetof(struct options, analyse) },
	{ 'b', offsetof(struct options, once) },
	{ 'B', offsetof(struct options, all) },
	{ 'm', offsetof(struct options, model) },
	{ 'N', offsetof(struct options, no_database) },
	{ 'G', offsetof(struct options, all_covered) },
	{ 'E', offsetof(struct options, all_kept) },
	{ 'D', offsetof(struct options, documents) },
	{ 'j', offsetof(struct options, json) },
	{ 'v', offsetof(struct options, verify) },
	{ 'r', offsetof(struct options, rebuild) },
	{ 'd', offsetof(struct options, dry_run) },
	{ 'o', offsetof(struct options, offline) },
	{ 't', offsetof(struct options, strict) },
};

static void set_flag(struct options *options, int flag)
{
	char *base = (char *)options;
	for (size_t i = 0; i < sizeof text_flags / sizeof *text_flags; i++)
		if (text_flags[i].flag == flag)
			*(const char **)(void *)(base + text_flags[i].member) = optarg;
	for (size_t i = 0; i < sizeof switch_flags / sizeof *switch_flags; i++)
		if (switch_flags[i].flag == flag)
			*(bool *)(void *)(base + switch_flags[i].member) = true;
	if (flag == 'K')
		options->keys[options->keys_count++] = optarg;
	if (flag == 'R')
		options->reasons[options->reasons_count++] = optarg;
	if (flag == 'I')
		options->event_ids[options->event_ids_count++] = optarg;
	if (flag == 'C')
		options->checkpoints[options->checkpoints_count++] = optarg;
	if (flag == 'h' || flag == 'V')
		options->command = flag == 'h' ? COMMAND_HELP : COMMAND_VERSION;
}

/* What getopt_long did not take; `argument` is the last one that it looked at. */
static err_t fail_flag(int flag, const char *argument, struct err_detail *detail)
{
	bool is_long = strncmp(argument, "--", 2) == 0;
	if (flag == ':')
		return err_fail(detail, ERR_USAGE, "%s needs a value; see assayd --help", argument);
	if (is_long && optopt)
		return err_fail(detail, ERR_USAGE, "--%s takes no value; see assayd --help",
				long_name(optopt));
	if (is_long)
		return err_fail(detail, ERR_USAGE, "unknown option %s; see assayd --help", argument);
	return err_fail(detail, ERR_USAGE, "unknown option -%c; see assayd --help", optopt);
}

/* A set of options, as far as they are given. */
struct given {
	const char *name;
	bool is;
};

/* The first of the options that the action does not have. */
static err_t check_action(const char *action, const struct given *others, size_t count,
			  struct err_detail *detail)
{
	for (size_t i = 0; i < count; i++)
		if (others[i].is)
			return err_fail(detail, ERR_USAGE, "--%s goes without --%s; see assayd --help",
					action, others[i].name);
	return ERR_OK;
}

/* What `assayd calibration` does is one of several things; each has options of its own. */
static err_t check_together(const struct options *options, struct err_detail *detail)
{
	const struct given window = { "window", options->window },
			   application = { "application", options->application },
			   accuracy = { "accuracy", options->accuracy }, model = { "model", options->model },
			   replay = { "replay", options->records },
			   topic = { "replay-topic", options->replays_topic },
			   version = { "model-version", options->model_version },
			   documents = { "documents", options->documents };
	const struct given others[] = { window, application, version, accuracy,
					model,	replay,	     topic,   documents };
	if (options->command == COMMAND_CALIBRATION && options->dry_run && !options->rebuild)
		return err_fail(detail, ERR_USAGE, "--dry-run needs --rebuild; see assayd --help");
	if (options->verify && options->rebuild)
		return err_fail(detail, ERR_USAGE, "--verify and --rebuild exclude each other");
	if (options->verify || options->rebuild)
		return check_action(options->verify ? "verify" : "rebuild", others, 8, detail);
	if (options->records)
		return check_action("replay",
				    (const struct given[]){ window, application, model, topic, documents }, 5,
				    detail);
	if (options->replays_topic)
		return check_action("replay-topic", (const struct given[]){ application, model, documents },
				    3, detail);
	if (options->model_version)
		return err_fail(detail, ERR_USAGE,
				"--model-version needs --replay or --replay-topic; see assayd --help");
	if (options->documents)
		return check_action("documents", (const struct given[]){ accuracy, model }, 2, detail);
	return options->model ? check_action("model", others, 4, detail) : ERR_OK;
}

/* Whether the command takes one more operand. */
static bool takes_operand(const struct command_options *command, const struct options *options)
{
	if (!command->operand || options->operands_count == OPTIONS_OPERANDS_MAX)
		return false;
	return options->operands_count == 0 || strstr(command->operand, "...");
}

static void take_operand(struct options *options, char **argv)
{
	options->operand = options->operands[options->operands_count++] = argv[optind++];
}

/* The next option; false: there is none. An operand that the command has may stand before, among or behind.
 */
static bool next_flag(const struct command_options *command, int argc, char **argv, struct options *options,
		      int *ret_flag)
{
	for (;;) {
		bool ended = optind < argc && strcmp(argv[optind], "--") == 0;
		if (ended) { /* what follows is an operand, whatever it begins with */
			optind++;
			while (optind < argc && takes_operand(command, options))
				take_operand(options, argv);
			return false;
		}
		*ret_flag = getopt_long(argc, argv, "+:c:hV", long_options, NULL);
		if (*ret_flag != -1)
			return true;
		if (optind >= argc || !takes_operand(command, options))
			return false;
		take_operand(options, argv);
	}
}

static err_t parse_flags(const struct command_options *command, int argc, char **argv,
			 struct options *options, struct err_detail *detail)
{
	int flag;
	opterr = 0;
	optind = 1;
	while (next_flag(command, argc, argv, options, &flag)) {
		if (flag == ':' || flag == '?')
			return fail_flag(flag, argv[optind - 1], detail);
		if (!strchr(command->flags, flag))
			return err_fail(detail, ERR_USAGE, "assayd %s has no option --%s; see assayd --help",
					command->name, long_name(flag));
		if (flag == 'p' && options->records)
			return err_fail(detail, ERR_USAGE,
					"--replay is given twice and reads one file; write the records of "
					"several to standard input, with --replay -");
		if (flag == 'y' && options->accuracy)
			return err_fail(detail, ERR_USAGE, "--accuracy is given twice; see assayd --help");
		if (flag == 'K' && options->keys_count == OPTIONS_KEYS_MAX)
			return err_fail(detail, ERR_USAGE,
					"--key is given more than %d times; name a file of them",
					OPTIONS_KEYS_MAX);
		if (flag == 'C' && options->checkpoints_count == OPTIONS_CHECKPOINTS_MAX)
			return err_fail(detail, ERR_USAGE,
					"--checkpoints is given more than %d times; put files one behind the "
					"other",
					OPTIONS_CHECKPOINTS_MAX);
		if ((flag == 'R' && options->reasons_count == OPTIONS_REASONS_MAX) ||
		    (flag == 'I' && options->event_ids_count == OPTIONS_EVENT_IDS_MAX))
			return err_fail(detail, ERR_USAGE, "--%s is given more than %d times",
					long_name(flag),
					flag == 'R' ? OPTIONS_REASONS_MAX : OPTIONS_EVENT_IDS_MAX);
		set_flag(options, flag);
	}
	if (optind < argc && command->command == COMMAND_SCORE)
		return err_fail(detail, ERR_USAGE,
				"\"%s\" is too much: events come on standard input, one a line, as {\"sql\": "
				"\"SELECT …\"}; see assayd --help",
				argv[optind]);
	if (optind < argc)
		return err_fail(detail, ERR_USAGE, "\"%s\" is too much; see assayd --help", argv[optind]);
	return check_together(options, detail);
}

static bool is_flag(const char *argument, const char *longer, const char *shorter)
{
	return strcmp(argument, longer) == 0 || strcmp(argument, shorter) == 0;
}

/* How many arguments the command's name takes; 0: they are another one. */
static int match_command(const struct command_options *command, int argc, char **argv)
{
	size_t len = strcspn(command->name, " ");
	const char *second = command->name[len] ? command->name + len + 1 : NULL;
	if (strlen(argv[1]) != len || memcmp(argv[1], command->name, len) != 0)
		return 0;
	if (!second)
		return 1;
	return argc > 2 && strcmp(argv[2], second) == 0 ? 2 : 0;
}

/* What is missing of what was given. */
static err_t check_given(const struct command_options *command, const struct options *options,
			 struct err_detail *detail)
{
	if (options->command != command->command) /* help or version */
		return ERR_OK;
	if (options->topic && options->operand)
		return err_fail(detail, ERR_USAGE, "--topic goes without \"%s\"; see assayd --help",
				options->operand);
	if (command->operand && command->operand[0] != '[' && !options->operand && !options->topic)
		return err_fail(detail, ERR_USAGE, "assayd %s needs %s; see assayd --help", command->name,
				command->operand);
	if (command->command == COMMAND_SHOW && !*options->operand)
		return err_fail(detail, ERR_USAGE, "EVENT_ID is empty: no event has that");
	for (size_t i = 0; i < options->event_ids_count; i++)
		if (!*options->event_ids[i])
			return err_fail(detail, ERR_USAGE, "--event-id is empty: no event has that");
	if (command->needs_config && !options->config_file)
		return err_fail(detail, ERR_USAGE, "assayd %s needs --config FILE", command->name);
	if (command->command == COMMAND_AUDIT_VERIFY && !options->config_file &&
	    (!options->export_file || !options->checkpoints_count || !options->keys_count))
		return err_fail(
			detail, ERR_USAGE,
			"assayd %s needs --config FILE, or --export, --checkpoints and --key; see assayd "
			"--help",
			command->name);
	if (command->command == COMMAND_AUDIT_BEGIN_AGAIN &&
	    (!options->partition || !options->reasons_count ||
	     !*options->reasons[options->reasons_count - 1]))
		return err_fail(detail, ERR_USAGE,
				"assayd %s needs --partition N and --reason TEXT; see assayd --help",
				command->name);
	return ERR_OK;
}

/* A command that there is not; of those of two words, what the first one has. */
static err_t fail_command(int argc, char **argv, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf seconds = BUF_INIT;
	size_t len = strlen(argv[1]);
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (strncmp(commands[i].name, argv[1], len) == 0 && commands[i].name[len] == ' ')
			buf_printf(&seconds, "%s%s", seconds.len ? ", " : "", commands[i].name + len + 1);
	if (!seconds.len)
		return err_fail(detail, ERR_USAGE, "unknown command \"%s\"; see assayd --help", argv[1]);
	if (argc < 3 || argv[2][0] == '-')
		return err_fail(detail, ERR_USAGE, "assayd %s needs one of: %s; see assayd --help", argv[1],
				seconds.data);
	return err_fail(detail, ERR_USAGE, "assayd %s has no \"%s\", it has: %s; see assayd --help", argv[1],
			argv[2], seconds.data);
}

err_t options_parse(int argc, char **argv, struct options *ret_options, struct err_detail *detail)
{
	struct options options = { .command = COMMAND_HELP };
	if (argc < 2)
		return err_fail(detail, ERR_USAGE, "a command is missing; see assayd --help");
	if (is_flag(argv[1], "--help", "-h") || is_flag(argv[1], "--version", "-V")) {
		options.command = is_flag(argv[1], "--help", "-h") ? COMMAND_HELP : COMMAND_VERSION;
		*ret_options = options;
		return ERR_OK;
	}
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		const struct command_options *command = &commands[i];
		int words = match_command(command, argc, argv);
		if (words == 0)
			continue;
		options.command = command->command;
		err_t err = parse_flags(command, argc - words, argv + words, &options, detail);
		if (!err)
			err = check_given(command, &options, detail);
		if (err)
			return err;
		*ret_options = options;
		return ERR_OK;
	}
	if (argv[1][0] == '-')
		return err_fail(detail, ERR_USAGE, "a command comes before the options; see assayd --help");
	return fail_command(argc, argv, detail);
}
