/*
 * The tables of the log: made and brought up to date by the migrations of schemas/audit.sql, which are part
 * of the program. See database/migrations.h for what holds of each function.
 */
#pragma once

#include "database/database.h"

/* Applies what is missing. */
err_t audit_schema_migrate(struct database *database, struct err_detail *detail);
