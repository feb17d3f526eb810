#include "score/agreement.h"

opt_double_t agreement_share(str_t answer, const str_t *candidates, size_t count)
{
	size_t same = 1;
	if (!str_present(answer))
		return (opt_double_t)OPT_NONE;
	for (size_t i = 0; i < count; i++)
		same += str_present(candidates[i]) && str_equal(answer, candidates[i]);
	return opt_double((double)same / (double)(count + 1));
}
