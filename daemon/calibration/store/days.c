#include "calibration/store/days.h"

#include <inttypes.h>
#include <time.h>

static const char *const tables[] = { "calibration_events", "calibration_feedback" };

enum { TABLES_COUNT = sizeof tables / sizeof *tables, DATE_SIZE = 16 };

void days_free(struct days *days)
{
	free(days->days);
	*days = (struct days){ 0 };
}

/* Where the day is, or would be. */
static size_t find(const struct days *days, int64_t day)
{
	size_t low = 0, high = days->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (days->days[middle] < day)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(struct days *days, size_t at, int64_t day)
{
	if (days->count == days->capacity) {
		days->capacity = days->capacity ? 2 * days->capacity : 16;
		days->days = reallocarray(days->days, days->capacity, sizeof *days->days);
		if (!days->days)
			abort();
	}
	memmove(&days->days[at + 1], &days->days[at], (days->count - at) * sizeof *days->days);
	days->days[at] = day;
	days->count++;
}

/* "20260108", or with dashes. */
static void format_day(int64_t day, bool dashes, char text[DATE_SIZE])
{
	time_t seconds = (time_t)(day * (DAY_MS / 1000));
	struct tm utc;
	gmtime_r(&seconds, &utc);
	if (dashes)
		strftime(text, DATE_SIZE, "%Y-%m-%d", &utc);
	else
		strftime(text, DATE_SIZE, "%Y%m%d", &utc);
}

/* Another instance may make it at the same time: the lock makes one of them find it there. */
static err_t make_partition(struct database *database, const char *table, int64_t day,
			    struct err_detail *detail)
{
	char name[DATE_SIZE], from[DATE_SIZE], until[DATE_SIZE], sql[320];
	format_day(day, false, name);
	format_day(day, true, from);
	format_day(day + 1, true, until);
	snprintf(sql, sizeof sql,
		 "SELECT pg_advisory_xact_lock(7236837206); CREATE TABLE IF NOT EXISTS %s_%s PARTITION OF %s "
		 "FOR VALUES FROM ('%s 00:00:00+00') TO ('%s 00:00:00+00')",
		 table, name, table, from, until);
	return database_script(database, sql, detail);
}

err_t days_need(struct days *days, struct database *database, int64_t time_ms, struct err_detail *detail)
{
	int64_t day = time_ms / DAY_MS;
	size_t at = find(days, day);
	if (at < days->count && days->days[at] == day)
		return ERR_OK;
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < TABLES_COUNT; i++)
		err = make_partition(database, tables[i], day, detail);
	if (!err)
		insert(days, at, day);
	return err;
}

/* The date is the last part of the name. */
#define OLDEST_PARTITION                                                                                     \
	"SELECT inhrelid::regclass FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid "               \
	"WHERE inhparent IN ('calibration_events'::regclass, 'calibration_feedback'::regclass) "             \
	"AND substring(relname FROM '_([0-9]{8})$') <= $1 ORDER BY substring(relname FROM '_([0-9]{8})$') "  \
	"LIMIT 1"

err_t days_drop(struct database *database, int64_t before_ms, bool *ret_more, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	char last[DATE_SIZE], sql[192];
	*ret_more = false;
	format_day(before_ms / DAY_MS - 1, false, last);
	const char *const parameters[] = { last };
	err_t err = database_query(database, OLDEST_PARTITION, 1, parameters, &result, detail);
	if (err || PQntuples(result) == 0)
		return err;
	snprintf(sql, sizeof sql, "SELECT pg_advisory_xact_lock(7236837206); DROP TABLE IF EXISTS %s",
		 PQgetvalue(result, 0, 0));
	err = database_script(database, sql, detail);
	*ret_more = !err;
	return err;
}
