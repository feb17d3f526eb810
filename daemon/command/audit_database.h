/* The archive's database, as commands reach it. Main thread. */
#pragma once

#include "config/config.h"
#include "database/database.h"

/* Not connected yet; the caller owns it. ERR_CONFIG_MISSING: none is configured. */
err_t audit_database_open(const struct config *config, struct database **ret_database,
			  struct err_detail *detail);

/* Connects, and makes sure that there is an archive that this program understands; nothing is created. */
err_t audit_database_connect(struct database *database, struct err_detail *detail);
