/* The program: one binary, a command each. */
#include "address/environment.h"
#include "address/mongodb_dsn.h"
#include "command/audit_begin_again.h"
#include "command/audit_export.h"
#include "command/audit_key.h"
#include "command/audit_prove.h"
#include "command/audit_recompute.h"
#include "command/audit_show.h"
#include "command/audit_verify.h"
#include "command/calibration.h"
#include "command/check.h"
#include "command/config_digest.h"
#include "command/produce.h"
#include "command/redrive.h"
#include "command/score.h"
#include "command/show.h"
#include "command/tail.h"
#include "command/top.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/output.h"
#include "common/terminal.h"
#include "kafka/client.h"
#include "service/app.h"
#include "service/options.h"
#include "target/target.h"

#include <curl/curl.h>
#include <signal.h>

/* "audit" has commands of its own. */
static err_t dispatch_audit(const struct options *options, struct err_detail *detail)
{
	switch (options->command) {
	case COMMAND_AUDIT_SHOW:
		return audit_show_run(options->config_file, options->operand, detail);
	case COMMAND_AUDIT_BEGIN_AGAIN:
		return audit_begin_again_run(options->config_file, options->partition,
					     options->reasons[options->reasons_count - 1], detail);
	case COMMAND_AUDIT_VERIFY:
		return audit_verify_run(
			&(const struct audit_verify_options){ .config_file = options->config_file,
							      .keys = options->keys,
							      .keys_count = options->keys_count,
							      .checkpoints = options->checkpoints,
							      .checkpoints_count = options->checkpoints_count,
							      .export_file = options->export_file,
							      .no_database = options->no_database,
							      .all_covered = options->all_covered,
							      .all_kept = options->all_kept,
							      .json = options->json },
			detail);
	case COMMAND_AUDIT_EXPORT:
		return audit_export_run(options->config_file, options->no_database, detail);
	case COMMAND_AUDIT_PROVE:
		return audit_prove_run(
			&(const struct audit_prove_options){ .config_file = options->config_file,
							     .event_id = options->operand,
							     .partition = options->partition,
							     .keys = options->keys,
							     .keys_count = options->keys_count,
							     .folder = options->output },
			detail);
	case COMMAND_AUDIT_KEY:
		return audit_key_run(options->operand, options->output, detail);
	case COMMAND_AUDIT_RECOMPUTE:
		return audit_recompute_run(
			&(const struct audit_recompute_options){ .config_file = options->config_file,
								 .records = options->operand,
								 .analyse = options->analyse,
								 .json = options->json },
			detail);
	default:
		return ERR_USAGE;
	}
}

/* Whether standard output obeys escape sequences. */
static bool obeys(void)
{
	const char *terminal = getenv("TERM");
	return isatty(STDOUT_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0);
}

/* See https://no-color.org. */
static bool has_colours(void)
{
	const char *none = getenv("NO_COLOR");
	return obeys() && !(none && *none);
}

/* What shows topics and the daemon, and what puts events into topics. */
static err_t dispatch_tool(const struct options *options, struct err_detail *detail)
{
	switch (options->command) {
	case COMMAND_TAIL:
		return tail_run(&(const struct tail_options){ .config_file = options->config_file,
							      .topic = options->operand,
							      .level = options->level,
							      .action = options->action,
							      .application = options->application,
							      .since = options->since,
							      .json = options->json,
							      .once = options->once,
							      .to_terminal = isatty(STDOUT_FILENO),
							      .colours = has_colours() },
				detail);
	case COMMAND_SHOW:
		return show_run(&(const struct show_options){ .config_file = options->config_file,
							      .event_id = options->operand,
							      .since = options->since,
							      .json = options->json,
							      .to_terminal = isatty(STDOUT_FILENO) },
				detail);
	case COMMAND_TOP:
		return top_run(&(const struct top_options){ .config_file = options->config_file,
							    .once = options->once,
							    .json = options->json,
							    .to_terminal = isatty(STDOUT_FILENO),
							    .live = obeys(),
							    .colours = has_colours() },
			       detail);
	case COMMAND_PRODUCE:
		return produce_run(&(const struct produce_options){ .config_file = options->config_file,
								    .files = options->operands,
								    .files_count = options->operands_count,
								    .dry_run = options->dry_run,
								    .json = options->json,
								    .to_terminal = isatty(STDOUT_FILENO) },
				   detail);
	case COMMAND_REDRIVE:
		return redrive_run(
			&(const struct redrive_options){ .config_file = options->config_file,
							 .reasons = options->reasons,
							 .reasons_count = options->reasons_count,
							 .event_ids = options->event_ids,
							 .event_ids_count = options->event_ids_count,
							 .since = options->since,
							 .until = options->until,
							 .limit = options->limit,
							 .max_redrives = options->max_redrives,
							 .all = options->all,
							 .dry_run = options->dry_run,
							 .json = options->json,
							 .to_terminal = isatty(STDOUT_FILENO) },
			detail);
	default:
		return dispatch_audit(options, detail);
	}
}

