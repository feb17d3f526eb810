#include "command/verification.h"

#include "common/terminal.h"

#include <jansson.h>

typedef unsigned long long number;

/* ---- for people ---- */

static void print_differences(const struct differences *differences)
{
	for (unsigned i = 0; i < differences_described(differences); i++)
		terminal_print_line(stdout, "  %s: %s", difference_kind_name(differences->items[i].kind),
				    differences->items[i].text);
	if (differences->count > DIFFERENCES_MAX)
		printf("  and %llu more differences\n", (number)differences->count - DIFFERENCES_MAX);
}

static void print_head(const struct verification_part *part)
{
	const struct partition_check_result *result = &part->result;
	if (verification_is_verified(part))
		printf("verified: %llu records below %llu leaves, %llu of %llu checkpoints fit",
		       (number)result->covered, (number)result->verified_size, (number)result->claims_fitting,
		       (number)result->claims_count);
	else
		printf("NOT VERIFIED: %llu of %llu records fit below %llu leaves, %llu of %llu checkpoints "
		       "fit",
		       (number)result->covered, (number)result->records, (number)result->verified_size,
		       (number)result->claims_fitting, (number)result->claims_count);
	puts(result->whole ? "; the tree follows from the records alone" : "");
}

/* What the head says nothing of. */
static void print_not_covered(const struct verification_part *part)
{
	const struct partition_check_result *result = &part->result;
	if (result->logged)
		printf("  not covered: %llu records are in the log and below no checkpoint that fits\n",
		       (number)result->logged);
	if (result->unlogged)
		printf("  not covered: %llu records, from offset %lld to %lld, are %s\n",
		       (number)result->unlogged, (long long)result->unlogged_from,
		       (long long)result->unlogged_to,
		       part->has_tiles ? "not in the log yet" : "below no checkpoint that fits");
	if (result->gone)
		printf("  not kept: the records of %llu leaves are not there any more\n",
		       (number)result->gone);
	if (part->spare.older)
		printf("  checkpoints: %llu are older than those that the database keeps\n",
		       (number)part->spare.older);
	if (part->spare.newer)
		printf("  checkpoints: %llu of the database are newer than those of the file\n",
		       (number)part->spare.newer);
}

static void print_marks(const struct verification_part *part)
{
	for (size_t i = 0; i < part->marks_count; i++) {
		const struct growth_mark *mark = &part->marks[i];
		terminal_print_line(
			stdout, "  mark: leaf %llu: %s from offset %lld to %lld%s%s", (number)mark->index,
			mark->mark.kind == LEAF_MARK_GAP ? "deleted unread" : "the log begins again",
			(long long)mark->mark.from_offset, (long long)mark->mark.to_offset,
			*mark->reason ? ": " : "", mark->reason);
	}
}

static void print_part(const struct verification *verification, const struct verification_part *part)
{
	printf("partition %d of %s: ", (int)part->partition, verification->topic);
	if (verification_is_empty(part)) {
		puts("nothing yet");
		return;
	}
	print_head(part);
	print_not_covered(part);
	print_marks(part);
	if (part->bad)
		terminal_print_line(
			stdout, "  unsigned: %u checkpoints are not signed by a trusted key, the first %s",
			part->bad, part->first_bad);
	print_differences(&part->differences);
}

/* ---- as JSON ---- */

static json_t *differences_json(const struct differences *differences)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < differences_described(differences); i++) {
		const struct difference *found = &differences->items[i];
		json_t *text = json_string(found->text); /* what it cites may be cut or no text */
		json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:o}", "kind", difference_kind_name(found->kind),
					"from_offset", (json_int_t)found->from_offset, "to_offset",
					(json_int_t)found->to_offset, "text", text ? text : json_string("")));
	}
	return list;
}

static json_t *part_json(const struct verification_part *part)
{
	const struct partition_check_result *result = &part->result;
	json_t *stopped =
		str_present(part->stopped) ? json_stringn(part->stopped.ptr, part->stopped.len) : json_null();
	return json_pack("{s:i, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:i, s:I, "
			 "s:I, s:o, s:I, "
			 "s:o}",
			 "partition", (int)part->partition, "verified", verification_is_verified(part),
			 "records", (json_int_t)result->records, "records_verified",
			 (json_int_t)result->covered, "records_logged_only", (json_int_t)result->logged,
			 "records_unlogged", (json_int_t)result->unlogged, "unlogged_from",
			 (json_int_t)result->unlogged_from, "unlogged_to", (json_int_t)result->unlogged_to,
			 "records_compared", (json_int_t)result->compared, "leaves_verified",
			 (json_int_t)result->verified_size, "leaves_gone", (json_int_t)result->gone,
			 "checkpoints_fitting", (json_int_t)result->claims_fitting, "checkpoints",
			 (json_int_t)result->claims_count, "from_records_alone", result->whole,
			 "checkpoints_unsigned", (int)part->bad, "checkpoints_older",
			 (json_int_t)part->spare.older, "checkpoints_newer", (json_int_t)part->spare.newer,
			 "stopped", stopped, "differences_count", (json_int_t)part->differences.count,
			 "differences", differences_json(&part->differences));
}

static void print_json(const struct verification *verification)
{
	json_t *partitions = json_array(), *all;
	for (size_t i = 0; i < verification->parts_count; i++)
		json_array_append_new(partitions, part_json(verification->parts[i]));
	all = json_pack("{s:s, s:b, s:I, s:I, s:I, s:o, s:o}", "topic", verification->topic, "with_database",
			verification->store != NULL, "checkpoints_of_others",
			(json_int_t)verification->others, "interrupted_appends",
			(json_int_t)verification->torn, "differences_count",
			(json_int_t)verification->differences.count, "differences",
			differences_json(&verification->differences), "partitions", partitions);
	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	puts("");
	json_decref(all);
}

void verification_print(const struct verification *verification)
{
	if (verification->options->json) {
		print_json(verification);
		return;
	}
	for (size_t i = 0; i < verification->parts_count; i++)
		print_part(verification, verification->parts[i]);
	if (verification->differences.count)
		puts("of no partition:");
	print_differences(&verification->differences);
	if (verification->torn)
		fprintf(stderr,
			"assayd: %llu appends to the file of checkpoints were interrupted; what they have "
			"left "
			"is the beginning of checkpoints\n",
			(number)verification->torn);
}
