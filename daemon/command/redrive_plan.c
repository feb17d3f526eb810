#include "command/redrive_plan.h"

#include "kafka/header.h"
#include "kafka/receipts.h"

#include <stdlib.h>

enum { REASONS_MAX = 256, LETTERS_MAX = 20000000 };

/* One letter. */
struct planned {
	int64_t offset, written_ms;
	int32_t partition;
	uint16_t reason;
	uint8_t fate; /* enum redrive_fate; before it is settled as if there were no receipts and no limit */
};

struct redrive_plan {
	const struct redrive_choice *choice;
	struct receipts **receipts; /* by partition */
	int partitions;
	struct redrive_reason *reasons;
	size_t reasons_count;
	struct planned *letters; /* once settled by partition and offset */
	size_t count, capacity;
	uint64_t foreign;
};

static const char *const fates[] = { "chosen", "done",	    "passed",	"beyond_limit",
				     "cut",    "too_often", "elsewhere" };

const char *redrive_fate_name(enum redrive_fate fate)
{
	return fates[fate];
}

/* ---- life ---- */

struct redrive_plan *redrive_plan_new(const struct redrive_choice *choice, int partitions)
{
	struct redrive_plan *plan = calloc(1, sizeof *plan);
	if (!plan || !(plan->receipts = calloc((size_t)partitions + 1, sizeof(struct receipts *))) ||
	    !(plan->reasons = calloc(REASONS_MAX, sizeof *plan->reasons)))
		abort();
	plan->choice = choice;
	plan->partitions = partitions;
	for (int i = 0; i < partitions; i++)
		plan->receipts[i] = receipts_new();
	return plan;
}

void redrive_plan_free(struct redrive_plan *plan)
{
	if (!plan)
		return;
	for (int i = 0; i < plan->partitions; i++)
		receipts_free(plan->receipts[i]);
	free(plan->receipts);
	free(plan->reasons);
	free(plan->letters);
	free(plan);
}

/* ---- order ---- */

static int by_place(const void *left, const void *right)
{
	const struct planned *a = left, *b = right;
	if (a->partition != b->partition)
		return (a->partition > b->partition) - (a->partition < b->partition);
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int by_time(const void *left, const void *right)
{
	const struct planned *a = *(struct planned *const *)left, *b = *(struct planned *const *)right;
	if (a->written_ms != b->written_ms)
		return (a->written_ms > b->written_ms) - (a->written_ms < b->written_ms);
	return by_place(a, b);
}

/* ---- messages ---- */

static size_t find_reason(struct redrive_plan *plan, str_t name)
{
	for (size_t i = 0; i < plan->reasons_count; i++)
		if (str_is(name, plan->reasons[i].name))
			return i;
	if (plan->reasons_count == REASONS_MAX)
		return REASONS_MAX;
	struct redrive_reason *reason = &plan->reasons[plan->reasons_count];
	memcpy(reason->name, name.ptr, name.len);
	reason->example.partition = -1;
	return plan->reasons_count++;
}

static bool is_listed(str_t text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_is(text, list[i]))
			return true;
	return count == 0;
}

/* As if it was not put back before, and without a limit. */
static enum redrive_fate judge(const struct redrive_choice *choice, const struct redrive_message *message,
			       const struct dead_letter *letter)
{
	if (!str_is(letter->topic, choice->input_topic))
		return REDRIVE_ELSEWHERE;
	if (!is_listed(letter->reason, choice->reasons, choice->reasons_count) ||
	    !is_listed(message->key, choice->event_ids, choice->event_ids_count) ||
	    (choice->since_ms && message->written_ms < choice->since_ms) ||
	    (choice->until_ms && message->written_ms >= choice->until_ms))
		return REDRIVE_PASSED;
	if (letter->cut)
		return REDRIVE_CUT;
	return letter->redriven >= choice->max_redrives ? REDRIVE_TOO_OFTEN : REDRIVE_CHOSEN;
}