static err_t dispatch(const struct options *options, struct err_detail *detail)
{
	switch (options->command) {
	case COMMAND_RUN:
		return app_run(options->config_file, detail);
	case COMMAND_SCORE:
		return score_run(
			&(const struct score_options){ .config_file = options->config_file,
						       .catalog_file = options->catalog_file,
						       .interactive = isatty(STDOUT_FILENO) && !options->json,
						       .to_terminal = isatty(STDOUT_FILENO) },
			detail);
	case COMMAND_CHECK:
		return check_run(&(const struct check_options){ .config_file = options->config_file,
								.offline = options->offline,
								.strict = options->strict },
				 detail);
	case COMMAND_CALIBRATION:
		return calibration_run(
			&(const struct calibration_options){
				.config_file = options->config_file,
				.action = options->rebuild			       ? CALIBRATION_REBUILD
					  : options->verify			       ? CALIBRATION_VERIFY
					  : options->model			       ? CALIBRATION_MODEL
					  : options->documents			       ? CALIBRATION_DOCUMENTS
					  : options->records || options->replays_topic ? CALIBRATION_REPLAY
										       : CALIBRATION_REPORT,
				.window = options->window,
				.application = options->application,
				.accuracy = options->accuracy,
				.records = options->records,
				.model_version = options->model_version,
				.dry_run = options->dry_run,
				.json = options->json },
			detail);
	case COMMAND_CONFIG_DIGEST:
		return config_digest_run(options->operand, detail);
	case COMMAND_HELP:
		fputs(options_help, stdout);
		return ERR_OK;
	case COMMAND_VERSION:
		puts("assayd " ASSAYD_VERSION);
		return ERR_OK;
	default:
		return dispatch_tool(options, detail);
	}
}

static void print_error(err_t err, const struct err_detail *detail)
{
	terminal_print_line(stderr, "assayd: %s", err_message(err, detail));
}

/* Whatever the command did: nobody got to know it if its output did not arrive. */
static err_t end_output(err_t err)
{
	struct err_detail detail = { "" };
	err_t output_err = err == ERR_IO ? ERR_OK : output_end(&detail);
	if (output_err)
		print_error(output_err, &detail);
	return output_err ? output_err : err;
}

int main(int argc, char **argv)
{
	struct err_detail detail = { "" };
	struct options options = { .command = COMMAND_HELP };
	mongodb_dsn_leave_nothing();
	if (argc == 2 && strcmp(argv[1], "target-worker") == 0)
		return target_worker_main(3);
	memory_keep_freed();
	environment_clean();
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	err_t err = options_parse(argc, argv, &options, &detail);
	if (!err)
		err = dispatch(&options, &detail);
	if (err && options.command == COMMAND_RUN) /* the journal gets to know how grave it is */
		log_write(LOG_LEVEL_CRITICAL, NULL, "%s", err_message(err, &detail));
	else if (err)
		print_error(err, &detail);
	err = end_output(err);
	if (kafka_clients_left()) { /* whose threads go on */
		fflush(NULL);
		_exit(err_exit_status(err));
	}
	return err_exit_status(err);
}
