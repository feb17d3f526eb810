#include "address/server_hint.h"
#include "sql/query/required.h"
#include "target/sqlite_log.h"
#include "target/supervisor.h"
#include "target/worker_process.h"

#include <errno.h>
#include <sys/stat.h>

/* Asks a worker of its own once and waits for the answer. */
static err_t ask(const struct target_settings *target, int fd, enum message_kind kind, struct buf *first,
		 struct arena *arena, struct text_reply *ret_reply, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf in = BUF_INIT;
	struct message message;
	message_put_request(first, kind);
	err_t err = message_send(fd, first);
	if (!err)
		err = message_receive(fd, target->statement_timeout_ms + WORKER_SLACK_MS, &in, &message);
	if (err == ERR_TIMEOUT)
		return err_fail(
			detail, ERR_TARGET_TIMEOUT,
			"target \"%s\" has not answered in time: see whether the server hangs, and whether "
			"host and port of the dsn are right",
			target->name);
	if (err)
		return err_fail(detail, ERR_TARGET_WORKER_DIED, "target \"%s\": %s", target->name,
				err_text(ERR_TARGET_WORKER_DIED));
	if (message.kind != MESSAGE_TEXT || message_get_text(message.payload, arena, ret_reply))
		return err_fail(detail, ERR_TARGET_PROTOCOL, "target \"%s\": %s", target->name,
				err_text(ERR_TARGET_PROTOCOL));
	return ERR_OK;
}

/* Each rule of the policy has to name what is there, or nothing is ever required by it. */
static err_t check_rules(const struct target_settings *target, str_t source, struct arena *arena,
			 struct err_detail *detail)
{
	const struct sql_policy *policy = &target->policy;
	struct catalog *catalog;
	str_t all = STR("");
	err_t err = target_catalog_compile(target->engine, source, &catalog, detail);
	if (err)
		return err;
	for (size_t i = 0; i < policy->required_columns_count; i++) {
		const struct sql_required_column *rule = &policy->required_columns[i];
		str_t wrong = required_misnamed(rule, catalog, arena);
		if (str_present(wrong))
			all = arena_printf(arena, STR_FMT "%s\"" STR_FMT "." STR_FMT "\": " STR_FMT,
					   STR_ARG(all), all.len ? "; " : "", STR_ARG(rule->table),
					   STR_ARG(rule->column), STR_ARG(wrong));
	}
	catalog_unref(catalog);
	return all.len ? err_fail(detail, ERR_CONFIG_RANGE, "target \"%s\": required_columns: " STR_FMT,
				  target->name, STR_ARG(all))
		       : ERR_OK;
}

static err_t ask_about_rules(const struct target_settings *target, int fd, struct arena *arena,
			     struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf request = BUF_INIT;
	struct text_reply reply;
	if (target->policy.required_columns_count == 0)
		return ERR_OK;
	err_t err = ask(target, fd, MESSAGE_CATALOG, &request, arena, &reply, detail);
	if (err)
		return err;
	return reply.error ? err_fail(detail, reply.error, "target \"%s\": " STR_FMT, target->name,
				      STR_ARG(reply.text))
			   : check_rules(target, reply.text, arena, detail);
}

err_t target_check_settings(const struct target_settings *target, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(worker_secret_free) struct buf first = BUF_INIT;
	struct target_settings settings;
	err_t err = target_settings_copy(target, arena, &settings, detail);
	return err ? err : worker_first_message(&settings, &first, detail);
}

static const char *folder_of(const char *path, struct arena *arena)
{
	const char *slash = strrchr(path, '/');
	return slash ? arena_text(arena, path, slash == path ? 1 : (size_t)(slash - path)).ptr : ".";
}

/* Whether its files can be made where nobody has made them. */
static err_t check_log(const struct target_settings *target, struct arena *arena, struct err_detail *detail)
{
	const char *path = target->path, *folder;
	if (target->engine != TARGET_SQLITE || !sqlite_has_log(path) || sqlite_log_is_there(path))
		return ERR_OK;
	folder = folder_of(path, arena);
	if (access(folder, W_OK | X_OK) == 0)
		return ERR_OK;
	return err_fail(
		detail, ERR_TARGET_UNAVAILABLE,
		"target \"%s\": %s is in WAL mode and nobody has it open: to read it its log has to be made "
		"in "
		"%s, which this user may not write to; let it, or have the writer set PRAGMA journal_mode = "
		"DELETE",
		target->name, path, folder);
}

/* An engine says less of a file that it cannot open: SQLite "disk I/O error" of a folder. */
static const char *explain_file(const struct target_settings *target, str_t said, struct arena *arena)
{
	struct stat status;
	if (!target_engine_is_file(target->engine))
		return arena_printf(arena, STR_FMT "%s", STR_ARG(said), server_hint(said.ptr)).ptr;
	if (stat(target->path, &status) != 0)
		return arena_printf(arena, "%s: %s; mend path", target->path, strerror(errno)).ptr;
	if (S_ISDIR(status.st_mode))
		return arena_printf(arena, "%s: a directory, no database; name the file in it as path",
				    target->path)
			.ptr;
	if (access(target->path, R_OK) != 0)
		return arena_printf(arena, "%s: %s; let this user read it", target->path, strerror(errno))
			.ptr;
	if (strstr(said.ptr, "file is not a database"))
		return arena_printf(arena, STR_FMT "; mend path (encrypted ones cannot be read)",
				    STR_ARG(said))
			.ptr;
	return arena_str(arena, said).ptr;
}

err_t target_check(const struct target_settings *target, struct arena *arena, str_t *ret_notes,
		   struct err_detail *detail)
{
	_cleanup_(worker_secret_free) struct buf first = BUF_INIT;
	struct target_settings settings;
	struct text_reply reply;
	pid_t pid;
	int fd, status;
	err_t err = target_settings_copy(target, arena, &settings, detail);
	settings.no_trace = true;
	if (!err)
		err = check_log(&settings, arena, detail);
	if (!err)
		err = worker_spawn(&settings, false, &first, &pid, &fd, detail);
	if (err)
		return err;
	err = ask(&settings, fd, MESSAGE_CHECK, &first, arena, &reply, detail);
	err_t of_rules = err || reply.error ? ERR_OK : ask_about_rules(&settings, fd, arena, detail);
	close(fd);
	if (err)
		worker_kill(pid);
	worker_reap(pid, true, &status);
	if (of_rules)
		return of_rules;
	if (!err && reply.error)
		return err_fail(detail, reply.error, "target \"%s\": %s", settings.name,
				explain_file(&settings, reply.text, arena));
	if (!err)
		*ret_notes = reply.text;
	return err;
}
