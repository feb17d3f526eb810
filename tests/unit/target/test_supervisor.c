/* The supervisor and its processes: bounds, failures, the end. On SQLite files, so that no server is needed.
 */
#include "target/message.h"
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/unit/target/calls.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SECRET	"s3cret-in-a-file"
#define ENDLESS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
#define QUERY_OF_MS                                                                                          \
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT count(*) "     \
	"FROM n"
#define CALLS	    50
#define SUBMITTERS  4
#define MAX_WORKERS 8

static char directory[] = "/tmp/assayd-test-targets-XXXXXX";
static char path[256], other_path[256], state_directory[256], secret_path[256];

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/shop.db", directory);
	snprintf(other_path, sizeof other_path, "%s/other.db", directory);
	snprintf(state_directory, sizeof state_directory, "%s/state", directory);
	snprintf(secret_path, sizeof secret_path, "%s/secret", directory);
	mkdir(state_directory, 0700);
	test_sqlite_run(path, "CREATE TABLE shop (id INTEGER)");
	test_sqlite_run(other_path, "CREATE TABLE other (id INTEGER)");
	FILE *file = fopen(secret_path, "w");
	fprintf(file, SECRET "\n");
	fclose(file);
	return 0;
}

static int tear_down(void **state)
{
	char command[300];
	(void)state;
	snprintf(command, sizeof command, "rm -r %s", directory);
	return system(command);
}

static void submit(struct targets *targets, struct test_call *test, const char *target, const char *generated,
		   const char *truth)
{
	test_call_init(test, target, generated, truth);
	targets_submit(targets, &test->call);
}

static void expect_error(struct test_call *test, err_t err)
{
	const struct validation_result *result = test_call_wait(test);
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
	assert_int_equal(result->error, err);
	assert_true(result->message.len > 0);
	test_call_free(test);
}

static void expect_success(struct targets *targets, const char *target)
{
	struct test_call test;
	submit(targets, &test, target, "SELECT 1", "SELECT 1");
	assert_true(test_call_wait(&test)->score == 1.0);
	test_call_free(&test);
}

/* --- looking at the processes --- */

static bool is_child(const char *pid)
{
	char file[64], line[512] = "";
	long parent = 0;
	char status = 0;
	snprintf(file, sizeof file, "/proc/%s/stat", pid);
	FILE *stat = fopen(file, "r");
	if (!stat)
		return false;
	if (!fgets(line, sizeof line, stat))
		line[0] = '\0';
	fclose(stat);
	const char *behind = strrchr(line, ')');
	return behind && sscanf(behind, ") %c %ld", &status, &parent) == 2 && parent == (long)getpid() &&
	       status != 'Z';
}

static size_t find_workers(pid_t workers[MAX_WORKERS])
{
	size_t count = 0;
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; (entry = readdir(processes)) && count < MAX_WORKERS;)
		if (isdigit((unsigned char)entry->d_name[0]) && is_child(entry->d_name))
			workers[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
	closedir(processes);
	return count;
}

static pid_t only_worker(void)
{
	pid_t workers[MAX_WORKERS];
	assert_int_equal(find_workers(workers), 1);
	return workers[0];
}

static size_t read_process_file(pid_t pid, const char *name, char *ret_content, size_t size)
{
	char file[64];
	snprintf(file, sizeof file, "/proc/%d/%s", (int)pid, name);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	ssize_t got = read(fd, ret_content, size - 1);
	close(fd);
	assert_true(got >= 0);
	ret_content[got] = '\0';
	return (size_t)got;
}

static size_t count_descriptors(pid_t pid)
{
	char file[64];
	size_t count = 0;
	snprintf(file, sizeof file, "/proc/%d/fd", (int)pid);
	DIR *descriptors = opendir(file);
	assert_non_null(descriptors);
	for (struct dirent *entry; (entry = readdir(descriptors));)
		count += entry->d_name[0] != '.';
	closedir(descriptors);
	return count;
}

