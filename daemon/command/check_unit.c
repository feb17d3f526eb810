#include "command/check_unit.h"

#include "address/mariadb_dsn.h"
#include "address/mongodb_dsn.h"
#include "command/settings.h"
#include "command/unit.h"
#include "common/secret.h"
#include "target/sqlite_log.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { STOP_MS = 5000, MAX_GROUPS = 256 };

#define MIB		    ((int64_t)1 << 20)
#define REST_BYTES	    (128 * MIB) /* of the daemon, besides what has a limit of its own */
#define WORKER_REST_BYTES   (16 * MIB)	/* of a worker process besides results */
#define CREDENTIALS_OF_UNIT "/run/credentials/"

/* One that something of the configuration is read from, or written to. */
struct unit_place {
	const char *setting;
	const char *path;
	bool written;
	const char *log_of; /* the folder of the log of this SQLite database; or NULL */
};

struct unit_places {
	struct arena *arena;
	struct unit_place *items;
	size_t count, capacity;
};

static void add(struct unit_places *places, const char *setting, const char *path, bool written)
{
	const struct unit_place place = { setting, path, written, NULL };
	if (path && *path == '/' && !secret_is_hidden(path) &&
	    strncmp(path, CREDENTIALS_OF_UNIT, strlen(CREDENTIALS_OF_UNIT)) != 0)
		ARENA_PUSH(places->arena, places->items, places->count, places->capacity, place);
}

/* ---- what the configuration names ---- */

/* Keywords of libpq whose values are files, or folders of sockets. */
static void add_of_postgresql(struct unit_places *places, const char *setting, const char *dsn)
{
	static const char *const keywords[] = { "host",	  "sslrootcert", "sslcert",
						"sslkey", "sslcrl",	 "passfile" };
	PQconninfoOption *options = PQconninfoParse(dsn, NULL);
	for (const PQconninfoOption *option = options; option && option->keyword; option++)
		for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
			if (option->val && strcmp(option->keyword, keywords[i]) == 0)
				add(places, setting, arena_strdup(places->arena, option->val), false);
	PQconninfoFree(options);
}

static void add_of_mariadb(struct unit_places *places, const char *setting, const char *text)
{
	struct mariadb_dsn dsn;
	if (mariadb_dsn_parse(text, places->arena, &dsn, NULL))
		return;
	const char *const files[] = { dsn.socket, dsn.ssl_ca, dsn.ssl_cert, dsn.ssl_key };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		add(places, setting, files[i], false);
}

static void add_of_mongodb(struct unit_places *places, const char *setting, const char *text)
{
	struct mongodb_dsn dsn;
	if (mongodb_dsn_parse(text, places->arena, &dsn, NULL))
		return;
	add(places, setting, dsn.ca_file, false);
	add(places, setting, dsn.key_file, false);
}

/* Whoever reads a database in WAL mode makes its files where nobody has made them. */
static void add_log(struct unit_places *places, const char *setting, const char *path)
{
	_cleanup_(cleanup_free) char *real = path ? realpath(path, NULL) : NULL;
	if (!real || !sqlite_has_log(real))
		return;
	char *slash = strrchr(real, '/');
	struct unit_place place = { setting, NULL, true, arena_strdup(places->arena, real) };
	slash[slash == real] = '\0';
	place.path = arena_strdup(places->arena, real);
	ARENA_PUSH(places->arena, places->items, places->count, places->capacity, place);
}

static void add_target(struct unit_places *places, const struct config_target *target)
{
	const char *setting = arena_printf(places->arena, "target \"%s\"", target->name).ptr;
	add(places, setting, target->path, false);
	add_log(places, setting, target->path);
	add(places, setting, target->password_file, false);
	if (target->engine == CONFIG_POSTGRESQL)
		add_of_postgresql(places, setting, target->dsn);
	if (target->engine == CONFIG_MARIADB)
		add_of_mariadb(places, setting, target->dsn);
	if (target->engine == CONFIG_MONGODB)
		add_of_mongodb(places, setting, target->dsn);
}

