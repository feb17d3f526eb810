#include "command/score.h"

#include "command/score_view.h"
#include "command/settings.h"
#include "common/log.h"
#include "common/terminal.h"
#include "event/pipeline.h"
#include "sql/postgresql/ddl/ddl.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>

enum { MAX_IN_FLIGHT = 256, CATALOG_WAIT_MS = 15000, CATALOG_FILE_BYTES = 64 << 20 };

/* Results come in any order and are printed in the order of their lines. */
struct scorer {
	const struct score_options *options;
	struct pipeline *pipeline;
	pthread_mutex_t mutex;
	pthread_cond_t printed;
	struct event *done[MAX_IN_FLIGHT]; /* by line modulo */
	uint64_t next_line;		   /* to be printed; from 0 */
	uint64_t next_submitted;
	int output_errno; /* why standard output could not be written, or 0 */
};

/* ---- output ---- */

static void render_error(const struct event *event, struct buf *out)
{
	json_t *object = json_pack("{s:{s:s,s:s%},s:I}", "error", "code", err_name(event->dead_reason),
				   "message", event->dead_detail.ptr, event->dead_detail.len, "line",
				   (json_int_t)event->sequence);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	if (!text)
		abort();
	buf_append_text(out, text);
	buf_append_char(out, '\n');
	free(text);
	json_decref(object);
}

static void render(const struct scorer *scorer, const struct event *event, struct buf *out)
{
	if (event->dead_reason) {
		render_error(event, out);
	} else if (scorer->options->interactive) {
		score_view(event->scored, event->advisory, out);
	} else {
		codec_json_scored(event->scored, out);
		buf_append_char(out, '\n');
	}
}

static void print_done(struct scorer *scorer)
{
	struct event *event;
	while ((event = scorer->done[scorer->next_line % MAX_IN_FLIGHT])) {
		_cleanup_(buf_free) struct buf rendered = BUF_INIT, shown = BUF_INIT;
		render(scorer, event, &rendered);
		if (scorer->options->to_terminal)
			terminal_append_lines(&shown, buf_str(&rendered));
		const struct buf line = scorer->options->to_terminal ? shown : rendered;
		if (fwrite(line.data, 1, line.len, stdout) != line.len || fflush(stdout) != 0)
			scorer->output_errno = errno ? errno : EIO;
		scorer->done[scorer->next_line % MAX_IN_FLIGHT] = NULL;
		scorer->next_line++;
		event_free(event);
	}
	pthread_cond_signal(&scorer->printed);
}

static void on_ready(struct event *event, void *context)
{
	struct scorer *scorer = context;
	pthread_mutex_lock(&scorer->mutex);
	scorer->done[(event->sequence - 1) % MAX_IN_FLIGHT] = event;
	print_done(scorer);
	pthread_mutex_unlock(&scorer->mutex);
}

/* ---- input ---- */

static bool wait_for_place(struct scorer *scorer, uint64_t most_open)
{
	pthread_mutex_lock(&scorer->mutex);
	while (scorer->next_submitted - scorer->next_line >= most_open && !scorer->output_errno)
		pthread_cond_wait(&scorer->printed, &scorer->mutex);
	bool going = !scorer->output_errno;
	pthread_mutex_unlock(&scorer->mutex);
	return going;
}

static void submit_line(struct scorer *scorer, const char *line, size_t len)
{
	struct event *event = pipeline_event(scorer->pipeline, (str_t){ line, len }, STR_NONE, NULL);
	pthread_mutex_lock(&scorer->mutex);
	event->sequence = ++scorer->next_submitted;
	pthread_mutex_unlock(&scorer->mutex);
	pipeline_submit(scorer->pipeline, event);
}

static err_t score_lines(struct scorer *scorer, struct err_detail *detail)
{
	_cleanup_(cleanup_free) char *line = NULL;
	size_t capacity = 0;
	ssize_t len;
	terminal_tell_waiting();
	while ((len = getline(&line, &capacity, stdin)) >= 0) {
		while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			len--;
		if (!wait_for_place(scorer, MAX_IN_FLIGHT))
			break;
		submit_line(scorer, line, (size_t)len);
	}
	wait_for_place(scorer, 1);
	if (scorer->output_errno)
		return err_fail(detail, ERR_IO, "standard output cannot be written: %s",
				strerror(scorer->output_errno));
	if (ferror(stdin))
		return err_fail(detail, ERR_IO, "standard input cannot be read: %s", strerror(errno));
	return ERR_OK;
}