static void await_workers(size_t count)
{
	pid_t workers[MAX_WORKERS];
	for (int i = 0; i < 600 && find_workers(workers) != count; i++)
		sleep_ms(100);
	assert_int_equal(find_workers(workers), count);
}

/* Whether they were needed at the same time or not: after a while none is left, without a word of a death,
 * and the next event finds one. */
static void workers_that_nobody_needs_end(void **state)
{
	enum { CALLS_AT_ONCE = 4 };
	struct target_settings settings = sqlite_settings("shop", path);
	struct test_call tests[CALLS_AT_ONCE];
	struct target_statistics statistics;
	(void)state;
	settings.connections = CALLS_AT_ONCE;
	settings.idle_timeout_s = 1;
	struct targets *targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(targets, 30000);
	for (int i = 0; i < CALLS_AT_ONCE; i++) {
		test_call_init(&tests[i], "shop", "SELECT 1", "SELECT 1");
		targets_submit(targets, &tests[i].call);
	}
	for (int i = 0; i < CALLS_AT_ONCE; i++) {
		assert_true(test_call_wait(&tests[i])->score == 1.0);
		test_call_free(&tests[i]);
	}
	await_workers(0);
	expect_success(targets, "shop");
	await_workers(0);
	targets_statistics(targets, 0, &statistics);
	assert_int_equal(statistics.died + statistics.killed, 0);
	targets_stop(targets);
}

/* --- starting --- */

static void settings_are_checked_at_the_start(void **state)
{
	(void)state;
	struct target_settings good = sqlite_settings("shop", path);
	struct target_settings settings[8][2];
	for (size_t i = 0; i < 8; i++)
		settings[i][0] = settings[i][1] = good, settings[i][1].name = "second";
	settings[0][1].name = "shop";
	settings[1][1] = postgresql_settings("second", "host=db user=u ssl_verfy=on password=hunter2");
	settings[1][1].engine = TARGET_MARIADB;
	settings[2][1] = postgresql_settings("second", "mongodb://db/shop?tsl=true");
	settings[2][1].engine = TARGET_MONGODB;
	settings[3][1].path = NULL;
	settings[4][1] = postgresql_settings("second", NULL);
	settings[5][1] = postgresql_settings("second", "host=db password=hunter2");
	settings[6][1] = postgresql_settings("second", "nonsense hunter2");
	settings[7][1].connections = 0;
	static const struct {
		err_t err;
		const char *message;
	} expected[8] = {
		{ ERR_CONFIG_RANGE, "two targets have the name \"shop\"" },
		{ ERR_CONFIG_RANGE, "target \"second\": the dsn has the unknown key \"ssl_verfy\"; there are "
				    "host, port, socket, "
				    "dbname, user, ssl, ssl_ca, ssl_cert, ssl_key, ssl_verify, time_zone" },
		{ ERR_CONFIG_RANGE,
		  "target \"second\": the dsn has the unknown option \"tsl\"; did you mean \"tls\"?" },
		{ ERR_CONFIG_MISSING, "target \"second\": path is missing" },
		{ ERR_CONFIG_MISSING, "target \"second\": dsn is missing" },
		{ ERR_CONFIG_RANGE, "target \"second\": dsn: the connection string contains a password; "
				    "write it to a file and set password_file to its name" },
		{ ERR_CONFIG_RANGE,
		  "target \"second\": dsn: not a libpq connection string: write key=value pairs, such as "
		  "\"host=db dbname=sales user=assayd_ro\", a value with blanks between single quotes, or "
		  "postgresql://…" },
		{ ERR_CONFIG_RANGE, "target \"second\": connections = 0 is out of range" },
	};
	for (size_t i = 0; i < 8; i++) {
		const struct targets_options options = { settings[i], 2, NULL, 10 };
		struct targets *targets = NULL;
		struct err_detail detail = { "" };
		assert_int_equal(targets_start(&options, &targets, &detail), expected[i].err);
		assert_string_equal(detail.message, expected[i].message);
		assert_null(targets);
	}
}

