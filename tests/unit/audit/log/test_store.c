/* The log's tables on a real PostgreSQL: guarded states, one tree from any batches, damage found and not
 * repaired. */
#include "audit/log/store.h"

#include "common/log.h"
#include "tests/harness/servers/database_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TOPIC  "scored-queries"
#define ORIGIN "log.example/scored-queries/"

/* All that the tables have of a partition, but for times. */
#define EVERYTHING                                                                                           \
	"SELECT md5(concat((SELECT string_agg(concat(size, next_offset, last_offset, last_leaf, state, "     \
	"stopped), ',') FROM audit_logs), (SELECT string_agg(concat(partition, level, index, hashes), ',' "  \
	"ORDER BY partition, level, index) FROM audit_tiles), (SELECT string_agg(concat(size, state, note)," \
	"',') FROM audit_checkpoints), (SELECT count(*) FROM audit_marks)))"

static struct audit_store *new_store(void)
{
	return audit_store_new(&(struct audit_store_options){ .dsn = server.socket_dsn });
}

static struct audit_store_log log_of(int32_t partition)
{
	return (struct audit_store_log){ TOPIC, partition };
}

static err_t try_open(struct audit_store *store, int32_t partition, struct audit_store_position *ret_position)
{
	struct audit_store_log log = log_of(partition);
	struct err_detail detail = { "" };
	char origin[100];
	snprintf(origin, sizeof origin, ORIGIN "%d", (int)partition);
	err_t err = audit_store_open(store, &log, origin, ret_position, &detail);
	if (err)
		print_message("%s\n", detail.message);
	return err;
}

static struct growth_position position_of(struct audit_store *store, int32_t partition)
{
	struct audit_store_position position;
	assert_int_equal(try_open(store, partition, &position), ERR_OK);
	assert_string_equal(position.stopped, "");
	return position.growth;
}

/* Leaves number `first` and so on: records, every third offset left out, and a mark at times. */
static void add_leaves(struct growth *growth, int first, int count)
{
	for (int n = first; n < first + count; n++) {
		int64_t next = growth->to.next_offset;
		char value[24];
		str_t text = { value, (size_t)snprintf(value, sizeof value, "value %d", n) };
		if (n % 500 == 77)
			assert_int_equal(growth_add_gap(growth, next + 3), ERR_OK);
		else if (n % 500 == 99)
			assert_int_equal(growth_begin_again(growth, 5, text), ERR_OK);
		else
			assert_int_equal(growth_add_record(growth, next + (n % 3 == 0), STR("k"), text),
					 ERR_OK);
	}
}

static err_t apply(struct audit_store *store, int32_t partition, const struct growth *growth,
		   const char *note)
{
	struct audit_store_step step = { log_of(partition), growth, note, false };
	struct err_detail detail = { "" };
	size_t failed = 99;
	err_t err = audit_store_apply(store, &step, 1, &failed, &detail);
	if (err)
		print_message("%s\n", detail.message);
	if (err == ERR_CONFLICT || err == ERR_AUDIT_DAMAGED)
		assert_int_equal(failed, 0);
	return err;
}

/* Grows a log from where it stands in the tables by that many leaves, in batches of that size. */
static struct growth_position grow(struct audit_store *store, int32_t partition, int leaves, int batch)
{
	struct growth growth = GROWTH_INIT;
	struct growth_position position = position_of(store, partition);
	for (int done = 0; done < leaves; done += batch) {
		growth_begin(&growth, &position);
		add_leaves(&growth, (int)position.range.size, batch < leaves - done ? batch : leaves - done);
		assert_int_equal(apply(store, partition, &growth, NULL), ERR_OK);
		position = growth.to;
	}
	growth_free(&growth);
	return position;
}

static void assert_same(const struct growth_position *a, const struct growth_position *b)
{
	struct merkle_hash root_a, root_b;
	merkle_range_root(&a->range, &root_a);
	merkle_range_root(&b->range, &root_b);
	assert_int_equal(a->range.size, b->range.size);
	assert_true(merkle_hash_equal(&root_a, &root_b));
	assert_true(a->next_offset == b->next_offset && a->last_offset == b->last_offset);
	assert_true(merkle_hash_equal(&a->last_leaf, &b->last_leaf));
}

