#include "command/id_time.h"

/* The 48 bits of both begin in 1970 and have not come far: what is later than the year 3000 is another kind
 * of id. */
#define LATEST_MS INT64_C(32503680000000)

enum { UUID_LEN = 36, ULID_LEN = 26, ULID_TIME_LEN = 10 };

/* −1: it is no such digit. */
static int digit_of(char c, const char *digits)
{
	const char *found = c ? strchr(digits, c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) : NULL;
	return found ? (int)(found - digits) : -1;
}

static int64_t read_uuid(str_t id)
{
	int64_t ms = 0;
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		int digit = digit_of(id.ptr[i], "0123456789ABCDEF");
		if (dash ? id.ptr[i] != '-' : digit < 0)
			return 0;
		if (!dash && i < 13)
			ms = ms << 4 | digit;
	}
	return id.ptr[14] == '7' ? ms : 0;
}

static int64_t read_ulid(str_t id)
{
	int64_t ms = 0;
	for (size_t i = 0; i < ULID_LEN; i++) {
		int digit = digit_of(id.ptr[i], "0123456789ABCDEFGHJKMNPQRSTVWXYZ");
		if (digit < 0)
			return 0;
		if (i < ULID_TIME_LEN)
			ms = ms << 5 | digit;
	}
	return ms;
}

int64_t id_time_ms(str_t id)
{
	int64_t ms = id.len == UUID_LEN ? read_uuid(id) : id.len == ULID_LEN ? read_ulid(id) : 0;
	return ms > 0 && ms < LATEST_MS ? ms : 0;
}
