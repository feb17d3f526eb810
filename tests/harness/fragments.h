/*
 * Texts of attackers, and where careless programs put them.
 *
 * Fragments are lines of the libinjection corpus (ASSAYD_CORPORA, or ../shared/corpora beside the project),
 * percent-decoded where they are encoded; statements are lines of tests/corpora/safety. One thread.
 */
#pragma once

#include "common/arena.h"
#include "common/str.h"

struct fragments {
	struct arena *arena; /* the caller's; holds all texts */
	str_t *items;
	size_t count, capacity;
};

/* Where a careless program puts what it was given. */
struct placement {
	const char *kind;
	const char *sql; /* one %s; %% is a percent sign */
};

extern const struct placement placements[];
extern const size_t placements_count;

/* Lines of the corpus' files whose names begin with `prefix`; comments and empty lines are not among them.
 * False: the corpus is not there. */
bool fragments_load(struct fragments *fragments, const char *prefix);

/* The placement with the fragment in it. */
str_t fragment_placed(str_t fragment, const char *sql, struct arena *arena);

/* The fragment as a literal, quoted as it should be. */
str_t fragment_quoted(str_t fragment, struct arena *arena);

/* A statement of tests/corpora/safety, with the header that it stands under. */
struct listed_statement {
	str_t sql;
	const char *header; /* behind `## ` */
};

struct listed_statements {
	struct arena *arena;
	struct listed_statement *items;
	size_t count, capacity;
};

/* Reads the file; `folder` replaces @FOLDER@. */
bool statements_load(struct listed_statements *statements, const char *name, const char *folder);
