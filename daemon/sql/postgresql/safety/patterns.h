/*
 * Shapes that an SQL injection leaves behind: conditions that are always true beside OR, or in front of a
 * comment that cuts the rest off; set operations that put the catalog, or what identifies the server, beside
 * tables; a comment that swallows the closing quote of a literal. Pure.
 */
#pragma once

#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/findings/violations.h"

/* What a part of a statement has read so far. */
struct arm_reads {
	size_t user_relations;
	size_t system_relations;
	size_t probes; /* calls that identify server, database or role */
};

/* Whether a set operation takes data out of the catalog along with tables: counts before its left arm,
 * between the arms, behind its right arm. */
bool pattern_exfiltration(struct arm_reads before, struct arm_reads middle, struct arm_reads after);

/* Whether the name is one of pg_catalog's or information_schema's, by the text alone. */
bool pattern_system_relation(str_t schema, str_t name);

/* Whether the function tells who and where the server is. */
bool pattern_probe_function(const FuncCall *call);

/* Offset of an always-true part that defeats the condition, or −1. `filters`: it decides which rows there
 * are; elsewhere, constants beside constants are just a value. */
int64_t pattern_tautology(str_t text, const BoolExpr *condition, bool filters);

/* Where the right arm starts, as nearly as its nodes tell. */
int64_t pattern_set_operation_offset(str_t text, const SelectStmt *select);

/* Comments that look like a cut-off rest. */
void pattern_check_comments(struct violations *list, str_t text);