static void remember(char text[64])
{
	query(EVERYTHING, text, 64);
}

/* ---- growing ---- */

static void any_batches_give_the_same_tree(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct growth_position whole = grow(store, 0, 1500, 1500), parts = grow(store, 1, 1500, 97), found;
	found = position_of(store, 0);
	assert_same(&whole, &parts);
	assert_same(&whole, &found);
	expect("SELECT count(*) FROM audit_tiles WHERE partition = 0", "7");
	expect("SELECT count(*) FROM audit_tiles a JOIN audit_tiles b USING (level, index, hashes) WHERE "
	       "a.partition = 0 AND b.partition = 1",
	       "7");
	expect("SELECT count(DISTINCT state) FROM audit_logs", "1");
	expect("SELECT string_agg(concat_ws(' ', index, kind, to_offset - from_offset, reason), ',' ORDER BY "
	       "index) FROM audit_marks WHERE partition = 1 AND kind = 'gap'",
	       "77 gap 3 ,577 gap 3 ,1077 gap 3 ");
	expect("SELECT string_agg(concat_ws(' ', index, to_offset, reason), ',' ORDER BY index) FROM "
	       "audit_marks WHERE partition = 1 AND kind = 'begins_again'",
	       "99 5 value 99,599 5 value 599,1099 5 value 1099");
}

static void proofs_come_from_the_tiles(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct growth_position position = grow(store, 0, 700, 300);
	struct err_detail detail = { "" };
	struct audit_store_tiles context = { store, log_of(0), &detail };
	struct tile_source tiles = { .read = audit_store_read_tile, .context = &context, .size = 700 };
	struct merkle_source source = { tile_source_node, &tiles };
	struct merkle_hash root, leaf;
	struct merkle_proof proof;
	merkle_range_root(&position.range, &root);
	leaf_hash(0 + 1, STR("k"), STR("value 0"), &leaf);
	assert_int_equal(merkle_prove_inclusion(&source, 0, 700, &proof), ERR_OK);
	assert_true(merkle_verify_inclusion(&proof, 0, 700, &leaf, &root));
	assert_int_equal(merkle_prove_inclusion(&source, 699, 700, &proof), ERR_OK);
	assert_true(merkle_verify_inclusion(&proof, 699, 700, &position.last_leaf, &root));
	tiles.size = 900;
	tiles.held = false;
	assert_int_equal(merkle_prove_inclusion(&source, 699, 900, &proof), ERR_AUDIT_DAMAGED);
	assert_non_null(strstr(detail.message, "tile 2 of level 0 has 188 hashes, not 256"));
}

static void positions_without_a_last_record_and_without_leaves(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct growth growth = GROWTH_INIT;
	struct growth_position position = position_of(store, 3), found;
	assert_same(&position, &GROWTH_START);
	growth_begin(&growth, &position);
	assert_int_equal(growth_skip_to(&growth, 20), ERR_OK);
	assert_int_equal(apply(store, 3, &growth, NULL), ERR_OK);
	found = position_of(store, 3);
	assert_same(&found, &growth.to);
	growth_begin(&growth, &found);
	assert_int_equal(growth_add_gap(&growth, INT64_C(1) << 40), ERR_OK);
	assert_int_equal(apply(store, 3, &growth, NULL), ERR_OK);
	found = position_of(store, 3);
	assert_same(&found, &growth.to);
	assert_true(found.last_offset == GROWTH_OFFSET_NONE && found.next_offset == INT64_C(1) << 40);
	growth_free(&growth);
}

static void checkpoints_are_stored_with_their_batch(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct growth growth = GROWTH_INIT;
	struct growth_position position = position_of(store, 0);
	growth_begin(&growth, &position);
	add_leaves(&growth, 0, 10);
	assert_int_equal(apply(store, 0, &growth, "a note\n\n\xe2\x80\x94 key sig\n"), ERR_OK);
	expect("SELECT concat_ws(' ', size, next_offset, note, in_topic_at IS NULL, in_file_at IS NULL) FROM "
	       "audit_checkpoints",
	       "10 14 a note\n\n\xe2\x80\x94 key sig\n t t");
	expect("SELECT c.state = l.state FROM audit_checkpoints c JOIN audit_logs l USING (topic, partition)",
	       "t");
	/* Nothing is added, and there is one of that size: of this tree, then of another. */
	position = position_of(store, 0);
	growth_begin(&growth, &position);
	assert_int_equal(apply(store, 0, &growth, "another\n"), ERR_CONFLICT);
	run_sql("UPDATE audit_checkpoints SET state = 'x'");
	assert_int_equal(apply(store, 0, &growth, "another\n"), ERR_AUDIT_DAMAGED);
	expect("SELECT count(*) FROM audit_checkpoints WHERE note LIKE 'a note%'", "1");
	growth_free(&growth);
}

