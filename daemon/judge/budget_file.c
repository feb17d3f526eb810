#include "judge/budget_file.h"

#include "common/kept_file.h"
#include "common/log.h"

#include <inttypes.h>
#include <stdatomic.h>

#define HEADER "assayd judge tokens 1"

/* No day's slot holds more: keeps a damaged file from spoiling sums. */
#define SPENT_MAX INT64_C(1000000000000)

void budget_file_load(const char *path, struct limits *limits, int64_t now_us, int64_t wall_ms)
{
	int64_t saved_ms, mean, spent[LIMITS_SLOTS];
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	if (!file || fscanf(file, HEADER " %" SCNd64, &saved_ms) != 1 || saved_ms < 0)
		return;
	for (size_t i = 0; i < LIMITS_SLOTS; i++)
		if (fscanf(file, "%" SCNd64, &spent[i]) != 1 || spent[i] < 0 || spent[i] > SPENT_MAX)
			return;
	if (fscanf(file, " mean %" SCNd64, &mean) != 1 || mean < 0 || mean > SPENT_MAX)
		mean = 0; /* former versions did not keep it */
	int64_t elapsed_ms = wall_ms > saved_ms ? wall_ms - saved_ms : 0;
	if (elapsed_ms < INT64_MAX / 1000)
		limits_import_day(limits, now_us, spent, elapsed_ms * 1000, (double)mean);
}

void budget_file_save(const char *path, struct limits *limits, int64_t now_us, int64_t wall_ms)
{
	static _Atomic bool logged;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct err_detail detail = { "" };
	int64_t spent[LIMITS_SLOTS];
	limits_export_day(limits, now_us, spent);
	buf_printf(&text, HEADER " %" PRId64 "\n", wall_ms);
	for (size_t i = 0; i < LIMITS_SLOTS; i++)
		buf_printf(&text, "%" PRId64 "\n", spent[i]);
	buf_printf(&text, "mean %.0f\n", limits->mean_tokens);
	if (kept_file_write(path, buf_str(&text), &detail) && !atomic_exchange(&logged, true))
		log_error("the judge's token budget cannot be saved: %s", detail.message);
}