/* Of librdkafka's properties, those whose value is a path. */
static void add_properties(struct unit_places *places, const struct conf_strings *properties,
			   const char *setting)
{
	for (size_t i = 0; i < properties->count; i++)
		add(places, setting, properties->items[i] + strcspn(properties->items[i], "=") + 1, false);
}

static void add_within(struct unit_places *places, const char *group, const char *name, const char *path)
{
	add(places, arena_printf(places->arena, "%s.%s", group, name).ptr, path, false);
}

static void add_judges(const struct config *config, struct unit_places *places)
{
	const struct config_panel judging = config_judging(config);
	struct judge_settings *judges;
	size_t count = settings_judges(config, places->arena, &judges);
	for (size_t i = 0; i < count; i++) {
		add_within(places, judges[i].setting, "api_key_file", judges[i].api_key_file);
		add_within(places, judges[i].setting, "ca_file", judges[i].ca_file);
		add_within(places, judges[i].setting, "prompt_directory", judges[i].prompt_directory);
	}
	if (count == 0)
		return;
	const char *group = config->judges_count > 0 ? "panel" : "judge";
	add_within(places, group, "cache_password_file", judging.cache_password_file);
	if (judging.cache_dsn)
		add_of_postgresql(places, arena_printf(places->arena, "%s.cache_dsn", group).ptr,
				  judging.cache_dsn);
}

/* The file of checkpoints is made by the daemon where it is not there yet. */
static void add_audit_log(struct unit_places *places, const struct config_audit *audit)
{
	const char *file = audit->checkpoint_file;
	add(places, "audit.key_file", audit->key_file, false);
	if (file && access(file, F_OK) != 0)
		file = arena_printf(places->arena, "%.*s", (int)(strrchr(file, '/') - file), file).ptr;
	if (file)
		add(places, "audit.checkpoint_file", *file ? file : "/", true);
}

static void collect(const struct config *config, struct unit_places *places)
{
	add_properties(places, &config->kafka.properties, "kafka.properties");
	add_properties(places, &config->kafka.secret_properties, "kafka.secret_properties");
	add(places, "kafka.schema_directory", config->kafka.schema_directory, false);
	for (size_t i = 0; i < config->targets_count; i++)
		add_target(places, &config->targets[i]);
	add_judges(config, places);
	if (config->calibration.configured) {
		add(places, "calibration.password_file", config->calibration.password_file, false);
		add_of_postgresql(places, "calibration.dsn", config->calibration.dsn);
	}
	if (config->audit.dsn) {
		add(places, "audit.password_file", config->audit.password_file, false);
		add_of_postgresql(places, "audit.dsn", config->audit.dsn);
	}
	if (config->audit.log)
		add_audit_log(places, &config->audit);
	if (config->registry.configured) {
		add(places, "registry.password_file", config->registry.password_file, false);
		add(places, "registry.token_file", config->registry.token_file, false);
		add(places, "registry.ca_file", config->registry.ca_file, false);
		add(places, "registry.certificate_file", config->registry.certificate_file, false);
		add(places, "registry.key_file", config->registry.key_file, false);
	}
	if (config->webhook.configured) {
		add(places, "webhook.secret_file", config->webhook.secret_file, false);
		add(places, "webhook.ca_file", config->webhook.ca_file, false);
	}
	if (config->otlp.configured) {
		add(places, "otlp.authorization_file", config->otlp.authorization_file, false);
		add(places, "otlp.ca_file", config->otlp.ca_file, false);
	}
	add(places, "pipeline.state_directory", config->pipeline.state_directory, true);
}

/* ---- whether the unit's user may ---- */