/* ---- guards ---- */

static void a_log_moves_only_from_where_its_writer_knows_it(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	char before[64], after[64];
	struct growth growth = GROWTH_INIT;
	struct growth_position position = grow(store, 0, 300, 300), other;
	remember(before);
	for (int i = 0; i < 3; i++) {
		other = position;
		if (i == 0)
			other.next_offset++;
		else if (i == 1)
			other.range.hashes[2].bytes[0] ^= 1; /* 300 has that bit */
		else
			other.range.size -= 4;
		growth_begin(&growth, &other);
		add_leaves(&growth, 300, 5);
		assert_int_equal(apply(store, 0, &growth, "note\n"), ERR_CONFLICT);
	}
	/* A log that was never opened. */
	growth_begin(&growth, &GROWTH_START);
	add_leaves(&growth, 0, 5);
	assert_int_equal(apply(store, 9, &growth, NULL), ERR_CONFLICT);
	remember(after);
	assert_string_equal(before, after);
	growth_free(&growth);
}

static void what_is_delivered_twice_changes_nothing(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store(), *another = new_store();
	char before[64], after[64];
	struct growth growth = GROWTH_INIT;
	struct growth_position position = grow(store, 0, 300, 300), found;
	growth_begin(&growth, &position);
	add_leaves(&growth, 300, 300);
	assert_int_equal(apply(store, 0, &growth, "note\n"), ERR_OK);
	remember(before);
	assert_int_equal(apply(store, 0, &growth, "note\n"), ERR_CONFLICT);
	assert_int_equal(apply(another, 0, &growth, "note\n"), ERR_CONFLICT);
	remember(after);
	assert_string_equal(before, after);
	found = position_of(another, 0);
	assert_same(&found, &growth.to);
	growth_free(&growth);
}

static void one_step_that_does_not_fit_refuses_all(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	char before[64], after[64];
	struct growth first = GROWTH_INIT, second = GROWTH_INIT;
	struct growth_position position = position_of(store, 0), other = position_of(store, 1);
	struct audit_store_step steps[] = { { log_of(0), &first, "note\n", false },
					    { log_of(1), &second, NULL, false } };
	size_t failed = 99;
	other.next_offset = 7;
	growth_begin(&first, &position);
	growth_begin(&second, &other);
	add_leaves(&first, 0, 100);
	add_leaves(&second, 0, 100);
	remember(before);
	assert_int_equal(audit_store_apply(store, steps, 2, &failed, NULL), ERR_CONFLICT);
	assert_int_equal(failed, 1);
	remember(after);
	assert_string_equal(before, after);
	growth_begin(&second, &GROWTH_START);
	add_leaves(&second, 0, 100);
	assert_int_equal(audit_store_apply(store, steps, 2, &failed, NULL), ERR_OK);
	expect("SELECT sum(size) FROM audit_logs", "200");
	growth_free(&first);
	growth_free(&second);
}

static void a_stopped_log_stays_where_it_is(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct audit_store_position stopped;
	struct audit_store_log log = log_of(0), none = log_of(5);
	struct growth growth = GROWTH_INIT;
	struct growth_position position = grow(store, 0, 10, 10);
	char reason[3000];
	assert_int_equal(audit_store_stop(store, &log, "the topic was made anew", NULL), ERR_OK);
	assert_int_equal(audit_store_stop(store, &log, "another", NULL), ERR_OK);
	assert_int_equal(audit_store_stop(store, &none, "another", NULL), ERR_CONFLICT);
	growth_begin(&growth, &position);
	add_leaves(&growth, 10, 10);
	assert_int_equal(apply(store, 0, &growth, NULL), ERR_CONFLICT);
	assert_int_equal(try_open(store, 0, &stopped), ERR_OK);
	assert_string_equal(stopped.stopped, "the topic was made anew");
	assert_true(stopped.known);
	assert_same(&stopped.growth, &position);
	/* Also one whose state is damaged, so that the first reason is what people see. */
	run_sql("UPDATE audit_logs SET state = '', stopped = repeat('\xc3\xa4', 3000)");
	assert_int_equal(try_open(store, 0, &stopped), ERR_OK);
	memset(reason, 0, sizeof reason);
	for (int i = 0; i < 256; i++)
		memcpy(reason + (ptrdiff_t)2 * i, "\xc3\xa4", 2);
	assert_string_equal(stopped.stopped, reason);
	assert_false(stopped.known);
	growth_free(&growth);
}

