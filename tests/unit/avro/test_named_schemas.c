#include "support.h"

#include "avro/named_schemas.h"

#include <pthread.h>

enum { NAMES = 2000 };

static int values[NAMES];

static struct schema_name name_of(unsigned i)
{
	struct schema_name name = { .id = i * 64 };
	if (i % 2 == 0)
		return name;
	name = (struct schema_name){ .by_guid = true };
	memcpy(name.guid, &i, sizeof i);
	return name;
}

/* Whoever finds a name has its value. */
static void *look(void *context)
{
	const struct named_schemas *schemas = context;
	for (unsigned found = 0; found < NAMES;) {
		found = 0;
		for (unsigned i = 0; i < NAMES; i++) {
			const struct schema_name name = name_of(i);
			const void *value = named_schemas_find(schemas, &name);
			assert_true(!value || value == &values[i]);
			found += value != NULL;
		}
	}
	return NULL;
}

static void test_finding_while_adding(void **state)
{
	(void)state;
	struct named_schemas *schemas = named_schemas_new(NAMES);
	pthread_t threads[2];
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, schemas), 0);
	for (unsigned i = 0; i < NAMES; i++) {
		const struct schema_name name = name_of(i);
		assert_true(named_schemas_add(schemas, &name, &values[i]));
	}
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	/* what is known stays, and there is no room for more */
	const struct schema_name first = name_of(0), more = { .id = 1 };
	assert_true(named_schemas_add(schemas, &first, &values[1]));
	assert_ptr_equal(named_schemas_find(schemas, &first), &values[0]);
	assert_false(named_schemas_add(schemas, &more, &values[1]));
	assert_null(named_schemas_find(schemas, &more));
	assert_int_equal(named_schemas_count(schemas), NAMES);
	named_schemas_free(schemas);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_finding_while_adding) };
	return cmocka_run_group_tests_name("named_schemas", tests, NULL, NULL);
}
