#include "avro/second_opinion.h"

#include "common/cleanup.h"

#include <avro.h>
#include <pthread.h>

struct second_opinion {
	bool *seen; /* by node number: named types */
};

DEFINE_CLEANUP(struct avro_obj_t, avro_cleanup, avro_schema_decref)

static bool is_named(const struct schema_node *node)
{
	return node->type == SCHEMA_RECORD || node->type == SCHEMA_ENUM || node->type == SCHEMA_FIXED;
}

/* Whether the node has been there before, and is to be passed over now. */
static bool again(struct second_opinion *opinion, const struct schema_node *node)
{
	bool before = opinion->seen[node->number];
	opinion->seen[node->number] = is_named(node);
	return before;
}

static bool can_take(struct second_opinion *opinion, const struct schema_node *node, bool in_namespace)
{
	bool has_namespace = is_named(node) && memchr(node->name.ptr, '.', node->name.len);
	if (is_named(node) && in_namespace && !has_namespace)
		return false;
	if (again(opinion, node))
		return true;
	if ((node->type == SCHEMA_RECORD || node->type == SCHEMA_ENUM || node->type == SCHEMA_UNION) &&
	    node->count == 0)
		return false;
	for (size_t i = 0; node->children && i < node->count; i++)
		if (!can_take(opinion, node->children[i], in_namespace || has_namespace))
			return false;
	return true;
}

static bool same_name(const struct schema_node *node, avro_schema_t theirs)
{
	const char *namespace = avro_schema_namespace(theirs), *name = avro_schema_name(theirs);
	size_t before = namespace ? strlen(namespace) + 1 : 0;
	return node->name.len == before + strlen(name) && strcmp(node->name.ptr + before, name) == 0 &&
	       (!namespace || strncmp(node->name.ptr, namespace, before - 1) == 0);
}

static bool same(struct second_opinion *opinion, const struct schema_node *node, avro_schema_t theirs);

static bool same_fields(struct second_opinion *opinion, const struct schema_node *node, avro_schema_t theirs)
{
	if (avro_schema_record_size(theirs) != node->count)
		return false;
	for (size_t i = 0; i < node->count; i++)
		if (!str_is(node->labels[i], avro_schema_record_field_name(theirs, (int)i)) ||
		    !same(opinion, node->children[i], avro_schema_record_field_get_by_index(theirs, (int)i)))
			return false;
	return true;
}

static bool same_symbols(const struct schema_node *node, avro_schema_t theirs)
{
	if ((size_t)avro_schema_enum_number_of_symbols(theirs) != node->count)
		return false;
	for (size_t i = 0; i < node->count; i++)
		if (!str_is(node->labels[i], avro_schema_enum_get(theirs, (int)i)))
			return false;
	return true;
}

static bool same_branches(struct second_opinion *opinion, const struct schema_node *node,
			  avro_schema_t theirs)
{
	if (avro_schema_union_size(theirs) != node->count)
		return false;
	for (size_t i = 0; i < node->count; i++)
		if (!same(opinion, node->children[i], avro_schema_union_branch(theirs, (int)i)))
			return false;
	return true;
}

static bool same(struct second_opinion *opinion, const struct schema_node *node, avro_schema_t theirs)
{
	static const avro_type_t types[SCHEMA_TYPE_COUNT_] = {
		[SCHEMA_NULL] = AVRO_NULL,   [SCHEMA_BOOLEAN] = AVRO_BOOLEAN, [SCHEMA_INT] = AVRO_INT32,
		[SCHEMA_LONG] = AVRO_INT64,  [SCHEMA_FLOAT] = AVRO_FLOAT,     [SCHEMA_DOUBLE] = AVRO_DOUBLE,
		[SCHEMA_BYTES] = AVRO_BYTES, [SCHEMA_STRING] = AVRO_STRING,   [SCHEMA_RECORD] = AVRO_RECORD,
		[SCHEMA_ENUM] = AVRO_ENUM,   [SCHEMA_ARRAY] = AVRO_ARRAY,     [SCHEMA_MAP] = AVRO_MAP,
		[SCHEMA_UNION] = AVRO_UNION, [SCHEMA_FIXED] = AVRO_FIXED,
	};
	bool link = is_avro_link(theirs);
	if (link)
		theirs = avro_schema_link_target(theirs);
	if (avro_typeof(theirs) != types[node->type] || (is_named(node) && !same_name(node, theirs)))
		return false;
	if (again(opinion, node))
		return link;
	if (link)
		return false;
	switch (node->type) {
	case SCHEMA_RECORD:
		return same_fields(opinion, node, theirs);
	case SCHEMA_ENUM:
		return same_symbols(node, theirs);
	case SCHEMA_FIXED:
		return (uint64_t)avro_schema_fixed_size(theirs) == node->size_bytes;
	case SCHEMA_UNION:
		return same_branches(opinion, node, theirs);
	case SCHEMA_ARRAY:
		return same(opinion, node->children[0], avro_schema_array_items(theirs));
	case SCHEMA_MAP:
		return same(opinion, node->children[0], avro_schema_map_values(theirs));
	default:
		return true;
	}
}

err_t second_opinion_ask(const struct schema *schema, str_t text, struct err_detail *detail)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	_cleanup_(cleanup_free) bool *seen = calloc(2 * schema->nodes_count, sizeof *seen);
	if (!seen)
		abort();
	struct second_opinion asked = { seen }, compared = { seen + schema->nodes_count };
	if (!can_take(&asked, schema->root, false))
		return ERR_OK;
	_cleanup_(avro_cleanup) avro_schema_t theirs = NULL;
	err_t err = ERR_OK;
	pthread_mutex_lock(&one_at_a_time);
	if (avro_schema_from_json_length(text.ptr, text.len, &theirs)) {
		theirs = NULL;
		err = err_fail(detail, ERR_SCHEMA_INCOMPATIBLE,
			       "Avro's own library does not read the schema: %s", avro_strerror());
	}
	if (!err && !same(&compared, schema->root, theirs))
		err = err_fail(detail, ERR_SCHEMA_INCOMPATIBLE,
			       "Avro's own library reads the schema as another one");
	pthread_mutex_unlock(&one_at_a_time);
	return err;
}