static void a_stop_is_lifted_by_the_step_that_says_so(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct audit_store_log log = log_of(0);
	struct growth growth = GROWTH_INIT;
	struct growth_position position = grow(store, 0, 10, 10), found;
	struct audit_store_step step = { .log = log, .growth = &growth, .lifts_stop = true };
	struct err_detail detail = { "" };
	size_t failed;
	growth_begin(&growth, &position);
	assert_int_equal(growth_begin_again(&growth, 3, STR("restored")), ERR_OK);
	assert_int_equal(audit_store_apply(store, &step, 1, &failed, &detail), ERR_CONFLICT); /* it runs */
	assert_int_equal(audit_store_stop(store, &log, "made anew", NULL), ERR_OK);
	assert_int_equal(audit_store_apply(store, &step, 1, &failed, &detail), ERR_OK);
	found = position_of(store, 0);
	assert_same(&found, &growth.to);
	assert_int_equal(audit_store_apply(store, &step, 1, &failed, &detail), ERR_CONFLICT);
	growth_free(&growth);
}

static void another_origin_is_refused(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct audit_store_position position;
	struct audit_store_log first = log_of(0), second = log_of(1);
	struct err_detail detail = { "" };
	grow(store, 0, 10, 10);
	assert_int_equal(audit_store_open(store, &first, "another", &position, &detail),
			 ERR_DATABASE_REFUSED);
	assert_non_null(strstr(detail.message, "is " ORIGIN "0, not another"));
	assert_int_equal(audit_store_open(store, &second, ORIGIN "0", &position, &detail),
			 ERR_DATABASE_REFUSED);
	assert_non_null(strstr(detail.message, "another log"));
	expect("SELECT count(*) FROM audit_logs", "1");
}

/* ---- what is lost on the way ---- */

/* The connection ends while COMMIT waits: the transaction is there, and the writer does not know it. */
static void *end_waiting_commit(void *context)
{
	char found[64] = "no row";
	(void)context;
	while (strcmp(found, "t") != 0) {
		query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
		      "AND application_name = 'assayd audit log'",
		      found, sizeof found);
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
	return NULL;
}

static void reload_until(const char *value)
{
	char found[64] = "";
	run_sql("SELECT pg_reload_conf()");
	while (strcmp(found, value) != 0) {
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
		query("SHOW synchronous_standby_names", found, sizeof found);
	}
}

static void a_commit_of_unknown_outcome_is_tried_again(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct growth growth = GROWTH_INIT;
	struct growth_position position = grow(store, 0, 300, 300), found;
	pthread_t thread;
	char before[64], after[64];
	growth_begin(&growth, &position);
	add_leaves(&growth, 300, 300);
	remember(before);
	/* Not committed: the server ends the connection in the transaction's last moment. */
	run_sql("CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM "
		"pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$;"
		"CREATE CONSTRAINT TRIGGER hang_up AFTER UPDATE ON audit_logs DEFERRABLE INITIALLY DEFERRED "
		"FOR EACH ROW EXECUTE FUNCTION hang_up()");
	assert_int_equal(apply(store, 0, &growth, "note\n"), ERR_DATABASE_UNAVAILABLE);
	run_sql("DROP TRIGGER hang_up ON audit_logs");
	remember(after);
	assert_string_equal(before, after);
	/* Committed: the server waits for a standby that there is not. */
	run_sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	reload_until("nobody");
	assert_int_equal(pthread_create(&thread, NULL, end_waiting_commit, NULL), 0);
	err_t err = apply(store, 0, &growth, "note\n");
	pthread_join(thread, NULL);
	run_sql("ALTER SYSTEM RESET synchronous_standby_names");
	reload_until("");
	assert_int_equal(err, ERR_DATABASE_UNAVAILABLE);
	assert_int_equal(apply(store, 0, &growth, "note\n"), ERR_CONFLICT);
	found = position_of(store, 0);
	assert_same(&found, &growth.to);
	expect("SELECT concat_ws(' ', size, note) FROM audit_checkpoints", "600 note\n");
	growth_free(&growth);
}

