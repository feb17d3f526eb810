#include "command/top.h"

#include "command/http_get.h"
#include "command/interruption.h"
#include "command/settings.h"
#include "command/top_frame.h"
#include "common/output.h"
#include "common/terminal.h"

#include <sys/ioctl.h>
#include <time.h>

enum { ROUND_MS = 2000, COLUMNS = 100 };

#define HOME		"\x1b[H"
#define ERASE_REST	"\x1b[J"
#define ERASE_LINE_REST "\x1b[K"
/* without a cursor, and what is too wide is cut off: characters may take two columns */
#define OTHER_SCREEN  "\x1b[?1049h\x1b[?25l\x1b[?7l"
#define FORMER_SCREEN "\x1b[?7h\x1b[?25h\x1b[?1049l"

/* What the daemon that listens there answers. */
static err_t ask(const char *address, struct buf *ret_answer, struct err_detail *detail)
{
	struct err_detail reason = { "" };
	long status = 0;
	err_t err = http_get(address, "/status.json", ret_answer, &status, &reason);
	if (err)
		return err_fail(detail, err,
				"no answer at http://%s (http.listen): %s; start the daemon, or name its "
				"configuration",
				address, reason.message);
	if (status != 200)
		return err_fail(
			detail, ERR_HTTP_UNREACHABLE,
			"http://%s/status.json answers %ld: it is another program, or an older assayd",
			address, status);
	return ERR_OK;
}

static err_t read_status(const char *address, struct buf *answer, json_t **ret_status,
			 struct err_detail *detail)
{
	json_error_t error;
	err_t err = ask(address, answer, detail);
	if (err)
		return err;
	*ret_status = json_loadb(buf_str(answer).ptr, answer->len, 0, &error);
	if (!json_is_object(*ret_status)) {
		json_decref(*ret_status);
		*ret_status = NULL;
		return err_fail(detail, ERR_HTTP_UNREACHABLE,
				"http://%s/status.json is no JSON object: it is another program", address);
	}
	return ERR_OK;
}

static struct top_size terminal_size(const struct top_options *options)
{
	struct winsize found;
	struct top_size size = { .columns = COLUMNS, .colours = options->colours };
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) == 0 && found.ws_col > 0 && found.ws_row > 0) {
		size.columns = found.ws_col;
		size.rows = found.ws_row > 1 ? found.ws_row - 1U : 1;
	}
	return size;
}

/* Over the former frame, without flicker. */
static void draw(const struct buf *frame)
{
	fputs(HOME, stdout);
	for (size_t i = 0; i < frame->len; i++) {
		if (frame->data[i] == '\n')
			fputs(ERASE_LINE_REST, stdout);
		putchar(frame->data[i]);
	}
	fputs(ERASE_REST, stdout);
	fflush(stdout);
}

static void show_live(const struct top_options *options, const char *address, json_t *status)
{
	const struct timespec pause = { ROUND_MS / 1000, ROUND_MS % 1000 * 1000000L };
	_cleanup_(buf_free) struct buf frame = BUF_INIT, answer = BUF_INIT;
	fputs(OTHER_SCREEN, stdout);
	while (!interruption_came() && !ferror(stdout)) {
		struct err_detail detail = { "" };
		const struct top_size size = terminal_size(options);
		buf_reset(&frame);
		if (status)
			top_frame(status, &size, &frame);
		draw(&frame);
		nanosleep(&pause, NULL); /* a signal ends it */
		json_decref(status);
		if (!interruption_came() && read_status(address, &answer, &status, &detail)) {
			status = json_pack("{s:b, s:s, s:I, s:I}", "ready", 0, "reason", detail.message,
					   "now_ms", (json_int_t)time(NULL) * 1000, "since_ms",
					   (json_int_t)time(NULL) * 1000);
		} else if (interruption_came()) {
			status = NULL;
		}
	}
	json_decref(status);
	fputs(FORMER_SCREEN, stdout);
}

static void show_once(const struct top_options *options, const json_t *status, const struct buf *answer)
{
	const struct top_size terminal = terminal_size(options);
	const struct top_size size = { .columns = options->to_terminal ? terminal.columns : UINT16_MAX,
				       .colours = options->colours };
	_cleanup_(buf_free) struct buf frame = BUF_INIT;
	if (options->json && options->to_terminal)
		terminal_append_lines(&frame, buf_str(answer));
	else if (options->json)
		buf_append(&frame, answer->data, answer->len);
	else
		top_frame(status, &size, &frame);
	fwrite(frame.data, 1, frame.len, stdout);
}

err_t top_run(const struct top_options *options, struct err_detail *detail)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(buf_free) struct buf answer = BUF_INIT;
	json_t *status = NULL;
	err_t err = config_load(options->config_file, &config, detail);
	if (err)
		return err;
	const char *address = config->http.configured ? config->http.listen : "";
	if (!*address)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"%s has no http.listen, so its daemon shows no status; add http: { listen = "
				"\"127.0.0.1:9464\"; };",
				options->config_file);
	if (strlen(address) > 2 && strcmp(address + strlen(address) - 2, ":0") == 0)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"http.listen of %s has port 0, any free one; give it a port of its own",
				options->config_file);
	err = read_status(address, &answer, &status, detail);
	if (err)
		return err;
	if (options->once || options->json || !options->live) {
		show_once(options, status, &answer);
		json_decref(status);
	} else {
		interruption_catch();
		show_live(options, address, status);
	}
	return output_end(detail);
}