static void no_targets_are_fine(void **state)
{
	struct test_call test;
	(void)state;
	struct targets *targets = start_targets(NULL, 0, NULL);
	submit(targets, &test, "shop", "SELECT 1", "SELECT 1");
	expect_error(&test, ERR_TARGET_UNKNOWN);
	targets_wait_catalogs(targets, 1000);
	targets_stop(targets);
	targets_stop(NULL);
}

static void worker_processes_are_confined(void **state)
{
	char content[16384];
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.password_file = secret_path;
	setenv("PGPASSWORD", SECRET, 1);
	struct targets *targets = start_targets(&settings, 1, NULL);
	expect_success(targets, "shop");
	pid_t worker = only_worker();
	size_t len = read_process_file(worker, "cmdline", content, sizeof content);
	assert_memory_equal(content, "assayd\0target-worker", sizeof "assayd\0target-worker");
	assert_int_equal(len, sizeof "assayd\0target-worker");
	len = read_process_file(worker, "environ", content, sizeof content);
	assert_null(memmem(content, len, SECRET, strlen(SECRET)));
	read_process_file(worker, "oom_score_adj", content, sizeof content);
	assert_string_equal(content, "500\n");
	read_process_file(worker, "limits", content, sizeof content);
	assert_non_null(strstr(content, "Max core file size        0                    0 "));
	/* standard streams, the socket, the database */
	assert_in_range(count_descriptors(worker), 4, 6);
	targets_stop(targets);
	unsetenv("PGPASSWORD");
}

/* --- work --- */

static void processes_are_started_on_demand(void **state)
{
	pid_t workers[MAX_WORKERS];
	struct test_call tests[3];
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.connections = 2;
	settings.statement_timeout_ms = 2000;
	struct targets *targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(targets, 30000);
	assert_int_equal(find_workers(workers), 1);
	for (size_t i = 0; i < 3; i++)
		submit(targets, &tests[i], "shop", ENDLESS, "SELECT 1");
	for (int i = 0; i < 1000 && find_workers(workers) < 2; i++)
		sleep_ms(2);
	assert_int_equal(find_workers(workers), 2);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(test_call_wait(&tests[i])->status, VALIDATION_TIMEOUT);
		test_call_free(&tests[i]);
	}
	targets_stop(targets);
	assert_int_equal(find_workers(workers), 0);
}

static void the_queue_is_bounded(void **state)
{
	struct test_call tests[5];
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.statement_timeout_ms = 100000;
	const struct targets_options options = { &settings, 1, NULL, 2 };
	struct targets *targets;
	assert_int_equal(targets_start(&options, &targets, NULL), ERR_OK);
	targets_wait_catalogs(targets, 30000);
	submit(targets, &tests[0], "shop", ENDLESS, "SELECT 1");
	await_busy(only_worker());
	for (size_t i = 1; i < 5; i++)
		submit(targets, &tests[i], "shop", "SELECT 1", "SELECT 1");
	expect_error(&tests[3], ERR_TARGET_UNAVAILABLE);
	expect_error(&tests[4], ERR_TARGET_UNAVAILABLE);
	kill(only_worker(), SIGKILL);
	expect_error(&tests[0], ERR_TARGET_WORKER_DIED);
	assert_true(test_call_wait(&tests[1])->score == 1.0);
	assert_true(test_call_wait(&tests[2])->score == 1.0);
	for (size_t i = 1; i < 3; i++)
		test_call_free(&tests[i]);
	targets_stop(targets);
}

struct submitter {
	struct targets *targets;
	struct test_call tests[CALLS];
};

static void *submit_many(void *context)
{
	struct submitter *submitter = context;
	for (size_t i = 0; i < CALLS; i++) {
		submit(submitter->targets, &submitter->tests[i], "shop", "SELECT id FROM shop",
		       "SELECT 1 WHERE 0");
		if (i % 7 == 0)
			targets_catalog_suspect(submitter->targets,
						targets_find(submitter->targets, STR("shop")));
		catalog_unref(
			targets_catalog(submitter->targets, targets_find(submitter->targets, STR("shop"))));
	}
	return NULL;
}

