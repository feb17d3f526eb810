/* The program: one binary, a command each. */
#include "app.h"
#include "command/calibration.h"
#include "command/check.h"
#include "command/score.h"
#include "common/log.h"
#include "common/memory.h"
#include "options.h"
#include "target/target.h"

#include <curl/curl.h>
#include <signal.h>

static err_t dispatch(const struct options *options, struct err_detail *detail)
{
	switch (options->command) {
	case COMMAND_RUN:
		return app_run(options->config_file, detail);
	case COMMAND_SCORE:
		return score_run(&(const struct score_options){ .config_file = options->config_file,
								.catalog_file = options->catalog_file,
								.for_people = isatty(STDOUT_FILENO) &&
									      !options->json },
				 detail);
	case COMMAND_CHECK:
		return check_run(options->config_file, detail);
	case COMMAND_CALIBRATION:
		return calibration_run(
			&(const struct calibration_options){ .config_file = options->config_file,
							     .action = options->rebuild	 ? CALIBRATION_REBUILD
								       : options->verify ? CALIBRATION_VERIFY
											 : CALIBRATION_REPORT,
							     .window = options->window,
							     .application = options->application,
							     .json = options->json },
			detail);
	case COMMAND_HELP:
		fputs(options_help, stdout);
		return ERR_OK;
	case COMMAND_VERSION:
		puts("assayd " ASSAYD_VERSION);
		return ERR_OK;
	}
	return ERR_USAGE;
}

int main(int argc, char **argv)
{
	struct err_detail detail = { "" };
	struct options options = { .command = COMMAND_HELP };
	if (argc == 2 && strcmp(argv[1], "target-worker") == 0)
		return target_worker_main(3);
	memory_keep_freed();
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	err_t err = options_parse(argc, argv, &options, &detail);
	if (!err)
		err = dispatch(&options, &detail);
	if (err && options.command == COMMAND_RUN) /* the journal gets to know how grave it is */
		log_write(LOG_LEVEL_CRITICAL, NULL, "%s", err_message(err, &detail));
	else if (err)
		fprintf(stderr, "assayd: %s\n", err_message(err, &detail));
	return err_exit_status(err);
}
