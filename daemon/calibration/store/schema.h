/*
 * The calibration tables: made and brought up to date by the migrations of schemas/calibration.sql, which are
 * part of the program. See database/migrations.h for what holds of each function.
 */
#pragma once

#include "database/database.h"

/* The newest version that this program knows. */
int calibration_schema_version(void);

/* Applies what is missing. */
err_t calibration_schema_migrate(struct database *database, struct err_detail *detail);

/* The version in the database, 0: there are no tables yet. */
err_t calibration_schema_read(struct database *database, int *ret_version, struct err_detail *detail);

/* The error of tables that have another version than is needed, older or newer, or of which there are none;
 * returns its code. */
err_t calibration_schema_mismatch(int version, struct err_detail *detail);
