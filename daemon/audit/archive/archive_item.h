/*
 * What the archive keeps: contents that records name by a digest. Plain values; pure.
 */
#pragma once

#include "common/hash.h"

enum archive_kind { ARCHIVE_CONFIG, ARCHIVE_PROMPTS, ARCHIVE_CATALOG, ARCHIVE_MODEL };

#define ARCHIVE_KINDS 4

/* A content has at most so many bytes, as a catalog that is kept for the next start. */
#define ARCHIVE_CONTENT_MAX ((size_t)256 << 20)

struct archive_item {
	enum archive_kind kind;
	char digest[DIGEST_HEX_SIZE]; /* as records name it; of a model, of its document */
	const char *form;	      /* of a catalog, which compiler reads it; else ""; static */
	int64_t version;	      /* of a model, by which records name it; else 0 */
};

/* "config", "prompts", "catalog", "model". */
const char *archive_kind_name(enum archive_kind kind);

/* The kind of that name, or −1. */
int archive_kind_find(const char *name);

/* The form of that name, static, as archive_item.form is; NULL: there is no such form. */
const char *archive_form_find(str_t name);
