#include "http/host.h"

#include "common/banned.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { HOST_SIZE = 64 };

/* Copies what stands before the port, an IPv6 address without its brackets. */
static bool without_port(const char *host, char ret_name[HOST_SIZE])
{
	const char *from = host, *end = strrchr(host, ':');
	if (*host == '[') {
		from = host + 1;
		end = strchr(host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
	} else if (!end) {
		end = host + strlen(host);
	}
	size_t len = (size_t)(end - from);
	if (len >= HOST_SIZE)
		return false;
	memcpy(ret_name, from, len);
	ret_name[len] = '\0';
	return true;
}

bool host_is_local(const char *host)
{
	struct in6_addr address;
	char name[HOST_SIZE];
	if (!without_port(host, name))
		return false;
	return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &address) == 1 ||
	       inet_pton(AF_INET6, name, &address) == 1;
}
