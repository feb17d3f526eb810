#include "command/teacher.h"

#include "avro/registry/registry_store.h"
#include "avro/registry/registry_subjects.h"
#include "common/clock.h"
#include "common/hash.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* After which a registry is asked again that could not be asked, and one that has said no: a command that
 * reads a million records would take for ever. */
#define ASK_AGAIN_US INT64_C(10000000)
#define REFUSED_US   INT64_C(1000000)

enum { REFUSALS = 256 };

/* A name that was not to be had, for a while: neither a file nor the registry is looked at again for it. */
struct refusal {
	struct schema_name name;
	int64_t until_us;
	err_t err;
	struct err_detail detail;
};

struct teacher {
	struct arena *arena;
	const struct registry_settings *settings;
	struct codec *codec;
	struct registry_store *store; /* NULL: no schemas can be read here */
	const char *hint;	      /* what else could be done while the registry is away */
	pthread_mutex_t mutex;	      /* guards what follows */
	err_t err;		      /* of a registry that could not be asked */
	int64_t failed_us;	      /* when that was */
	struct err_detail detail;
	struct refusal refusals[REFUSALS]; /* the latest of each slot */
};

/* ---- what the daemon has kept ---- */

/* Only its user may read the files; where that is somebody else, or there are none, this is no error, but
 * told whom it would help. */
static void open_store(struct teacher *teacher)
{
	const char *directory = teacher->settings->state_directory;
	struct stat status = { 0 };
	if (!directory || (stat(directory, &status) != 0 && errno != EACCES)) {
		teacher->hint = "where the daemon runs, root and its user can read the schemas that it has "
				"kept in its state directory";
	} else if (access(directory, X_OK) != 0 || (geteuid() != 0 && geteuid() != status.st_uid)) {
		teacher->hint =
			arena_printf(teacher->arena,
				     "run as root or as the daemon's user to read the schemas that it "
				     "has kept in %.150s",
				     directory)
				.ptr;
	} else {
		teacher->store =
			registry_store_new(directory, teacher->settings->urls, teacher->settings->urls_count);
		teacher->hint =
			arena_printf(teacher->arena, "the daemon has not kept it in %.150s", directory).ptr;
	}
}

/* What is there and no schema for us counts as nothing. */
static bool learn_kept(struct teacher *teacher, const struct schema_name *name)
{
	_cleanup_(buf_free) struct buf schema = BUF_INIT;
	return registry_store_find(teacher->store, name, &schema) &&
	       codec_learn_named(teacher->codec, name, buf_str(&schema), NULL) == ERR_OK;
}

/* ---- the registry ---- */

static err_t ask(struct teacher *teacher, const struct schema_name *name, struct err_detail *detail)
{
	struct err_detail reason = { "" };
	if (teacher->err && clock_monotonic_us() - teacher->failed_us > ASK_AGAIN_US)
		teacher->err = ERR_OK;
	if (teacher->err)
		return err_fail(detail, teacher->err, "%s", teacher->detail.message);
	err_t err = registry_teach(teacher->settings, teacher->codec, name, &reason);
	if (err == ERR_SCHEMA_UNAVAILABLE) {
		teacher->failed_us = clock_monotonic_us();
		teacher->err = err;
		bool room = codec_named_count(teacher->codec) < teacher->settings->max_schemas;
		err_fail(&teacher->detail, err, "%.250s%s%s", err_message(err, &reason), room ? "; " : "",
			 room ? teacher->hint : "");
		reason = teacher->detail;
	}
	return err ? err_fail(detail, err, "%s", err_message(err, &reason)) : ERR_OK;
}

/* ---- both ---- */

static struct refusal *slot_of(struct teacher *teacher, const struct schema_name *name)
{
	uint64_t hash = name->by_guid ? hash_seeded(name->guid, sizeof name->guid)
				      : hash_seeded(&name->id, sizeof name->id);
	return &teacher->refusals[hash % REFUSALS];
}

static err_t learn(struct teacher *teacher, const struct schema_name *name, struct err_detail *detail)
{
	struct refusal *refusal = slot_of(teacher, name);
	struct err_detail reason = { "" };
	if (refusal->until_us > clock_monotonic_us() && framing_same_name(&refusal->name, name))
		return err_fail(detail, refusal->err, "%s", refusal->detail.message);
	if (learn_kept(teacher, name))
		return ERR_OK;
	err_t err = ask(teacher, name, &reason);
	if (!err)
		return ERR_OK;
	refusal->name = *name;
	refusal->until_us = err == ERR_SCHEMA_UNAVAILABLE ? teacher->failed_us + ASK_AGAIN_US
							  : clock_monotonic_us() + REFUSED_US;
	refusal->err = err_fail(&refusal->detail, err, "%s", err_message(err, &reason));
	return err_fail(detail, err, "%s", refusal->detail.message);
}

static err_t teach(const struct schema_name *name, void *context, struct err_detail *detail)
{
	struct teacher *teacher = context;
	pthread_mutex_lock(&teacher->mutex);
	err_t err = codec_knows_named(teacher->codec, name) ? ERR_OK : learn(teacher, name, detail);
	pthread_mutex_unlock(&teacher->mutex);
	return err;
}

/* ---- life ---- */

static void release_teacher(void *context)
{
	struct teacher *teacher = context;
	registry_store_free(teacher->store);
	pthread_mutex_destroy(&teacher->mutex);
	arena_free(teacher->arena);
}

void teacher_attach(const struct registry_settings *settings, struct arena *arena, struct codec *codec)
{
	struct teacher *teacher = ARENA_NEW(arena, struct teacher);
	teacher->arena = arena;
	teacher->settings = settings;
	teacher->codec = codec;
	pthread_mutex_init(&teacher->mutex, NULL);
	open_store(teacher);
	codec_set_resolver(codec, teach, teacher, release_teacher);
}