static void any_thread_may_submit(void **state)
{
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.connections = 3;
	const struct targets_options options = { &settings, 1, NULL, SUBMITTERS * CALLS };
	static struct submitter submitters[SUBMITTERS];
	pthread_t threads[SUBMITTERS];
	struct targets *targets;
	assert_int_equal(targets_start(&options, &targets, NULL), ERR_OK);
	targets_wait_catalogs(targets, 30000);
	for (size_t i = 0; i < SUBMITTERS; i++) {
		submitters[i].targets = targets;
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &submitters[i]), 0);
	}
	for (size_t i = 0; i < SUBMITTERS; i++) {
		pthread_join(threads[i], NULL);
		for (size_t j = 0; j < CALLS; j++) {
			assert_true(test_call_wait(&submitters[i].tests[j])->score == 1.0);
			test_call_free(&submitters[i].tests[j]);
		}
	}
	targets_stop(targets);
}

/* --- calls that are sent while the worker still runs another --- */

/* So that each worker is known to answer quickly. */
static void warm_up(struct targets *targets, size_t workers)
{
	struct test_call tests[8 * MAX_WORKERS];
	for (size_t i = 0; i < 8 * workers; i++)
		submit(targets, &tests[i], "shop", "SELECT 1", "SELECT 1");
	for (size_t i = 0; i < 8 * workers; i++) {
		assert_true(test_call_wait(&tests[i])->score == 1.0);
		test_call_free(&tests[i]);
	}
}

/* The third call lies behind the endless one, and a worker is free long before that ends. */
static void a_call_behind_a_slow_one_goes_to_another_worker(void **state)
{
	enum { ROUNDS = 10 };
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.connections = 2;
	settings.statement_timeout_ms = 3600000;
	for (int i = 0; i < ROUNDS; i++) {
		struct test_call endless, some_ms, quick;
		struct targets *targets = start_targets(&settings, 1, NULL);
		targets_wait_catalogs(targets, 30000);
		warm_up(targets, 2);
		submit(targets, &endless, "shop", ENDLESS, "SELECT 1");
		submit(targets, &some_ms, "shop", QUERY_OF_MS, "SELECT 1000000");
		submit(targets, &quick, "shop", "SELECT 1", "SELECT 1");
		assert_true(test_call_wait(&quick)->score == 1.0);
		assert_true(test_call_wait(&some_ms)->score == 1.0);
		targets_stop(targets);
		expect_error(&endless, ERR_SHUTTING_DOWN);
		test_call_free(&some_ms);
		test_call_free(&quick);
	}
}

/* Whose worker dies is answered with that; who stands behind it knows nothing of it. */
static void a_call_behind_one_that_kills_its_worker_is_answered(void **state)
{
	enum { ROUNDS = 10 };
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	struct targets *targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(targets, 30000);
	for (int i = 0; i < ROUNDS; i++) {
		struct test_call endless, quick;
		warm_up(targets, 1);
		pid_t worker = only_worker();
		submit(targets, &endless, "shop", ENDLESS, "SELECT 1");
		submit(targets, &quick, "shop", "SELECT 1", "SELECT 1");
		sleep_ms(i); /* before it is withdrawn, and after */
		kill(worker, SIGKILL);
		expect_error(&endless, ERR_TARGET_WORKER_DIED);
		assert_true(test_call_wait(&quick)->score == 1.0);
		test_call_free(&quick);
	}
	targets_stop(targets);
}

static void stopping_answers_calls_behind_others(void **state)
{
	enum { ROUNDS = 10 };
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.statement_timeout_ms = 3600000;
	for (int i = 0; i < ROUNDS; i++) {
		struct test_call tests[3];
		struct targets *targets = start_targets(&settings, 1, NULL);
		targets_wait_catalogs(targets, 30000);
		warm_up(targets, 1);
		for (int j = 0; j < 3; j++)
			submit(targets, &tests[j], "shop", ENDLESS, "SELECT 1");
		sleep_ms(2 * i);
		targets_stop(targets);
		for (int j = 0; j < 3; j++)
			expect_error(&tests[j], ERR_SHUTTING_DOWN);
	}
}

