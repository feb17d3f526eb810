#include "score/agreement.h"

#include "common/err.h"

double agreement_share(size_t same, size_t candidates)
{
	return (double)(same + 1) / (double)(candidates + 1);
}

bool agreement_is_known(size_t candidates, size_t left_out)
{
	return left_out <= candidates + 1 - left_out;
}

opt_double_t agreement_factor(opt_double_t canonical, opt_double_t results, str_t code)
{
	if (results.set)
		return results;
	if (!str_present(code) || str_is(code, err_name(ERR_CANDIDATES_UNPROVEN)))
		return canonical;
	return str_is(code, err_name(ERR_ANSWER_FAILED)) ? opt_double(0) : (opt_double_t)OPT_NONE;
}

bool agreement_error_of_target(str_t code)
{
	static const char prefix[] = "target_";
	return (code.len >= strlen(prefix) && memcmp(code.ptr, prefix, strlen(prefix)) == 0) ||
	       str_is(code, err_name(ERR_SHUTTING_DOWN));
}