/* ---- life ---- */

static err_t read_file(const char *path, struct buf *out, struct err_detail *detail)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	if (!file)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno));
	size_t got;
	while ((got = fread(buf_reserve(out, 65536), 1, 65536, file)) > 0 && out->len < CATALOG_FILE_BYTES)
		out->len += got;
	if (ferror(file) || out->len >= CATALOG_FILE_BYTES)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path,
				ferror(file) ? strerror(errno) : "larger than 64 MiB");
	out->data[out->len] = '\0';
	return ERR_OK;
}

static err_t load_catalog(const char *path, struct catalog **ret_catalog, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct err_detail reason = { "" };
	err_t err = read_file(path, &text, detail);
	if (err)
		return err;
	err = ddl_compile(buf_str(&text), ret_catalog, &reason);
	if (err)
		return err_fail(detail, err, "%s: %s", path, err_message(err, &reason));
	size_t count;
	const str_t *warnings = catalog_warnings(*ret_catalog, &count);
	for (size_t i = 0; i < count; i++)
		terminal_print_line(stderr, "assayd: %s: " STR_FMT ": the statement is left out", path,
				    STR_ARG(warnings[i]));
	return ERR_OK;
}

static err_t start_judge(const struct config *config, struct arena *arena, struct judge **ret_judge,
			 struct err_detail *detail)
{
	struct judge_settings *settings;
	size_t count = settings_judges(config, arena, &settings);
	for (size_t i = 0; i < count; i++)
		settings[i].wait_when_saturated = true;
	return count > 0 ? judge_start(settings, count, ret_judge, detail) : ERR_OK;
}

static err_t start_targets(const struct config *config, struct arena *arena, struct targets **ret_targets,
			   struct err_detail *detail)
{
	struct targets_options options;
	if (config->targets_count == 0)
		return ERR_OK;
	settings_targets(config, arena, &options);
	err_t err = targets_start(&options, ret_targets, detail);
	if (!err)
		targets_wait_catalogs(*ret_targets, CATALOG_WAIT_MS);
	return err;
}

static err_t run_pipeline(const struct pipeline_options *pipeline_options, struct scorer *scorer,
			  struct err_detail *detail)
{
	struct pipeline_options options = *pipeline_options;
	options.ready = on_ready;
	options.context = scorer;
	pthread_mutex_init(&scorer->mutex, NULL);
	pthread_cond_init(&scorer->printed, NULL);
	scorer->pipeline = pipeline_start(&options);
	return score_lines(scorer, detail);
}

DEFINE_CLEANUP(struct targets, targets_cleanup, targets_stop)
DEFINE_CLEANUP(struct judge, judge_cleanup, judge_stop)
DEFINE_CLEANUP(struct catalog, catalog_cleanup, catalog_unref)

err_t score_run(const struct score_options *options, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	_cleanup_(catalog_cleanup) struct catalog *catalog = NULL;
	_cleanup_(targets_cleanup) struct targets *targets = NULL;
	_cleanup_(judge_cleanup) struct judge *judge = NULL;
	const struct codec_options codec_options = { .output = WIRE_JSON };
	struct scorer scorer = { .options = options };

	log_set_level(LOG_LEVEL_WARNING);
	err_t err = config_load(options->config_file, &config, detail);
	if (!err)
		err = codec_new(&codec_options, &codec, detail);
	if (!err && options->catalog_file)
		err = load_catalog(options->catalog_file, &catalog, detail);
	if (!err)
		err = start_targets(config, arena, &targets, detail);
	if (!err)
		err = start_judge(config, arena, &judge, detail);
	if (err)
		return err;
	const struct pipeline_options pipeline_options = {
		.config = config,
		.codec = codec,
		.targets = targets,
		.judge = judge,
		.default_catalog = catalog,
		.workers = (unsigned)config->pipeline.workers,
		.lenient = true,
	};
	err = run_pipeline(&pipeline_options, &scorer, detail);
	/* an early end (output closed) leaves events with the branches: these answer first, then the workers
	 * stop */
	targets_close(targets);
	judge_close(judge);
	pipeline_close(scorer.pipeline);
	for (size_t i = 0; i < MAX_IN_FLIGHT; i++)
		event_free(scorer.done[i]);
	pipeline_stop(scorer.pipeline);
	return err;
}