/* What the worker process itself does with a call that is withdrawn before it begins, and afterwards. */
static void a_worker_does_not_run_what_was_withdrawn(void **state)
{
	static const enum message_kind expected[] = { MESSAGE_VALIDATED, MESSAGE_WITHDRAWN, MESSAGE_VALIDATED,
						      MESSAGE_VALIDATED };
	(void)state;
	const struct target_settings settings = sqlite_settings("shop", path);
	const struct validation_truth truth = { .sql = STR("SELECT 1") };
	const struct validation_request request = { .generated_sql = STR("SELECT 1"),
						    .truths = &truth,
						    .truths_count = 1 };
	struct buf out = BUF_INIT, in = BUF_INIT;
	pid_t pid;
	int fd, status;
	assert_int_equal(worker_spawn(&settings, false, &out, &pid, &fd, NULL), ERR_OK);
	for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
		assert_int_equal(message_put_validate(&out, &request), ERR_OK);
		if (expected[i] == MESSAGE_WITHDRAWN)
			assert_int_equal(message_put_request(&out, MESSAGE_WITHDRAW), ERR_OK);
	}
	assert_int_equal(message_send(fd, &out), ERR_OK);
	for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
		struct message message;
		assert_int_equal(message_receive(fd, PATIENCE_S * 1000, &in, &message), ERR_OK);
		assert_int_equal(message.kind, expected[i]);
	}
	buf_reset(&out); /* too late: it has been answered */
	message_put_request(&out, MESSAGE_WITHDRAW);
	message_put_validate(&out, &request);
	assert_int_equal(message_send(fd, &out), ERR_OK);
	struct message message;
	assert_int_equal(message_receive(fd, PATIENCE_S * 1000, &in, &message), ERR_OK);
	assert_int_equal(message.kind, MESSAGE_VALIDATED);
	close(fd);
	assert_true(worker_reap(pid, true, &status));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	worker_secret_free(&out);
	buf_free(&in);
}

/* A large request does not fit into the socket's buffer at once. */
static void large_requests_get_through(void **state)
{
	struct test_call test;
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	struct targets *targets = start_targets(&settings, 1, NULL);
	char *text = malloc((4 << 20) + 1);
	memset(text, ' ', 4 << 20);
	text[4 << 20] = '\0';
	submit(targets, &test, "shop", text, "SELECT 1");
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->status, VALIDATION_EXECUTION_FAILED);
	assert_string_equal(result->message.ptr, "the statement is too long");
	test_call_free(&test);
	targets_stop(targets);
	free(text);
}

/* --- failures --- */

static void a_killed_worker_is_replaced(void **state)
{
	/* A sanitizer wants to report a SIGSEGV, and may hang on it when it comes at a bad moment. */
	static const int signals[] = { SIGKILL, ADDRESS_SPACE_CAN_BE_LIMITED ? SIGSEGV : SIGABRT, SIGTERM };
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	struct targets *targets = start_targets(&settings, 1, NULL);
	expect_success(targets, "shop");
	for (size_t i = 0; i < 3; i++) {
		struct test_call test;
		submit(targets, &test, "shop", ENDLESS, "SELECT 1");
		await_busy(only_worker());
		kill(only_worker(), signals[i]);
		expect_error(&test, ERR_TARGET_WORKER_DIED);
		expect_success(targets, "shop");
	}
	kill(only_worker(), SIGKILL); /* while it is idle */
	sleep_ms(100);
	expect_success(targets, "shop");
	targets_stop(targets);
}

