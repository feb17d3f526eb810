#include "address/host_port.h"

#include <ctype.h>
#include <string.h>

#define MAX_PORT 65535

/* Splits at the colon before the port; `ret_port` is NULL where there is none. */
static err_t split(const char *text, size_t len, struct host_port *to, const char **ret_port,
		   struct err_detail *detail)
{
	const char *end = text + len, *from = text, *host_end;
	const char *bracket = len && *text == '[' ? memchr(text, ']', len) : NULL;
	if (len && *text == '[' && !bracket)
		return err_fail(detail, ERR_CONFIG_RANGE, "a bracket is not closed; write [::1]:PORT");
	if (bracket) {
		from = text + 1;
		host_end = bracket;
		*ret_port = bracket + 1 == end ? NULL : bracket + 1;
		if (*ret_port && **ret_port != ':')
			return err_fail(detail, ERR_CONFIG_RANGE,
					"the port after the bracket is missing; write [::1]:PORT");
	} else {
		const char *colon = memrchr(text, ':', len);
		*ret_port = colon;
		host_end = colon ? colon : end;
		if (memchr(text, ':', (size_t)(host_end - text)))
			return err_fail(detail, ERR_CONFIG_RANGE,
					"there is more than one colon; an IPv6 address stands in brackets, "
					"such as [::1]:PORT");
	}
	*ret_port = *ret_port ? *ret_port + 1 : NULL;
	size_t host_len = (size_t)(host_end - from);
	if (host_len == 0)
		return err_fail(detail, ERR_CONFIG_RANGE, "there is no host before the port");
	if (host_len >= sizeof to->host)
		return err_fail(detail, ERR_CONFIG_RANGE, "the host is longer than a name can be");
	memcpy(to->host, from, host_len);
	to->host[host_len] = '\0';
	for (const char *at = to->host; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(bracket ? ":.%" : "-._", *at))
			return err_fail(detail, ERR_CONFIG_RANGE, "the host is not a name or an address");
	return ERR_OK;
}

err_t host_port_read(const char *text, size_t len, unsigned lowest, unsigned usual,
		     struct host_port *ret_host_port, struct err_detail *detail)
{
	struct host_port read = { .port = usual };
	const char *port = NULL, *end = text + len;
	err_t err = split(text, len, &read, &port, detail);
	if (err)
		return err;
	if (!port && !usual)
		return err_fail(detail, ERR_CONFIG_RANGE, "there is no port; write HOST:PORT");
	size_t digits = 0;
	unsigned number = 0;
	for (; port && port + digits < end && isdigit((unsigned char)port[digits]) && digits < 6; digits++)
		number = number * 10 + (unsigned)(port[digits] - '0');
	if (port && (digits == 0 || port + digits != end || number < lowest || number > MAX_PORT))
		return err_fail(detail, ERR_CONFIG_RANGE, "the port is not a number from %u to %d", lowest,
				MAX_PORT);
	read.port = port ? number : usual;
	*ret_host_port = read;
	return ERR_OK;
}
