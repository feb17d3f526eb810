#include "common/conf_scan.h"

#include <ctype.h>
#include <errno.h>

struct scanner {
	const char *name;
	const char *at; /* the text ends with a NUL, which is in it nowhere else */
	unsigned line;
	struct buf *prepared;
};

static void copy(struct scanner *scanner, size_t len)
{
	for (size_t i = 0; i < len; i++)
		scanner->line += scanner->at[i] == '\n';
	buf_append(scanner->prepared, scanner->at, len);
	scanner->at += len;
}

/* Lengths of what starts at `at`: 0 where nothing of the kind does, UNENDED where it goes on to the end of
 * the file. */
#define UNENDED SIZE_MAX

static size_t comment_length(const char *at)
{
	if (at[0] == '#' || (at[0] == '/' && at[1] == '/'))
		return strcspn(at, "\n");
	if (at[0] != '/' || at[1] != '*')
		return 0;
	const char *end = strstr(at + 2, "*/");
	return end ? (size_t)(end - at) + 2 : UNENDED;
}

static size_t text_length(const char *at)
{
	size_t len = 1;
	if (*at != '"')
		return 0;
	while (at[len] && at[len] != '"')
		len += at[len] == '\\' && at[len + 1] ? 2 : 1;
	return at[len] ? len + 1 : UNENDED;
}

static size_t name_length(const char *at)
{
	size_t len = 1;
	while (isalnum((unsigned char)at[len]) || strchr("-_*", at[len])) {
		if (!at[len])
			break;
		len++;
	}
	return len;
}

static bool starts_number(const char *at)
{
	return isdigit((unsigned char)at[0]) ||
	       ((at[0] == '-' || at[0] == '+' || at[0] == '.') && isdigit((unsigned char)at[1]));
}

static err_t copy_number(struct scanner *scanner, struct err_detail *detail)
{
	size_t sign = strspn(scanner->at, "+-");
	bool hexadecimal = scanner->at[sign] == '0' && (scanner->at[sign + 1] | 32) == 'x';
	size_t len = sign + (hexadecimal ? 2 + strspn(scanner->at + sign + 2, "0123456789abcdefABCDEF")
					 : strspn(scanner->at + sign, "0123456789"));
	if (!hexadecimal && scanner->at[len] && strchr(".eE", scanner->at[len])) {
		copy(scanner, len + strspn(scanner->at + len, "0123456789.eE+-"));
		return ERR_OK;
	}
	errno = 0;
	long long value = strtoll(scanner->at, NULL, hexadecimal ? 16 : 10);
	if (errno == ERANGE)
		return err_fail(detail, ERR_CONFIG_RANGE, "%s:%u: the number %.*s does not fit into 64 bits",
				scanner->name, scanner->line, (int)(len < 40 ? len : 40), scanner->at);
	bool wide = (value < INT32_MIN || value > INT32_MAX) && scanner->at[len] != 'L';
	copy(scanner, len);
	if (wide)
		buf_append_char(scanner->prepared, 'L');
	else
		copy(scanner, strspn(scanner->at, "L"));
	return ERR_OK;
}

static err_t copy_token(struct scanner *scanner, struct err_detail *detail)
{
	const char *at = scanner->at;
	if (strncmp(at, "@include", 8) == 0)
		return err_fail(detail, ERR_CONFIG_SYNTAX,
				"%s:%u: @include is not supported; the configuration is one file",
				scanner->name, scanner->line);
	if (starts_number(at))
		return copy_number(scanner, detail);
	size_t len = comment_length(at);
	if (len == 0)
		len = text_length(at);
	if (len == UNENDED)
		return err_fail(detail, ERR_CONFIG_SYNTAX, "%s:%u: the %s that begins here never ends",
				scanner->name, scanner->line, *at == '"' ? "text" : "comment");
	if (len == 0)
		len = isalpha((unsigned char)*at) || *at == '*' ? name_length(at) : 1;
	copy(scanner, len);
	return ERR_OK;
}

static err_t fail_encoding(const char *name, struct err_detail *detail)
{
	return err_fail(
		detail, ERR_CONFIG_SYNTAX,
		"%s: the file is UTF-16, as its first bytes say; save it as UTF-8 (iconv -f UTF-16 -t "
		"UTF-8)",
		name);
}

err_t conf_scan(const char *name, str_t text, struct buf *prepared, struct err_detail *detail)
{
	static const char mark[] = "\xEF\xBB\xBF"; /* some editors begin UTF-8 with it; it says nothing */
	size_t skipped = strncmp(text.ptr, mark, 3) == 0 ? 3 : 0;
	struct scanner scanner = { name, text.ptr + skipped, 1, prepared };
	if (strncmp(text.ptr, "\xFF\xFE", 2) == 0 || strncmp(text.ptr, "\xFE\xFF", 2) == 0)
		return fail_encoding(name, detail);
	if (memchr(text.ptr, 0, text.len))
		return err_fail(detail, ERR_CONFIG_SYNTAX,
				"%s: the file holds NUL bytes; is it UTF-16? Save it as UTF-8", name);
	while (*scanner.at) {
		err_t err = copy_token(&scanner, detail);
		if (err)
			return err;
	}
	return ERR_OK;
}
