#include "compare/pairing.h"

void compare_set_pair(struct compare_pairing *pairing, const struct result_set *generated,
		      const struct result_set *truth, size_t truth_column, size_t generated_column)
{
	pairing->pairs[truth_column] = (struct compare_pair){
		generated_column,
		compare_mode_of(generated->columns[generated_column].type, truth->columns[truth_column].type),
	};
}

uint64_t compare_twin_mark(const struct pairing_side *side, struct pairing_candidate *candidate)
{
	if (candidate->sequence == 0) {
		const uint64_t *values = compare_table_exact(side->table, candidate->column);
		candidate->sequence = side->set->columns[candidate->column].type + 1;
		for (size_t row = 0; row < side->set->rows_count; row++)
			candidate->sequence = compare_mix(candidate->sequence, values[row]);
	}
	return candidate->sequence;
}

void compare_add_anchor(struct pairing_side *side, const uint64_t *values)
{
	for (size_t row = 0; row < side->set->rows_count; row++)
		side->anchors[row] = compare_mix(side->anchors[row], values[row]);
}

void compare_spend(size_t *budget, size_t work)
{
	*budget -= work < *budget ? work : *budget;
}
