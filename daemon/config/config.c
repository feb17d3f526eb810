#include "config/config.h"

#include "common/hash.h"
#include "config/table.h"

#include <stdatomic.h>

struct loaded {
	struct config config; /* first: what the outside sees */
	atomic_uint references;
	struct arena *arena;
	char digest[DIGEST_HEX_SIZE];
};

static void loaded_free(struct loaded *loaded)
{
	arena_free(loaded->arena);
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
	digest_sha256_hex(text.data, text.len, loaded->digest);
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
	if (config->judge.api_key_file)
		config->judge.api_key_file = config_secret_file(config->judge.api_key_file, arena);
	if (config->calibration.password_file)
		config->calibration.password_file =
			config_secret_file(config->calibration.password_file, arena);
	for (size_t i = 0; i < config->targets_count; i++) {
		if (config->targets[i].password_file)
			config->targets[i].password_file =
				config_secret_file(config->targets[i].password_file, arena);
	}
}

static err_t read_file(const char *path, struct loaded *loaded, struct conf_file **ret_file,
		       struct err_detail *detail)
{
	if (!path)
		return conf_text_read(&config_table, "defaults", STR(""), loaded->arena, &loaded->config,
				      ret_file, detail);
	return conf_file_read(&config_table, path, loaded->arena, &loaded->config, ret_file, detail);
}

err_t config_load(const char *path, struct config **ret_config, struct err_detail *detail)
{
	_cleanup_(conf_file_cleanup) struct conf_file *file = NULL;
	_cleanup_(loaded_cleanup) struct loaded *loaded = calloc(1, sizeof *loaded);
	if (!loaded)
		abort();
	atomic_init(&loaded->references, 1);
	loaded->arena = arena_new();
	err_t err = read_file(path, loaded, &file, detail);
	if (!err)
		err = config_check(&loaded->config, file, detail);
	if (err)
		return err;
	make_digest(loaded);
	fill_in(&loaded->config, loaded->arena);
	*ret_config = &TAKE_PTR(loaded)->config;
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

size_t config_restart_needed(const struct config *before, const struct config *after, struct buf *names)
{
	return conf_restart_needed(&config_table, before, after, names);
}

void config_print_reference(FILE *out)
{
	conf_print_reference(&config_table, out);
}
