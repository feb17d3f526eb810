#include "event/share.h"

bool share_is_sound(opt_double_t share)
{
	/* in this form, because NaN compares with nothing */
	return !share.set || (share.value >= 0 && share.value <= 1);
}
