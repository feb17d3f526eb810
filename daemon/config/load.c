#include "config/config.h"

#include "common/hash.h"
#include "config/check.h"
#include "config/secret.h"
#include "config/table.h"

#include <stdatomic.h>

struct loaded {
	struct config config; /* first: what the outside sees */
	atomic_uint references;
	struct arena *arena;
	struct conf_file *file;
	const char *path; /* or NULL: there are defaults alone */
	str_t text;	  /* that the digest is of, in the arena */
	char digest[DIGEST_HEX_SIZE];
	_Atomic(char *) derived; /* or NULL: nobody has asked */
};

static void loaded_free(struct loaded *loaded)
{
	conf_file_free(loaded->file);
	arena_free(loaded->arena);
	free(atomic_load(&loaded->derived));
	free(loaded);
}

DEFINE_CLEANUP(struct loaded, loaded_cleanup, loaded_free)

static struct loaded *loaded_of(const struct config *config)
{
	union {
		const struct config *config;
		struct loaded *loaded; /* the reference count is not part of the value */
	} pointer = { config };
	return pointer.loaded;
}

static void make_digest(struct loaded *loaded)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	conf_render(&config_table, &loaded->config, CONF_SECRET, &text);
	loaded->text = arena_text(loaded->arena, text.data, text.len);
	hash_sha256_hex(text.data, text.len, loaded->digest);
}

/* The first of the directories that systemd names, or NULL. */
static const char *state_directory(struct arena *arena)
{
	const char *directories = getenv("STATE_DIRECTORY");
	if (!directories || !*directories)
		return NULL;
	return arena_text(arena, directories, strcspn(directories, ":")).ptr;
}

static const char *host_name(struct arena *arena)
{
	char name[256] = "";
	if (gethostname(name, sizeof name - 1) != 0 || !name[0])
		return "assayd";
	return arena_strdup(arena, name);
}

/* What depends on the machine: after the digest, so that it is the same on every instance. */
static void fill_in(struct config *config, struct arena *arena)
{
	if (!config->kafka.instance_id)
		config->kafka.instance_id = host_name(arena);
	if (!config->pipeline.state_directory)
		config->pipeline.state_directory = state_directory(arena);
}

static err_t read_file(const char *path, struct loaded *loaded, struct conf_problems *problems,
		       struct conf_file **ret_file)
{
	if (!path)
		return conf_text_read(&config_table, "defaults", STR(""), loaded->arena, &loaded->config,
				      problems, ret_file);
	return conf_file_read(&config_table, path, loaded->arena, &loaded->config, problems, ret_file);
}

err_t config_examine(const char *path, struct conf_problems *problems, struct config **ret_config)
{
	_cleanup_(loaded_cleanup) struct loaded *loaded = calloc(1, sizeof *loaded);
	if (!loaded)
		abort();
	atomic_init(&loaded->references, 1);
	loaded->arena = arena_new();
	err_t err = read_file(path, loaded, problems, &loaded->file);
	if (err)
		return err;
	loaded->path = path ? arena_strdup(loaded->arena, path) : NULL;
	config_check(&loaded->config, loaded->file, problems);
	make_digest(loaded);
	fill_in(&loaded->config, loaded->arena);
	if (path)
		config_resolve_secrets(&loaded->config, path, loaded->arena);
	*ret_config = &TAKE_PTR(loaded)->config;
	return problems->count ? problems->items[0].err : ERR_OK;
}

err_t config_load(const char *path, struct config **ret_config, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(config_cleanup) struct config *config = NULL;
	struct conf_problems problems = { .arena = arena };
	err_t err = config_examine(path, &problems, &config);
	if (err)
		return err_fail(detail, err, "%s", problems.items[0].message);
	*ret_config = TAKE_PTR(config);
	return ERR_OK;
}

struct config *config_ref(const struct config *config)
{
	struct loaded *loaded = loaded_of(config);
	atomic_fetch_add_explicit(&loaded->references, 1, memory_order_relaxed);
	return &loaded->config;
}

void config_unref(struct config *config)
{
	if (!config)
		return;
	struct loaded *loaded = loaded_of(config);
	if (atomic_fetch_sub_explicit(&loaded->references, 1, memory_order_acq_rel) == 1)
		loaded_free(loaded);
}

const char *config_digest(const struct config *config)
{
	return loaded_of(config)->digest;
}

str_t config_text(const struct config *config)
{
	return loaded_of(config)->text;
}

bool config_place(const struct config *config, const char *setting, char *ret_place, size_t size)
{
	const struct loaded *loaded = loaded_of(config);
	unsigned line;
	if (!loaded->path || !conf_file_line(loaded->file, setting, &line))
		return false;
	snprintf(ret_place, size, "%s:%u", loaded->path, line);
	return true;
}

str_t config_derived(const struct config *config, void (*make)(const struct config *config, struct buf *out))
{
	_cleanup_(buf_free) struct buf made = BUF_INIT;
	struct loaded *loaded = loaded_of(config);
	char *text = atomic_load(&loaded->derived);
	if (text)
		return str_from(text);
	make(config, &made);
	buf_append_text(&made, "");
	/* whose is first stays */
	if (atomic_compare_exchange_strong(&loaded->derived, &text, made.data))
		text = TAKE_PTR(made.data);
	return str_from(text);
}

size_t config_restart_needed(const struct config *before, const struct config *after, struct buf *names)
{
	return conf_restart_needed(&config_table, before, after, names);
}

void config_print_reference(FILE *out)
{
	conf_print_reference(&config_table, out);
}
