#include "sql/postgresql/resolve/literal_internal.h"

#include <ctype.h>

#define GROUPS 8 /* of an IPv6 address */

/* "/24" to the end; at most `most` bits. */
static bool is_mask(const char *text, unsigned most)
{
	unsigned bits = 0;
	size_t digits = strspn(text + 1, "0123456789");
	if (digits == 0 || digits > 3 || text[1 + digits])
		return false;
	for (size_t i = 1; i <= digits; i++)
		bits = bits * 10 + (unsigned)(text[i] - '0');
	return bits <= most;
}

/* Whether bits are set to the right of the mask. */
static bool exceeds_mask(uint64_t address, unsigned numbers, const char *mask)
{
	unsigned long bits = strtoul(mask, NULL, 10);
	address <<= 8 * (4 - numbers);
	return bits < 32 && (address & (UINT64_C(0xffffffff) >> bits)) != 0;
}

/* "192.168.0.1/24"; of networks less than four numbers may do. */
static literal_fault read_ipv4(const char *text, bool is_network)
{
	unsigned numbers = 0;
	uint64_t address = 0;
	if (is_network && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return LITERAL_DOUBT;
	for (;; text++) {
		unsigned value = 0;
		size_t digits = strspn(text, "0123456789");
		for (size_t i = 0; i < digits && value < 256; i++)
			value = value * 10 + (unsigned)(text[i] - '0');
		if (digits == 0 && numbers > 0 && (*text == '/' || *text == '\0'))
			return LITERAL_DOUBT;
		if (digits == 0 || value > 255 || ++numbers > 4)
			return BAD_TEXT;
		address = address << 8 | value;
		text += digits;
		if (*text != '.')
			break;
	}
	if (*text && (*text != '/' || !is_mask(text, 32)))
		return BAD_TEXT;
	if (is_network)
		return *text && exceeds_mask(address, numbers, text + 1) ? BAD_TEXT : LITERAL_DOUBT;
	return numbers == 4 ? NULL : *text ? LITERAL_DOUBT : BAD_TEXT;
}

/* Groups of up to four hexadecimal digits, of which "::" stands for one or more that are zero. */
static literal_fault read_ipv6(const char *text, bool is_network)
{
	unsigned groups = 0, gaps = 0;
	if (strchr(text, '.'))
		return text[strspn(text, "0123456789abcdefABCDEF:./")] ? BAD_TEXT : LITERAL_DOUBT;
	if (text[0] == ':' && text[1] != ':')
		return BAD_TEXT;
	while (*text && *text != '/') {
		size_t digits = strspn(text, "0123456789abcdefABCDEF");
		if (digits > 4 || (digits == 0 && *text != ':'))
			return BAD_TEXT;
		groups += digits > 0;
		text += digits;
		if (*text != ':') {
			if (*text && *text != '/')
				return BAD_TEXT;
			break;
		}
		text++;
		if (*text == ':') {
			gaps++;
			text++;
			if (*text == ':')
				return BAD_TEXT;
		} else if (*text == '\0' || *text == '/') {
			return BAD_TEXT;
		}
	}
	if (*text && !is_mask(text, 128))
		return BAD_TEXT;
	if (gaps > 1 || (gaps ? groups >= GROUPS : groups != GROUPS))
		return BAD_TEXT;
	return is_network ? LITERAL_DOUBT : NULL;
}

literal_fault literal_inet(const char *text, bool is_network)
{
	return strchr(text, ':') ? read_ipv6(text, is_network) : read_ipv4(text, is_network);
}

/* By the formats that PostgreSQL itself gives to scanf. */
literal_fault literal_mac(const char *text)
{
	static const char *const formats[] = { "%x:%x:%x:%x:%x:%x%1s",	  "%x-%x-%x-%x-%x-%x%1s",
					       "%2x%2x%2x:%2x%2x%2x%1s",  "%2x%2x%2x-%2x%2x%2x%1s",
					       "%2x%2x.%2x%2x.%2x%2x%1s", "%2x%2x-%2x%2x-%2x%2x%1s",
					       "%2x%2x%2x%2x%2x%2x%1s" };
	unsigned parts[6];
	char rest[2];
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		int count = sscanf(text, formats[i], &parts[0], &parts[1], &parts[2], &parts[3], &parts[4],
				   &parts[5], rest);
#pragma GCC diagnostic pop
		if (count != 6)
			continue;
		for (size_t j = 0; j < 6; j++) {
			if (parts[j] > 255)
				return OUT_OF_RANGE;
		}
		return NULL;
	}
	return BAD_TEXT;
}

/* Six or eight bytes, with one sign between them or none. */
literal_fault literal_mac8(const char *text)
{
	unsigned bytes = 0;
	char sign = '\0';
	while (literal_is_space(*text))
		text++;
	while (text[0] && text[1]) {
		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]) || ++bytes > 8)
			return BAD_TEXT;
		text += 2;
		if (*text && strchr(":-.", *text)) {
			if (sign && sign != *text)
				return BAD_TEXT;
			sign = *text++;
		}
		if ((bytes == 6 || bytes == 8) && literal_is_space(*text)) {
			text += strspn(text, " \t\n\v\f\r");
			if (*text)
				return BAD_TEXT;
		}
	}
	return bytes == 6 || bytes == 8 ? NULL : BAD_TEXT;
}
