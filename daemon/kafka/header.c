#include "kafka/header.h"

static const char *const names[] = {
#define HEADER(symbol, name, messages) [HEADER_##symbol] = name,
#include "kafka/header.def"
};

const char *header_name(enum header header)
{
	return names[header];
}
