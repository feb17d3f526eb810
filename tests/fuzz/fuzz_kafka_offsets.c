/* The completion map from hostile metadata: what is accepted must encode and restore to the same answers. */
#include "kafka/offsets.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	int64_t committed = data[0] | data[1] << 8;
	struct offsets *offsets, *again;
	bool foreign;
	if (offsets_restore(committed, (str_t){ (const char *)data + 2, size - 2 }, &offsets, &foreign) !=
	    ERR_OK)
		return 0;
	if (offsets_metadata_bytes(offsets) <= OFFSETS_METADATA_BYTES) {
		_cleanup_(buf_free) struct buf metadata = BUF_INIT;
		offsets_encode(offsets, &metadata);
		err_t err = offsets_restore(offsets_prefix(offsets), buf_str(&metadata), &again, &foreign);
		assert(err == ERR_OK && !foreign);
		for (int64_t i = 0; i < 2000; i++)
			assert(offsets_arrive(offsets, committed + i, 0, 0) ==
			       offsets_arrive(again, committed + i, 0, 0));
		offsets_free(again);
	}
	offsets_free(offsets);
	return 0;
}
