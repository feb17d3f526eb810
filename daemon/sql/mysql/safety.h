/*
 * Whether a parsed MySQL or MariaDB statement only reads: functions, relations, sizes, shapes of injections.
 * Pure; any thread, with POOL_STACK_BYTES of stack. A state is one statement's.
 */
#pragma once

#include "sql/findings/violations.h"
#include "sql/mysql/functions.h"
#include "sql/mysql/names.h"

struct mysql_safety {
	const struct sql_request *request;
	str_t text;
	struct violations *violations;
	/* read so far, in order of the text */
	size_t user_relations;
	size_t system_relations;
	size_t probes; /* of server, database and account */
	bool cut_off;  /* the text ends with an empty comment */
	size_t views;  /* definitions that have been looked into */
	bool merges;   /* USING or a natural join stands somewhere */
	bool in_view;  /* what its author wrote is looked at, not the statement */
};

/* Adds every violation of the statement, and a doubt where a function is called of which nothing is known. */
void mysql_safety_check(const struct query_node *root, str_t text, const struct sql_request *request,
			struct violations *violations);

/* Judges a tree into `safety`. */
void mysql_safety_walk(struct mysql_safety *safety, const struct query_node *node);

/* views.c: what the definition of a view calls is called by whoever reads it. */
void mysql_views_relation(struct mysql_safety *safety, const struct query_node *relation);