static void a_restart_of_the_server_is_survived(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct growth growth = GROWTH_INIT;
	struct growth_position position = grow(store, 0, 300, 300), found;
	struct audit_store_position ignored;
	growth_begin(&growth, &position);
	add_leaves(&growth, 300, 10);
	assert_int_equal(test_postgres_do(&server, "kill"), 0);
	assert_int_equal(apply(store, 0, &growth, NULL), ERR_DATABASE_UNAVAILABLE);
	assert_int_equal(try_open(store, 0, &ignored), ERR_DATABASE_UNAVAILABLE);
	assert_int_equal(test_postgres_do(&server, "resume"), 0);
	assert_int_equal(apply(store, 0, &growth, NULL), ERR_OK);
	found = position_of(store, 0);
	assert_same(&found, &growth.to);
	audit_store_limit_waits(store, 1);
	assert_int_equal(apply(store, 0, &growth, NULL), ERR_DATABASE_UNAVAILABLE);
	growth_free(&growth);
}

/* ---- damage ---- */

static void damage_is_found_and_nothing_is_written(void **state)
{
	(void)state;
	/* 600 leaves: tiles 0 and 1 are full, tile 2 has 88, and the tile above has 2. */
	static const struct {
		const char *sql;
		err_t opened, applied;
	} cases[] = {
		{ "UPDATE audit_tiles SET hashes = substr(hashes, 33) WHERE level = 0 AND index = 2",
		  ERR_AUDIT_DAMAGED, ERR_AUDIT_DAMAGED },
		{ "UPDATE audit_tiles SET hashes = hashes || substr(hashes, 1, 32) WHERE level = 0 AND index "
		  "= 2",
		  ERR_OK, ERR_AUDIT_DAMAGED },
		{ "UPDATE audit_tiles SET hashes = set_bit(hashes, 99, 1 - get_bit(hashes, 99)) WHERE level "
		  "= 0 "
		  "AND index = 2",
		  ERR_AUDIT_DAMAGED, ERR_OK },
		{ "UPDATE audit_tiles SET hashes = set_bit(hashes, 99, 1 - get_bit(hashes, 99)) WHERE level "
		  "= 1",
		  ERR_AUDIT_DAMAGED, ERR_OK },
		{ "DELETE FROM audit_tiles WHERE level = 1", ERR_AUDIT_DAMAGED, ERR_AUDIT_DAMAGED },
		{ "DELETE FROM audit_tiles WHERE level = 0 AND index = 2", ERR_AUDIT_DAMAGED,
		  ERR_AUDIT_DAMAGED },
		{ "INSERT INTO audit_tiles SELECT topic, partition, 0, 3, substr(hashes, 1, 32) FROM "
		  "audit_tiles "
		  "WHERE level = 0 AND index = 2",
		  ERR_OK, ERR_AUDIT_DAMAGED },
		{ "INSERT INTO audit_marks VALUES ('" TOPIC "', 0, 777, 'gap', 1, 2, '')", ERR_OK, ERR_OK },
		{ "INSERT INTO audit_marks VALUES ('" TOPIC "', 0, 1077, 'gap', 1, 2, '')", ERR_OK,
		  ERR_AUDIT_DAMAGED },
		{ "INSERT INTO audit_checkpoints SELECT topic, partition, 1100, 1, state, '' FROM audit_logs",
		  ERR_AUDIT_DAMAGED, ERR_AUDIT_DAMAGED },
		{ "INSERT INTO audit_checkpoints SELECT topic, partition, 600, 1, 'x', '' FROM audit_logs",
		  ERR_AUDIT_DAMAGED, ERR_OK },
		{ "INSERT INTO audit_checkpoints SELECT topic, partition, 600, 1, state, '' FROM audit_logs",
		  ERR_OK, ERR_OK },
		{ "UPDATE audit_logs SET state = set_bit(state, 99, 1 - get_bit(state, 99))",
		  ERR_AUDIT_DAMAGED, ERR_CONFLICT },
		{ "UPDATE audit_logs SET size = 601", ERR_AUDIT_DAMAGED, ERR_CONFLICT },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		drop_tables(NULL);
		_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
		struct growth growth = GROWTH_INIT;
		struct growth_position position = grow(store, 0, 600, 600);
		struct audit_store_position opened;
		char before[64], after[64];
		run_sql(cases[i].sql);
		remember(before);
		growth_begin(&growth, &position);
		add_leaves(&growth, 600, 500);
		assert_int_equal(try_open(store, 0, &opened), cases[i].opened);
		assert_int_equal(apply(store, 0, &growth, "note\n"), cases[i].applied);
		remember(after);
		assert_int_equal(strcmp(before, after) != 0, cases[i].applied == ERR_OK);
		growth_free(&growth);
	}
}