static void a_silent_worker_is_killed_at_its_deadline(void **state)
{
	struct test_call test;
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.statement_timeout_ms = 1000;
	struct targets *targets = start_targets(&settings, 1, NULL);
	expect_success(targets, "shop");
	pid_t worker = only_worker();
	kill(worker, SIGSTOP);
	submit(targets, &test, "shop", "SELECT 1", "SELECT 1");
	assert_int_equal(test_call_wait(&test)->error, ERR_TARGET_TIMEOUT);
	assert_true(test.call.duration_us >= WORKER_SLACK_MS * 1000);
	test_call_free(&test);
	expect_success(targets, "shop");
	assert_true(only_worker() != worker);
	targets_stop(targets);
}

static void a_dead_target_does_not_hold_up_another(void **state)
{
	struct test_call tests[20];
	(void)state;
	struct target_settings settings[2] = { sqlite_settings("dead", "/nowhere/dead.db"),
					       sqlite_settings("shop", path) };
	struct targets *targets = start_targets(settings, 2, NULL);
	for (size_t i = 0; i < 20; i++)
		submit(targets, &tests[i], i % 2 ? "shop" : "dead", "SELECT 1", "SELECT 1");
	for (size_t i = 0; i < 20; i++) {
		const struct validation_result *result = test_call_wait(&tests[i]);
		assert_int_equal(result->error, i % 2 ? ERR_OK : ERR_TARGET_UNAVAILABLE);
		if (i % 2 == 0)
			assert_string_equal(result->message.ptr,
					    "/nowhere/dead.db: unable to open database file");
		test_call_free(&tests[i]);
	}
	targets_wait_catalogs(targets, 30000);
	assert_null(targets_catalog(targets, targets_find(targets, STR("dead"))));
	assert_non_null(targets_find(targets, STR("dead")));
	targets_stop(targets);
}

static void a_target_that_comes_back_is_used_again(void **state)
{
	char late_path[300];
	bool back = false;
	struct test_call test;
	(void)state;
	snprintf(late_path, sizeof late_path, "%s/late.db", directory);
	struct target_settings settings = sqlite_settings("late", late_path);
	struct targets *targets = start_targets(&settings, 1, NULL);
	submit(targets, &test, "late", "SELECT 1", "SELECT 1");
	expect_error(&test, ERR_TARGET_UNAVAILABLE);
	test_sqlite_run(late_path, "CREATE TABLE late (id INTEGER)");
	for (int i = 0; i < 600 && !back; i++) {
		submit(targets, &test, "late", "SELECT 1", "SELECT 1");
		back = test_call_wait(&test)->score == 1.0;
		test_call_free(&test);
		sleep_ms(back ? 0 : 100);
	}
	assert_true(back);
	targets_stop(targets);
}

static void a_missing_password_file_is_said(void **state)
{
	struct test_call test;
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.password_file = "/nowhere/secret";
	struct targets *targets = start_targets(&settings, 1, NULL);
	submit(targets, &test, "shop", "SELECT 1", "SELECT 1");
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->error, ERR_TARGET_UNAVAILABLE);
	assert_string_equal(result->message.ptr, "the password_file of target \"shop\" cannot be read: "
						 "/nowhere/secret: No such file or directory");
	test_call_free(&test);
	targets_wait_catalogs(targets, 30000);
	assert_null(targets_catalog(targets, targets_find(targets, STR("shop"))));
	targets_stop(targets);
}

/* --- the end --- */

