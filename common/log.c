#include "common/log.h"

#include "common/terminal.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

static _Atomic enum log_level threshold = LOG_LEVEL_INFO;
static pthread_once_t stream_once = PTHREAD_ONCE_INIT;
static bool to_journal;

static pthread_mutex_t sink_mutex = PTHREAD_MUTEX_INITIALIZER;
static void (*test_sink)(enum log_level level, const char *line, void *context);
static void *test_sink_context;

static const struct {
	const char *label;
	int priority;
} levels[] = {
	[LOG_LEVEL_CRITICAL] = { "critical", LOG_CRIT },  [LOG_LEVEL_ERROR] = { "error", LOG_ERR },
	[LOG_LEVEL_WARNING] = { "warning", LOG_WARNING }, [LOG_LEVEL_NOTICE] = { "notice", LOG_NOTICE },
	[LOG_LEVEL_INFO] = { "info", LOG_INFO },	  [LOG_LEVEL_DEBUG] = { "debug", LOG_DEBUG },
};

/* systemd names the journal's socket as "device:inode" in $JOURNAL_STREAM (systemd.exec(5)). */
static void find_stream(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;
	to_journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
		     fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

void log_set_level(enum log_level level)
{
	atomic_store(&threshold, level);
}

void log_set_sink(void (*sink)(enum log_level level, const char *line, void *context), void *context)
{
	pthread_mutex_lock(&sink_mutex);
	test_sink = sink;
	test_sink_context = context;
	pthread_mutex_unlock(&sink_mutex);
}

static bool write_sink(enum log_level level, const char *message)
{
	pthread_mutex_lock(&sink_mutex);
	bool sunk = test_sink != NULL;
	if (sunk)
		test_sink(level, message, test_sink_context);
	pthread_mutex_unlock(&sink_mutex);
	return sunk;
}

#define MAX_FIELDS 12

static void write_journal(enum log_level level, const struct log_field *fields, const char *message)
{
	struct buf texts[MAX_FIELDS + 2] = { BUF_INIT };
	struct iovec parts[MAX_FIELDS + 2];
	int count = 2;
	buf_append_text(&texts[0], "MESSAGE=");
	terminal_append_lines(&texts[0], str_from(message)); /* what it shows on a terminal */
	buf_printf(&texts[1], "PRIORITY=%d", levels[level].priority);
	for (const struct log_field *field = fields; field && field->name && count < MAX_FIELDS + 2;
	     field++) {
		struct buf *text = &texts[count++];
		buf_append_text(text, "ASSAYD_");
		for (const char *c = field->name; *c; c++)
			buf_append_char(text, (char)toupper((unsigned char)*c));
		buf_printf(text, "=%s", field->value ? field->value : "");
	}
	for (int i = 0; i < count; i++)
		parts[i] = (struct iovec){ texts[i].data, texts[i].len };
	sd_journal_sendv(parts, count);
	for (int i = 0; i < count; i++)
		buf_free(&texts[i]);
}

static void write_stderr(enum log_level level, const struct log_field *fields, const char *message)
{
	_cleanup_(buf_free) struct buf line = BUF_INIT; /* one entry, one line */
	buf_printf(&line, "assayd: %s: ", levels[level].label);
	terminal_append(&line, str_from(message));
	for (const struct log_field *field = fields; field && field->name; field++) {
		buf_printf(&line, " %s=", field->name);
		terminal_append(&line, str_from(field->value));
	}
	buf_append_char(&line, '\n');
	if (write(STDERR_FILENO, line.data, line.len) < 0) {
		/* nobody listens: there is nowhere to say so */
	}
}

void log_write(enum log_level level, const struct log_field *fields, const char *format, ...)
{
	if (level > atomic_load(&threshold))
		return;
	char message[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	pthread_once(&stream_once, find_stream);
	if (write_sink(level, message))
		return;
	if (to_journal)
		write_journal(level, fields, message);
	else
		write_stderr(level, fields, message);
}
