#include "command/check_http.h"

#include "command/http_get.h"
#include "http/listen.h"

/* Whether an assayd answers there: by its metrics. */
static bool is_assayd(const char *address)
{
	_cleanup_(buf_free) struct buf answer = BUF_INIT;
	long status;
	return http_get(address, "/metrics", &answer, &status, NULL) == ERR_OK &&
	       strstr(buf_str(&answer).ptr, "# TYPE assayd_");
}

static void warn_of_network(struct findings *findings)
{
	findings_lines(findings, FINDING_WARNING, "http",
		       STR("http.listen is not a loopback address: the metrics can be read from the "
			   "network without authentication; listen at 127.0.0.1, or use a firewall"));
}

void check_http_offline(const struct config *config, struct findings *findings)
{
	if (config->http.configured && listen_beyond_loopback(config->http.listen))
		warn_of_network(findings);
}

void check_http(const struct config *config, struct findings *findings)
{
	const char *address = config->http.listen;
	struct listener listener = { .fd = -1, .loopback = true };
	struct err_detail detail = { "" };
	if (!config->http.configured || !*address)
		return;
	err_t err = listen_open(address, &listener, &detail);
	if (!err)
		close(listener.fd);
	if (err == ERR_HTTP_LISTEN && is_assayd(address))
		findings_lines(findings, FINDING_NOTE, "http",
			       STR("an assayd on this machine already listens at http.listen; a second "
				   "instance needs its own port"));
	else
		findings_tried(findings, "http", err, &detail);
	if (!listener.loopback)
		warn_of_network(findings);
}