static void copy_text(str_t text, char *to, size_t size)
{
	size_t len = text.len < size - 1 ? text.len : size - 1;
	if (len > 0)
		memcpy(to, text.ptr, len);
	to[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (!to[i]) /* where it would end */
			to[i] = ' ';
}

/* The newest so far, whatever comes first. */
static void set_example(struct redrive_reason *reason, const struct redrive_message *message,
			const struct dead_letter *letter)
{
	const struct planned former = { reason->example.offset, reason->newest_ms, reason->example.partition,
					0, 0 },
			     this = { message->offset, message->written_ms, message->partition, 0, 0 },
			     *const left = &former, *const right = &this;
	if (reason->example.partition >= 0 && by_time(&left, &right) > 0)
		return;
	reason->newest_ms = message->written_ms; /* of the example, until it is settled */
	reason->example.partition = message->partition;
	reason->example.offset = message->offset;
	copy_text(message->key, reason->example.key, sizeof reason->example.key);
	copy_text(letter->detail, reason->example.detail, sizeof reason->example.detail);
}

static err_t add_letter(struct redrive_plan *plan, const struct redrive_message *message,
			const struct dead_letter *letter, struct err_detail *detail)
{
	size_t reason = find_reason(plan, letter->reason);
	if (reason == REASONS_MAX) {
		plan->foreign++;
		return ERR_OK;
	}
	if (plan->count == LETTERS_MAX)
		return err_fail(detail, ERR_USAGE,
				"there are more than %d dead letters; choose by time, with --since",
				LETTERS_MAX);
	if (plan->count == plan->capacity) {
		plan->capacity = plan->capacity ? 2 * plan->capacity : 1024;
		plan->letters = reallocarray(plan->letters, plan->capacity, sizeof *plan->letters);
		if (!plan->letters)
			abort();
	}
	plan->letters[plan->count++] =
		(struct planned){ .offset = message->offset,
				  .written_ms = message->written_ms,
				  .partition = message->partition,
				  .reason = (uint16_t)reason,
				  .fate = (uint8_t)judge(plan->choice, message, letter) };
	set_example(&plan->reasons[reason], message, letter);
	return ERR_OK;
}

err_t redrive_plan_add(struct redrive_plan *plan, const struct redrive_message *message,
		       struct err_detail *detail)
{
	struct dead_letter letter;
	str_t version = dead_letter_header(message->headers, header_name(HEADER_REDRIVE_RECEIPT));
	if (message->partition < 0 || message->partition >= plan->partitions)
		return ERR_OK;
	if (dead_letter_read(message->headers, &letter))
		return add_letter(plan, message, &letter, detail);
	if (str_present(version) &&
	    !str_present(dead_letter_header(message->headers, header_name(HEADER_REASON))))
		return receipts_take(plan->receipts[message->partition], version, message->value,
				     message->offset, detail);
	plan->foreign++;
	return ERR_OK;
}

/* ---- settling ---- */

/* The oldest are put back, as many as are wanted. */
static void apply_limit(struct redrive_plan *plan)
{
	size_t count = 0;
	struct planned **chosen = calloc(plan->count + 1, sizeof(struct planned *));
	if (!chosen)
		abort();
	for (size_t i = 0; i < plan->count; i++)
		if (plan->letters[i].fate == REDRIVE_CHOSEN)
			chosen[count++] = &plan->letters[i];
	if (count > plan->choice->limit)
		qsort(chosen, count, sizeof *chosen, by_time);
	for (size_t i = plan->choice->limit; i < count; i++)
		chosen[i]->fate = REDRIVE_BEYOND;
	free(chosen);
}

static void count_letter(struct redrive_plan *plan, const struct planned *letter)
{
	struct redrive_reason *reason = &plan->reasons[letter->reason];
	reason->counts[letter->fate]++;
	if (letter->fate == REDRIVE_DONE)
		return;
	if (!reason->oldest_ms || letter->written_ms < reason->oldest_ms)
		reason->oldest_ms = letter->written_ms;
	bool newest = letter->written_ms >= reason->newest_ms;
	if (newest)
		reason->newest_ms = letter->written_ms;
	if (newest && (reason->example.partition < 0 || !reason->example.detail[0]))
		reason->example =
			(struct redrive_example){ .partition = letter->partition, .offset = letter->offset };
}

/* An example that was put back before is none. */
static void drop_examples(struct redrive_plan *plan)
{
	for (size_t i = 0; i < plan->reasons_count; i++) {
		struct redrive_example *example = &plan->reasons[i].example;
		plan->reasons[i].newest_ms = 0;
		if (example->partition >= 0 &&
		    receipts_have(plan->receipts[example->partition], example->offset))
			*example = (struct redrive_example){ .partition = -1 };
	}
}

static int by_name(const void *left, const void *right)
{
	const struct redrive_reason *a = left, *b = right;
	return strcmp(a->name, b->name);
}

/* Letters know their reason by its place. */
static void sort_reasons(struct redrive_plan *plan)
{
	uint16_t places[REASONS_MAX];
	struct redrive_reason *former = calloc(plan->reasons_count + 1, sizeof *former);
	if (!former)
		abort();
	memcpy(former, plan->reasons, plan->reasons_count * sizeof *former);
	qsort(plan->reasons, plan->reasons_count, sizeof *plan->reasons, by_name);
	for (size_t i = 0; i < plan->reasons_count; i++)
		places[i] = (uint16_t)find_reason(plan, str_from(former[i].name));
	for (size_t i = 0; i < plan->count; i++)
		plan->letters[i].reason = places[plan->letters[i].reason];
	free(former);
}

void redrive_plan_settle(struct redrive_plan *plan)
{
	for (int i = 0; i < plan->partitions; i++)
		receipts_settle(plan->receipts[i]);
	if (plan->count > 0)
		qsort(plan->letters, plan->count, sizeof *plan->letters, by_place);
	for (size_t i = 0; i < plan->count; i++)
		if (receipts_have(plan->receipts[plan->letters[i].partition], plan->letters[i].offset))
			plan->letters[i].fate = REDRIVE_DONE;
	if (plan->choice->limit)
		apply_limit(plan);
	sort_reasons(plan);
	drop_examples(plan);
	for (size_t i = 0; i < plan->count; i++)
		count_letter(plan, &plan->letters[i]);
}

/* ---- asking ---- */

const struct redrive_reason *redrive_plan_reasons(const struct redrive_plan *plan, size_t *ret_count)
{
	*ret_count = plan->reasons_count;
	return plan->reasons;
}

uint64_t redrive_plan_count(const struct redrive_plan *plan, enum redrive_fate fate)
{
	uint64_t count = 0;
	for (size_t i = 0; i < plan->reasons_count; i++)
		count += plan->reasons[i].counts[fate];
	return count;
}

uint64_t redrive_plan_foreign(const struct redrive_plan *plan)
{
	return plan->foreign;
}

bool redrive_plan_span(const struct redrive_plan *plan, int32_t partition, int64_t *ret_from,
		       int64_t *ret_until)
{
	int64_t from = -1, until = -1;
	for (size_t i = 0; i < plan->count; i++) {
		const struct planned *letter = &plan->letters[i];
		if (letter->partition != partition || letter->fate != REDRIVE_CHOSEN)
			continue;
		if (from < 0)
			from = letter->offset;
		until = letter->offset + 1;
	}
	*ret_from = from;
	*ret_until = until;
	return from >= 0;
}

enum redrive_fate redrive_plan_fate(const struct redrive_plan *plan, const struct redrive_message *message)
{
	const struct planned wanted = { .partition = message->partition, .offset = message->offset };
	struct dead_letter letter;
	const struct planned *found = plan->count > 0 ? bsearch(&wanted, plan->letters, plan->count,
								sizeof *plan->letters, by_place)
						      : NULL;
	bool same = found && found->written_ms == message->written_ms &&
		    dead_letter_read(message->headers, &letter) &&
		    str_is(letter.reason, plan->reasons[found->reason].name);
	return same ? (enum redrive_fate)found->fate : REDRIVE_FATES_;
}