/* Becomes the user and says of each place whether it may: 0 or an error number, a byte each. */
static void try_as(const struct passwd *user, const struct unit_places *places, int fd)
{
	gid_t groups[MAX_GROUPS];
	int count = MAX_GROUPS;
	if (getgrouplist(user->pw_name, user->pw_gid, groups, &count) < 0)
		count = MAX_GROUPS;
	if (setgroups((size_t)count, groups) || setgid(user->pw_gid) || setuid(user->pw_uid))
		_exit(EXIT_FAILURE);
	for (size_t i = 0; i < places->count; i++) {
		struct stat status = { 0 };
		const struct unit_place *place = &places->items[i];
		bool folder = stat(place->path, &status) == 0 && S_ISDIR(status.st_mode);
		int mode = (place->written ? W_OK : R_OK) | (folder ? X_OK : 0);
		bool is_socket = S_ISSOCK(status.st_mode);
		unsigned char answer =
			access(place->path, is_socket ? R_OK | W_OK : mode) == 0 ? 0 : (unsigned char)errno;
		if (write(fd, &answer, 1) != 1)
			_exit(EXIT_FAILURE);
	}
	_exit(EXIT_SUCCESS);
}

/* Fills `answers` (zeroed), as far as it can be told: only root can become somebody else. */
static void ask_as(const struct passwd *user, const struct unit_places *places, unsigned char *answers)
{
	int ends[2], status;
	size_t got = 0;
	if (geteuid() != 0 || !user || pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid_t child = fork();
	if (child == 0)
		try_as(user, places, ends[1]);
	close(ends[1]);
	for (ssize_t some; child > 0 && got < places->count &&
			   (some = read(ends[0], answers + got, places->count - got)) > 0;)
		got += (size_t)some;
	close(ends[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
}

/* ---- findings ---- */

static void warn(struct findings *findings, str_t text)
{
	findings_lines(findings, FINDING_WARNING, UNIT_NAME, text);
}

/* While its writer has it open all is well. */
static void check_log(const struct unit *unit, const struct unit_place *place, int answer,
		      struct arena *arena, struct findings *findings)
{
	bool there = sqlite_log_is_there(place->log_of), forbidden = !unit_lets_write(unit, place->path);
	struct err_detail detail;
	if (unit_hides(unit, place->log_of) || (!forbidden && !answer))
		return;
	const char *mend =
		arena_printf(
			arena,
			"%s%s%s%s; or keep the writer connected, or have it set PRAGMA journal_mode = DELETE",
			forbidden ? "name the folder in ReadWritePaths of a drop-in (systemctl edit assayd)"
				  : "",
			forbidden && answer ? " and " : "", answer ? "let the user write to it: " : "",
			answer ? unit->user : "")
			.ptr;
	const char *what =
		arena_printf(arena,
			     "%s: %s is in WAL mode: where its writer is away, its log has to be made "
			     "in %s, which the daemon may not (%s)",
			     place->setting, place->log_of, place->path,
			     forbidden ? "ProtectSystem of the unit" : strerror(answer))
			.ptr;
	if (there) {
		warn(findings, arena_printf(arena, "%s, and it cannot be read then; %s", what, mend));
		return;
	}
	err_fail(&detail, ERR_TARGET_UNAVAILABLE, "%s, so it cannot be read now; %s", what, mend);
	findings_tried(findings, UNIT_NAME, ERR_TARGET_UNAVAILABLE, &detail);
}

static void check_place(const struct unit *unit, const struct unit_place *place, int answer,
			struct arena *arena, struct findings *findings)
{
	const char *hidden = unit_hides(unit, place->path);
	if (place->log_of)
		check_log(unit, place, answer, arena, findings);
	else if (hidden)
		warn(findings,
		     arena_printf(arena,
				  "%s: the daemon does not see %s (%s of the unit); move it, or name it in "
				  "BindReadOnlyPaths of a drop-in",
				  place->setting, place->path, hidden));
	else if (place->written && !unit_lets_write(unit, place->path))
		warn(findings,
		     arena_printf(arena,
				  "%s: the daemon cannot write to %s (ProtectSystem of the unit); leave the "
				  "setting out, or name it in ReadWritePaths of a drop-in",
				  place->setting, place->path));
	else if (answer && answer != ENOENT)
		warn(findings,
		     arena_printf(arena, "%s: the user %s may not %s %s: %s", place->setting, unit->user,
				  place->written ? "write to" : "read", place->path, strerror(answer)));
}

static void check_places(const struct config *config, const struct unit *unit, struct arena *arena,
			 struct findings *findings)
{
	struct unit_places places = { .arena = arena };
	const struct passwd *user = unit->user ? getpwnam(unit->user) : NULL;
	if (unit->user && !user)
		warn(findings,
		     arena_printf(arena, "there is no user %s yet; run systemd-sysusers", unit->user));
	collect(config, &places);
	unsigned char *answers = arena_alloc(arena, places.count + 1);
	ask_as(user, &places, answers);
	for (size_t i = 0; i < places.count; i++)
		check_place(unit, &places.items[i], answers[i], arena, findings);
}

static void check_stop(const struct config *config, const struct unit *unit, struct arena *arena,
		       struct findings *findings)
{
	int64_t needed_ms = config->pipeline.drain_timeout_ms + STOP_MS;
	if (unit->stop_timeout_ms < needed_ms)
		warn(findings,
		     arena_printf(arena,
				  "a stop may take %lld s (pipeline.drain_timeout_ms and %d s for the end), "
				  "and is killed after %lld; lower the one, or raise TimeoutStopSec",
				  (long long)(needed_ms / 1000), STOP_MS / 1000,
				  (long long)(unit->stop_timeout_ms / 1000)));
}

/* What a worker may hold at a time: both results and the truths that it keeps. */
static int64_t worker_bytes(const struct config_target *target)
{
	int64_t bytes = 2 * target->max_result_bytes + target->truth_cache_bytes + WORKER_REST_BYTES;
	return bytes < target->worker_memory_bytes ? bytes : target->worker_memory_bytes;
}

static void check_memory(const struct config *config, const struct unit *unit, struct arena *arena,
			 struct findings *findings)
{
	int64_t events = config->pipeline.max_in_flight_bytes, workers = 0;
	int64_t analyses = config->pipeline.analysis_cache_bytes;
	int64_t verdicts = 0;
	size_t count;
	const struct config_judge *judges = config_judges(config, &count);
	for (size_t i = 0; i < count; i++)
		verdicts += judges[i].cache_bytes;
	for (size_t i = 0; i < config->targets_count; i++)
		workers += config->targets[i].connections * worker_bytes(&config->targets[i]);
	int64_t needed = events + analyses + verdicts + workers + REST_BYTES;
	if (needed <= unit->memory_max)
		return;
	warn(findings,
	     arena_printf(
		     arena,
		     "MemoryMax is %lld MiB, and at most %lld may be needed: events in flight %lld "
		     "(pipeline.max_in_flight_bytes), analyses %lld (pipeline.analysis_cache_bytes), "
		     "verdicts %lld "
		     "(%s.cache_bytes), worker processes "
		     "%lld (connections, each 2 × max_result_bytes and truth_cache_bytes), all else %lld; "
		     "lower these, or raise MemoryMax",
		     (long long)(unit->memory_max / MIB), (long long)(needed / MIB),
		     (long long)(events / MIB), (long long)(analyses / MIB), (long long)(verdicts / MIB),
		     config->judges_count > 0 ? "judges" : "judge", (long long)(workers / MIB),
		     (long long)(REST_BYTES / MIB)));
}

/* Without one, catalogs and the judge's budget of the day end with the process. */
static void check_state(const struct config *config, const struct unit *unit, struct arena *arena,
			struct findings *findings)
{
	if (config->pipeline.state_directory || unit->state_directory)
		return;
	warn(findings, arena_printf(arena,
				    "no directory keeps catalogs and what was spent of "
				    "%s.tokens_per_day between runs; set StateDirectory=assayd",
				    config->judges_count > 0 ? "judges" : "judge"));
}

void check_unit(const struct config *config, struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct unit unit;
	unsigned before = findings->warnings + findings->errors;
	unit_read(arena, &unit);
	if (!unit.file)
		return;
	check_places(config, &unit, arena, findings);
	check_stop(config, &unit, arena, findings);
	check_memory(config, &unit, arena, findings);
	check_state(config, &unit, arena, findings);
	if (findings->warnings + findings->errors == before)
		findings_ok(findings, UNIT_NAME);
}
