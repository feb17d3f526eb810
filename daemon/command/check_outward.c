#include "command/check_outward.h"

#include "address/base_url.h"
#include "common/secret.h"
#include "outward/otlp.h"
#include "outward/webhook.h"

#include <errno.h>

enum { ANSWER_BYTES_MAX = 65536 };

static const char webhook_title[] = "webhook", otlp_title[] = "otlp";

/* A file that is missing is not told by libcurl under the name of its setting. */
static err_t check_ca_file(const char *setting, const char *file, struct err_detail *detail)
{
	FILE *found = file ? fopen(file, "re") : NULL;
	if (file && !found)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s: %s", setting, file, strerror(errno));
	if (found)
		fclose(found);
	return ERR_OK;
}

/* What to look at where a receiver cannot be reached, by how libcurl says it. */
static const char *hint_of(const char *fault)
{
	static const struct {
		const char *part, *hint;
	} hints[] = {
		{ "Could not resolve", "; correct the host's name in the address, or mend the name service" },
		{ "Failed to connect",
		  "; nothing listens there: start the receiver, or correct host and port" },
		{ "Couldn't connect",
		  "; nothing listens there: start the receiver, or correct host and port" },
		{ "timed out", "; no answer: check host, port and firewall, and whether the receiver hangs" },
		{ "HTTP/0.9", "; what listens there does not speak HTTP: correct the port" },
		{ "wrong version number",
		  "; what listens there does not speak TLS: correct the port, or use http" },
	};
	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
		if (strstr(fault, hints[i].part))
			return hints[i].hint;
	return "";
}

bool check_webhook_files(const struct config_webhook *webhook, struct findings *findings)
{
	struct webhook_secrets secrets;
	struct err_detail detail = { "" }, reason = { "" };
	err_t err = check_ca_file("webhook.ca_file", webhook->ca_file, &detail);
	if (!err && (err = webhook_read_secrets(webhook->secret_file, &secrets, &reason)))
		err_fail(&detail, err, "webhook.secret_file: %s", err_message(err, &reason));
	if (!err)
		explicit_bzero(&secrets, sizeof secrets);
	findings_tried(findings, "webhook files", err, &detail);
	if (base_url_is_plain(webhook->url))
		findings_lines(
			findings, FINDING_WARNING, "webhook files",
			STR("webhook.url: plain http to another host: advisories travel unencrypted; use "
			    "https"));
	return !err;
}

void check_webhook(const struct config_webhook *webhook, struct findings *findings)
{
	struct err_detail detail = { "" };
	struct fetch_answer answer;
	if (!webhook->configured) {
		findings_none(findings, webhook_title, "none is configured");
		return;
	}
	if (!check_webhook_files(webhook, findings))
		return;
	struct fetcher *fetcher = fetcher_new();
	const struct fetch_request request = { .url = webhook->url,
					       .method = "OPTIONS",
					       .tls = { .ca_file = webhook->ca_file },
					       .timeout_ms = webhook->timeout_ms,
					       .max_bytes = ANSWER_BYTES_MAX };
	err_t err = ERR_OK;
	/* whatever it says to such a request: it is there, and its certificate is good */
	if (!fetch(fetcher, &request, &answer) && answer.outcome != FETCH_TOO_LARGE)
		err = err_fail(&detail, ERR_RECEIVER_UNAVAILABLE,
			       "webhook.url: the receiver cannot be reached: %s%s", answer.fault,
			       hint_of(answer.fault));
	fetch_answer_free(&answer);
	fetcher_free(fetcher);
	findings_tried(findings, webhook_title, err, &detail);
}

/* The value of a header, and not the header. */
static err_t read_authorization(const char *file, char **ret_value, struct err_detail *detail)
{
	static const char name[] = "Authorization:";
	err_t err = secret_read_line(file, ret_value, detail);
	if (!err && strncasecmp(*ret_value, name, sizeof name - 1) == 0)
		err = err_fail(detail, ERR_CONFIG_RANGE,
			       "%s: it begins with the header's name; leave its value alone", file);
	return err;
}

bool check_otlp_files(const struct config_otlp *otlp, struct findings *findings)
{
	_cleanup_(secret_free) char *authorization = NULL;
	struct err_detail detail = { "" }, reason = { "" };
	err_t err = check_ca_file("otlp.ca_file", otlp->ca_file, &detail);
	if (!err && otlp->authorization_file &&
	    (err = read_authorization(otlp->authorization_file, &authorization, &reason)))
		err_fail(&detail, err, "otlp.authorization_file: %s", err_message(err, &reason));
	findings_tried(findings, "otlp files", err, &detail);
	if (authorization && !strchr(authorization, ' '))
		findings_lines(findings, FINDING_WARNING, "otlp files",
			       STR("otlp.authorization_file: no scheme; the header's whole value belongs "
				   "there, such "
				   "as Bearer and a token"));
	if (authorization && base_url_is_plain(otlp->endpoint))
		findings_lines(findings, FINDING_WARNING, "otlp files",
			       STR("otlp.endpoint: plain http to another host: the authorization travels "
				   "unencrypted; use https"));
	if (base_url_has_port(otlp->endpoint, "4317"))
		findings_lines(findings, FINDING_WARNING, "otlp files",
			       STR("otlp.endpoint: 4317 is the port of collectors for gRPC; assayd speaks "
				   "HTTP, whose port is 4318"));
	return !err;
}

void check_otlp(const struct config_otlp *otlp, struct findings *findings)
{
	struct err_detail detail = { "" };
	if (!otlp->configured) {
		findings_none(findings, otlp_title, "none is configured");
		return;
	}
	if (!check_otlp_files(otlp, findings))
		return;
	const struct otlp_options options = {
		.endpoint = otlp->endpoint,
		.authorization_file = otlp->authorization_file,
		.ca_file = otlp->ca_file,
		.instance_id = "check",
		.timeout_ms = otlp->timeout_ms,
	};
	struct err_detail reason = { "" };
	err_t err = otlp_check(&options, &reason);
	if (err)
		err_fail(&detail, err, "%s%s", err_message(err, &reason), hint_of(reason.message));
	findings_tried(findings, otlp_title, err, &detail);
}