/* ---- side by side ---- */

enum { BATCHES = 60 };

struct writer {
	int moved, conflicts, others;
};

/* Two owners of one log, each of which takes itself for the only one. */
static void *write_batches(void *context)
{
	struct writer *writer = context;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	struct audit_store_log log = log_of(0);
	struct audit_store_position position;
	struct growth growth = GROWTH_INIT;
	while (writer->moved < BATCHES && !writer->others) {
		err_t err = audit_store_open(store, &log, ORIGIN "0", &position, NULL);
		while (!err && writer->moved < BATCHES) {
			struct audit_store_step step = { log, &growth, NULL, false };
			size_t failed;
			growth_begin(&growth, &position.growth);
			add_leaves(&growth, (int)growth.to.range.size, 70);
			err = audit_store_apply(store, &step, 1, &failed, NULL);
			writer->moved += !err;
			position.growth = growth.to;
		}
		writer->conflicts += err == ERR_CONFLICT;
		writer->others += err && err != ERR_CONFLICT;
	}
	growth_free(&growth);
	return NULL;
}

static void two_owners_grow_one_tree(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store();
	pthread_t threads[2];
	struct writer writers[2] = { { 0 } };
	struct growth_position alone, found;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_batches, &writers[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(writers[i].others, 0);
		assert_int_equal(writers[i].moved, BATCHES);
	}
	alone = grow(store, 1, 2 * BATCHES * 70, 10000);
	found = position_of(store, 0);
	assert_same(&found, &alone);
}

static void newer_tables_are_refused(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store(), *older = new_store();
	struct audit_store_position ignored;
	grow(store, 0, 10, 10);
	run_sql("INSERT INTO audit_versions (version) VALUES (999)");
	assert_int_equal(try_open(older, 0, &ignored), ERR_DATABASE_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(any_batches_give_the_same_tree, drop_tables),
		cmocka_unit_test_setup(proofs_come_from_the_tiles, drop_tables),
		cmocka_unit_test_setup(positions_without_a_last_record_and_without_leaves, drop_tables),
		cmocka_unit_test_setup(checkpoints_are_stored_with_their_batch, drop_tables),
		cmocka_unit_test_setup(a_log_moves_only_from_where_its_writer_knows_it, drop_tables),
		cmocka_unit_test_setup(what_is_delivered_twice_changes_nothing, drop_tables),
		cmocka_unit_test_setup(one_step_that_does_not_fit_refuses_all, drop_tables),
		cmocka_unit_test_setup(a_stopped_log_stays_where_it_is, drop_tables),
		cmocka_unit_test_setup(a_stop_is_lifted_by_the_step_that_says_so, drop_tables),
		cmocka_unit_test_setup(another_origin_is_refused, drop_tables),
		cmocka_unit_test_setup(a_commit_of_unknown_outcome_is_tried_again, drop_tables),
		cmocka_unit_test_setup(a_restart_of_the_server_is_survived, drop_tables),
		cmocka_unit_test_setup(damage_is_found_and_nothing_is_written, drop_tables),
		cmocka_unit_test_setup(two_owners_grow_one_tree, drop_tables),
		cmocka_unit_test_setup(newer_tables_are_refused, drop_tables),
	};
	log_set_level(LOG_LEVEL_WARNING);
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
