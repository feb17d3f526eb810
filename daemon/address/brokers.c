#include "address/brokers.h"

#include "address/host_port.h"

#include <string.h>
#include <strings.h>

#define USUAL_PORT 9092

/* The scheme's length with its slashes; 0: there is none. */
static size_t scheme_len(const char *text, size_t len)
{
	const char *colon = memmem(text, len, "://", 3);
	return colon ? (size_t)(colon - text) + 3 : 0;
}

static bool is_security_protocol(const char *scheme, size_t len)
{
	static const char *const protocols[] = { "plaintext://", "ssl://", "sasl_plaintext://",
						 "sasl_ssl://" };
	for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
		if (strlen(protocols[i]) == len && strncasecmp(protocols[i], scheme, len) == 0)
			return true;
	return false;
}

#define SEPARATORS ";| \t\r\n"

/* Whether something else than a comma stands between brokers; behind a blank there has to be one. */
static bool has_separator(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == ';' || text[i] == '|' ||
		    (strchr(SEPARATORS, text[i]) && memchr(text + i, ':', len - i)))
			return true;
	return false;
}

/* Several brokers with something else between them than commas: how they are to be written. */
static err_t fail_separators(const char *text, size_t len, struct err_detail *detail)
{
	char mended[120] = "";
	size_t used = 0, shown = len < 100 ? len : 100;
	for (size_t i = 0; i < shown; i++) {
		bool separates = strchr(SEPARATORS, text[i]);
		if (!separates)
			mended[used++] = text[i];
		else if (used && mended[used - 1] != ',')
			mended[used++] = ',';
	}
	while (used && mended[used - 1] == ',')
		used--;
	return err_fail(detail, ERR_CONFIG_RANGE,
			"\"%.*s\": brokers are separated by commas: write \"%.*s%s\"", (int)shown, text,
			(int)used, mended, shown < len ? "…" : "");
}

static err_t check_broker(const char *text, size_t len, struct err_detail *detail)
{
	struct err_detail reason = { "" };
	struct host_port broker;
	size_t scheme = scheme_len(text, len);
	int shown = (int)(len < 100 ? len : 100);
	if (has_separator(text, len))
		return fail_separators(text, len, detail);
	if (scheme && !is_security_protocol(text, scheme))
		return err_fail(detail, ERR_CONFIG_RANGE,
				"\"%.*s\": write a broker as host:port, without %.*s; security.protocol in "
				"kafka.properties selects the protocol",
				shown, text, (int)(scheme < 40 ? scheme : 40), text);
	err_t err = host_port_read(text + scheme, len - scheme, 1, USUAL_PORT, &broker, &reason);
	if (!err)
		return ERR_OK;
	return err_fail(detail, err,
			"\"%.*s\": %s; write brokers as \"host:port\", separated by commas, such as "
			"\"kafka1:9092,kafka2:9092\"",
			shown, text, reason.message);
}

err_t brokers_check(const char *list, struct err_detail *detail)
{
	size_t found = 0;
	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ","), blanks = strspn(at, " \t"), used = len;
		while (used > blanks && strchr(" \t", at[used - 1]))
			used--;
		if (used > blanks) {
			err_t err = check_broker(at + blanks, used - blanks, detail);
			if (err)
				return err;
			found++;
		}
		at += len + (at[len] == ',');
	}
	return found ? ERR_OK
		     : err_fail(detail, ERR_CONFIG_RANGE,
				"no broker is given; write for example \"kafka1:9092\"");
}