static void stopping_answers_everything(void **state)
{
	struct test_call tests[6];
	pid_t workers[MAX_WORKERS];
	(void)state;
	struct target_settings settings = sqlite_settings("shop", path);
	settings.connections = 2;
	settings.statement_timeout_ms = 3600000; /* which ctest would not wait for */
	struct targets *targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(targets, 30000);
	for (size_t i = 0; i < 6; i++)
		submit(targets, &tests[i], "shop", ENDLESS, "SELECT 1");
	for (int i = 0; i < 6000 && find_workers(workers) < 2; i++)
		sleep_ms(10);
	assert_int_equal(find_workers(workers), 2);
	targets_stop(targets);
	for (size_t i = 0; i < 6; i++)
		expect_error(&tests[i], ERR_SHUTTING_DOWN);
	assert_int_equal(find_workers(workers), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* --- catalogs --- */

static struct catalog *catalog_of(struct targets *targets, const char *name)
{
	return targets_catalog(targets, targets_find(targets, str_from(name)));
}

static void catalogs_are_kept_between_runs(void **state)
{
	char digest[80];
	(void)state;
	struct target_settings settings = sqlite_settings("the shop/1", path);
	struct targets *targets = start_targets(&settings, 1, state_directory);
	assert_null(catalog_of(targets, "the shop/1"));
	targets_wait_catalogs(targets, 30000);
	struct catalog *catalog = catalog_of(targets, "the shop/1");
	assert_non_null(catalog);
	int64_t read_at_ms = catalog_read_at_ms(catalog);
	snprintf(digest, sizeof digest, "%s", catalog_digest(catalog));
	catalog_unref(catalog);
	targets_stop(targets);

	/* there at once, and not read anew yet: its worker cannot be started */
	settings.password_file = "/nowhere/secret";
	targets = start_targets(&settings, 1, state_directory);
	catalog = catalog_of(targets, "the shop/1");
	assert_non_null(catalog);
	assert_string_equal(catalog_digest(catalog), digest);
	assert_int_equal(catalog_read_at_ms(catalog), read_at_ms);
	catalog_unref(catalog);
	targets_stop(targets);

	/* the same name for another database: not its catalog */
	settings.path = other_path;
	targets = start_targets(&settings, 1, state_directory);
	assert_null(catalog_of(targets, "the shop/1"));
	targets_stop(targets);
}

static void a_damaged_kept_catalog_is_ignored(void **state)
{
	char kept[300];
	(void)state;
	struct target_settings settings = sqlite_settings("damaged", path);
	struct targets *targets = start_targets(&settings, 1, state_directory);
	targets_wait_catalogs(targets, 30000);
	targets_stop(targets);
	snprintf(kept, sizeof kept, "%s/catalog-damaged.sqlite", state_directory);
	settings.password_file = "/nowhere/secret";
	static const long cuts[] = { 0, 10, 100, -1 };
	for (size_t i = 0; i < 4; i++) {
		struct stat status;
		assert_int_equal(stat(kept, &status), 0);
		assert_int_equal(status.st_mode & 0777, 0600);
		FILE *file = fopen(kept, "r+");
		fseek(file, cuts[i] < 0 ? -1 : cuts[i], cuts[i] < 0 ? SEEK_END : SEEK_SET);
		fputc('#', file);
		fclose(file);
		targets = start_targets(&settings, 1, state_directory);
		assert_null(catalog_of(targets, "damaged"));
		targets_stop(targets);
	}
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_that_nobody_needs_end),
		cmocka_unit_test(settings_are_checked_at_the_start),
		cmocka_unit_test(no_targets_are_fine),
		cmocka_unit_test(worker_processes_are_confined),
		cmocka_unit_test(processes_are_started_on_demand),
		cmocka_unit_test(the_queue_is_bounded),
		cmocka_unit_test(any_thread_may_submit),
		cmocka_unit_test(a_call_behind_a_slow_one_goes_to_another_worker),
		cmocka_unit_test(a_call_behind_one_that_kills_its_worker_is_answered),
		cmocka_unit_test(stopping_answers_calls_behind_others),
		cmocka_unit_test(a_worker_does_not_run_what_was_withdrawn),
		cmocka_unit_test(large_requests_get_through),
		cmocka_unit_test(a_killed_worker_is_replaced),
		cmocka_unit_test(a_silent_worker_is_killed_at_its_deadline),
		cmocka_unit_test(a_dead_target_does_not_hold_up_another),
		cmocka_unit_test(a_target_that_comes_back_is_used_again),
		cmocka_unit_test(a_missing_password_file_is_said),
		cmocka_unit_test(stopping_answers_everything),
		cmocka_unit_test(catalogs_are_kept_between_runs),
		cmocka_unit_test(a_damaged_kept_catalog_is_ignored),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
