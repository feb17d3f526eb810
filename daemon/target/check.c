#include "target/process.h"
#include "target/supervisor.h"

/* Asks a worker of its own once and waits for the answer. */
static err_t ask(const struct target_settings *target, int fd, struct buf *first, struct arena *arena,
		 struct text_reply *ret_reply, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf in = BUF_INIT;
	struct message message;
	message_put_request(first, MESSAGE_CHECK);
	err_t err = message_send(fd, first);
	if (!err)
		err = message_receive(fd, target->statement_timeout_ms + WORKER_SLACK_MS, &in, &message);
	if (err == ERR_TIMEOUT)
		return err_fail(detail, ERR_TARGET_TIMEOUT, "target \"%s\" has not answered", target->name);
	if (err)
		return err_fail(detail, ERR_TARGET_WORKER_DIED, "target \"%s\": %s", target->name,
				err_text(ERR_TARGET_WORKER_DIED));
	if (message.kind != MESSAGE_TEXT || message_get_text(message.payload, arena, ret_reply))
		return err_fail(detail, ERR_TARGET_PROTOCOL, "target \"%s\": %s", target->name,
				err_text(ERR_TARGET_PROTOCOL));
	return ERR_OK;
}

err_t target_check(const struct target_settings *target, struct arena *arena, str_t *ret_notes,
		   struct err_detail *detail)
{
	_cleanup_(secret_free) struct buf first = BUF_INIT;
	struct target_settings settings;
	struct text_reply reply;
	pid_t pid;
	int fd, status;
	err_t err = target_settings_copy(target, arena, &settings, detail);
	if (!err)
		err = worker_spawn(&settings, false, &first, &pid, &fd, detail);
	if (err)
		return err;
	err = ask(&settings, fd, &first, arena, &reply, detail);
	close(fd);
	if (err)
		worker_kill(pid);
	worker_reap(pid, true, &status);
	if (!err && reply.error)
		return err_fail(detail, reply.error, "target \"%s\": " STR_FMT, settings.name,
				STR_ARG(reply.text));
	if (!err)
		*ret_notes = reply.text;
	return err;
}
