#include "event/archiving.h"

#include "audit/archive/archive.h"
#include "calibration/model/model.h"
#include "event/context.h"
#include "event/record/record.h"
#include "sql/catalog/catalog.h"

struct archive *archiving_start(const struct config *config)
{
	struct config_database database;
	if (!config->audit.archive || !config_audit_database(config, &database))
		return NULL;
	const struct archive_options options = {
		.dsn = database.dsn,
		.password_file = database.password_file,
		.settings = database.settings,
		.program = record_program_version(),
		.directory = config->pipeline.state_directory,
		.retention_days = config->audit.retention_days,
	};
	return archive_start(&options);
}

static const char *const forms[] = {
	[SQL_POSTGRESQL] = "postgresql",
	[SQL_SQLITE] = "sqlite",
	[SQL_MYSQL] = "mysql",
	[SQL_MONGODB] = "mongodb",
};

static void put(struct archive *archive, enum archive_kind kind, str_t digest, const char *form,
		int64_t version, str_t content)
{
	struct archive_item item = { .kind = kind, .form = form, .version = version };
	snprintf(item.digest, sizeof item.digest, STR_FMT, STR_ARG(digest));
	archive_put(archive, &item, content);
}

void archiving_of_config(struct archive *archive, const struct config *config)
{
	str_t digest = str_from(config_digest(config));
	if (archive && !archive_has(archive, ARCHIVE_CONFIG, digest))
		put(archive, ARCHIVE_CONFIG, digest, "", 0, config_text(config));
}

void archiving_of_prompts(struct archive *archive, struct judge *judge)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	char digest[DIGEST_HEX_SIZE];
	if (!archive || !judge)
		return;
	for (size_t member = 0; member < judge_members(judge); member++) {
		buf_reset(&text);
		judge_prompts_text(judge, member, &text);
		hash_sha256_hex(buf_str(&text).ptr, text.len, digest);
		if (!archive_has(archive, ARCHIVE_PROMPTS, str_from(digest)))
			put(archive, ARCHIVE_PROMPTS, str_from(digest), "", 0, buf_str(&text));
	}
}

void archiving_of_model(struct archive *archive, const struct model *model)
{
	str_t digest = str_from(model_digest(model));
	if (archive && digest.len && !archive_has(archive, ARCHIVE_MODEL, digest))
		put(archive, ARCHIVE_MODEL, digest, "", model_info(model)->version, model_document(model));
}

static void archive_catalog(struct archive *archive, const struct catalog *catalog)
{
	str_t digest = str_from(catalog_digest(catalog));
	if (!archive_has(archive, ARCHIVE_CATALOG, digest))
		put(archive, ARCHIVE_CATALOG, digest, forms[catalog_dialect(catalog)], 0,
		    catalog_source(catalog));
}

/* A digest, or several with spaces between. Prompts are archived when they are loaded: those that are not
 * known here are of a moment ago at most, or were forgotten. */
static void archive_prompts(struct archive *archive, struct judge *judge, str_t digests)
{
	for (const char *at = digests.ptr; at && *at; at += strspn(at, " ")) {
		str_t digest = { at, strcspn(at, " ") };
		at += digest.len;
		if (!archive_has(archive, ARCHIVE_PROMPTS, digest))
			archiving_of_prompts(archive, judge);
	}
}

void archiving_of_event(struct event *event)
{
	struct archive *archive = event->context->archive;
	const struct record_facts *facts = &event->facts;
	if (!archive)
		return;
	archiving_of_config(archive, facts->config);
	if (facts->analysis.catalog)
		archive_catalog(archive, facts->analysis.catalog);
	archive_prompts(archive, event->context->judge, event->scored->provenance.prompt_digest);
}
