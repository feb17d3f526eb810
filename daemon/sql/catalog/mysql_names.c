#include "sql/catalog/internal.h"

#include <ctype.h>

/* What stands for any character beyond ASCII: no such byte is in UTF-8. */
#define FOREIGN ((char)0xff)

static bool begins_character(char byte)
{
	return ((unsigned char)byte & 0xC0) != 0x80;
}

bool catalog_mysql_is_ascii(str_t name)
{
	for (size_t i = 0; i < name.len; i++) {
		if ((unsigned char)name.ptr[i] >= 0x80)
			return false;
	}
	return true;
}

/* Lower case; absent when it is longer than any name may be. Folding twice changes nothing. */
static str_t folded(str_t text, char buffer[MYSQL_NAME_BYTES])
{
	size_t length = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (length == MYSQL_NAME_BYTES - 1)
			return STR_NONE;
		if ((unsigned char)text.ptr[i] < 0x80)
			buffer[length++] = (char)tolower((unsigned char)text.ptr[i]);
		else if (begins_character(text.ptr[i]))
			buffer[length++] = FOREIGN;
	}
	buffer[length] = '\0';
	return (str_t){ buffer, length };
}

str_t catalog_mysql_schema(str_t schema, char buffer[MYSQL_NAME_BYTES])
{
	return folded(schema, buffer);
}

str_t catalog_mysql_key(str_t name, enum mysql_key kind, char buffer[MYSQL_NAME_BYTES])
{
	str_t lower = folded(name, buffer);
	if (kind == MYSQL_KEY_NAME || !str_present(lower))
		return lower;
	int length = snprintf(buffer, MYSQL_NAME_BYTES, "%c%c%zu", FOREIGN,
			      kind == MYSQL_KEY_ANY_OF_LENGTH ? 'a' : 'f', lower.len);
	return (str_t){ buffer, (size_t)length };
}
