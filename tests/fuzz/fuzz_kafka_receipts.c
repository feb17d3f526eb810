/* Receipts of a redrive from hostile bytes: what is accepted says only what a receipt at its place can say,
 * and written anew it says the same. */
#include "kafka/receipts.h"

#include <assert.h>

enum { AT = 600 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(receipts_cleanup) struct receipts *receipts = receipts_new(), *again = receipts_new();
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	const str_t value = { (const char *)data, size };
	int64_t offsets[AT];
	size_t count = 0;
	err_t err = receipts_take(receipts, STR(RECEIPTS_VERSION), value, AT, NULL);
	receipts_settle(receipts);
	for (int64_t offset = 0; offset < AT; offset++)
		if (receipts_have(receipts, offset))
			offsets[count++] = offset;
	assert(!receipts_have(receipts, AT) && !receipts_have(receipts, -1));
	assert((err == ERR_OK) == (count > 0));
	if (err)
		return 0;
	receipts_write(offsets, count, &text);
	err = receipts_take(again, STR(RECEIPTS_VERSION), buf_str(&text), AT, NULL);
	assert(err == ERR_OK);
	receipts_settle(again);
	for (int64_t offset = 0; offset < AT; offset++)
		assert(receipts_have(again, offset) == receipts_have(receipts, offset));
	return 0;
}
