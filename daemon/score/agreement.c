#include "score/agreement.h"

double agreement_share(size_t same, size_t candidates)
{
	return (double)(same + 1) / (double)(candidates + 1);
}
