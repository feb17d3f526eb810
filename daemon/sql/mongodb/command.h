/*
 * The one command that a text holds: a mongosh expression on a collection (find, findOne, aggregate,
 * countDocuments, estimatedDocumentCount, count, distinct, with what may be chained behind them), or a
 * command document of the same four kinds. Nothing else is a command here. Pure; any thread.
 */
#pragma once

#include "sql/mongodb/value.h"

enum mongodb_verb {
	MONGODB_FIND,
	MONGODB_AGGREGATE,
	MONGODB_COUNT,
	MONGODB_DISTINCT,
	MONGODB_WRITE, /* a method or a command that writes, or administers: see `word` */
};

struct mongodb_command {
	enum mongodb_verb verb;
	str_t word; /* the method's or the command's name, as written */
	size_t word_offset;
	str_t database;	  /* another one than the connection's, or this by its name; absent: not named */
	str_t collection; /* absent: of the database alone */
	size_t collection_offset;
	bool one;	/* findOne: a single document */
	bool estimated; /* estimatedDocumentCount */
	bool explained; /* the plan is asked for, not the result */
	struct mongodb_value *filter, *projection, *sort, *skip, *limit; /* or NULL, likewise below */
	struct mongodb_value *pipeline;					 /* an array of documents */
	struct mongodb_value *key;					 /* of distinct: a string */
	struct mongodb_value *options;	   /* what else is asked for: a document */
	enum mongodb_verb options_of;	   /* whose they are: of a find whose documents are counted, find's */
	const struct mongodb_value *stray; /* what stands for options and is no document; NULL: nothing */
	const struct mongodb_value *twice; /* what was asked for twice; NULL: nothing */
};

/* Reads the text from the reader's place to its end. False: failed, `reader` says where, unless the verb is
 * MONGODB_WRITE, behind whose name nothing is read. `ret_more` is set where another statement follows. */
bool mongodb_read_command(struct mongodb_reader *reader, struct mongodb_command *ret_command, bool *ret_more);

/* Whether a method of a collection or the shell, or a command, writes or administers. */
bool mongodb_writes(str_t word);

/* Whether an option of that verb says nothing of what is returned beyond what the options tell that are
 * known here. False: nobody knows. */
bool mongodb_knows_option(enum mongodb_verb verb, str_t option);
