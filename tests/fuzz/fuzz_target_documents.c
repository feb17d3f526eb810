/* Documents of a server of MongoDB as rows: any bytes that the library takes for one are read within bounds;
 * every cell and name is valid UTF-8, and each row has all columns. */
#include "target/mongodb_documents.h" // first: its library calls what banned.h forbids

#include "common/utf8.h"
#include "target/mongodb_values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct result_set *set)
{
	for (size_t i = 0; i < set->columns_count; i++)
		if (!utf8_valid(set->columns[i].name.ptr, set->columns[i].name.len))
			abort();
	for (size_t i = 0; i < set->rows_count * set->columns_count; i++)
		if (str_present(set->cells[i]) && !utf8_valid(set->cells[i].ptr, set->cells[i].len))
			abort();
}

/* The documents stand one behind the other, as in a batch. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct result_builder builder = { .arena = arena, .max_rows = 100, .max_bytes = 1 << 20 };
	struct mongodb_documents *documents = mongodb_documents_new(&builder, 100, 1 << 20, "k");
	for (size_t at = 0; at + sizeof(uint32_t) < size;) {
		uint32_t len;
		bson_t document;
		memcpy(&len, data + at, sizeof len);
		len = BSON_UINT32_FROM_LE(len);
		if (len > size - at || !bson_init_static(&document, data + at, len) ||
		    !mongodb_documents_take(documents, &document))
			break;
		(void)mongodb_values_refused(&document);
		at += len;
	}
	mongodb_documents_finish(documents);
	struct result_set set = result_finish(&builder);
	check(&set);
	mongodb_documents_free(documents);
	result_free(&builder);
	arena_free(arena);
	return 0;
}
