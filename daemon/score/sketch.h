/*
 * A query as its tokens show it, the same for all dialects: which words it has how often, what it puts out,
 * which literals and names stand in it. A sketch and no analysis: it costs a microsecond, needs no catalog,
 * and says as much of a text that does not parse.
 *
 * The first SKETCH_MAX_BYTES and SKETCH_MAX_TOKENS count. Pure; no allocation; any thread.
 */
#pragma once

#include "sql/lex/scan.h"
#include "sql/lex/words.h"

#define SKETCH_MAX_BYTES    (1 << 20)
#define SKETCH_MAX_TOKENS   1000
#define SKETCH_MAX_LITERALS 40
#define SKETCH_MAX_RANGES   24

enum sketch_word {
#define SKETCH_WORD(symbol, text) SKETCH_##symbol,
#include "score/sketch_words.def"
#undef SKETCH_WORD
	SKETCH_NO_WORD,
};

struct sketch_token {
	uint8_t kind;	/* enum scan_kind */
	uint8_t word;	/* enum sketch_word */
	char first;	/* byte */
	bool called;	/* an opening bracket follows */
	uint16_t depth; /* of brackets */
	uint32_t offset;
	uint32_t len;
};

struct sketch_literal {
	str_t text; /* without quotes; a doubled one inside stays */
	bool is_number;
};

struct sketch {
	str_t sql;
	struct sketch_token tokens[SKETCH_MAX_TOKENS]; /* without spaces and comments */
	size_t count;
	unsigned short words[SKETCH_NO_WORD]; /* how often; aggregates and functions where they are called */
	unsigned depth;
	/* what it puts out: tokens of the outermost SELECT's list */
	size_t outputs_from, outputs_to;
	unsigned outputs;
	bool puts_out_star, puts_out_aggregate;
	unsigned aggregates;
	size_t ranges_count, literals_count;
	bool self_join;
	bool divides, compares, negates;
	unsigned keys;			 /* equalities of two qualified columns */
	unsigned odd_keys;		 /* of those, between columns whose names are unlike */
	str_t ranges[SKETCH_MAX_RANGES]; /* names of relations in FROM, without schema and quotes */
	struct sketch_literal literals[SKETCH_MAX_LITERALS];
	struct word_set set; /* words of all names and literals */
};

void sketch_read(str_t sql, enum sql_dialect dialect, struct sketch *ret_sketch);

/* A name without its quotes. */
str_t sketch_name(const struct sketch *sketch, const struct sketch_token *token);

/* Whether the token is a name and no keyword, call or alias behind AS. */
bool sketch_is_name(const struct sketch *sketch, size_t index);
