#include "command/verification.h"

enum { PARTITIONS_MAX = 100000 };

void verification_end(struct verification *verification)
{
	for (size_t i = 0; i < verification->parts_count; i++) {
		log_claims_free(&verification->parts[i]->claims);
		log_rows_free(&verification->parts[i]->rows);
		partition_check_free(verification->parts[i]->check);
	}
	free(verification->parts);
	topic_reader_free(verification->reader);
	audit_store_free(verification->store);
	config_unref(verification->config);
}

struct verification_part *verification_part_of(struct verification *verification, int32_t partition)
{
	for (size_t i = 0; i < verification->parts_count; i++)
		if (verification->parts[i]->partition == partition)
			return verification->parts[i];
	if (verification->parts_count == PARTITIONS_MAX)
		return NULL;
	if (verification->parts_count == verification->parts_capacity) {
		verification->parts_capacity =
			verification->parts_capacity ? 2 * verification->parts_capacity : 64;
		verification->parts = reallocarray(verification->parts, verification->parts_capacity,
						   sizeof *verification->parts);
		if (!verification->parts)
			abort();
	}
	struct verification_part *part = ARENA_NEW(verification->arena, struct verification_part);
	verification->parts[verification->parts_count++] = part;
	*part = (struct verification_part){ .partition = partition, .next_offset = -1 };
	return part;
}

bool verification_is_verified(const struct verification_part *part)
{
	return part->differences.count == 0 && part->bad == 0 && part->result.claims_fitting > 0;
}

bool verification_is_empty(const struct verification_part *part)
{
	return part->result.records == 0 && part->claims.count == 0 && part->bad == 0 &&
	       part->tiles_size == 0 && part->differences.count == 0;
}

bool verification_is_covered(const struct verification_part *part)
{
	return part->result.logged == 0 && part->result.unlogged == 0;
}

bool verification_is_kept(const struct verification_part *part)
{
	return part->result.gone == 0;
}
