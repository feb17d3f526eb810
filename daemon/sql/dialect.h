/*
 * The dialects of SQL. Every layer of sql/ may name one; only dialects.c knows what stands behind it.
 */
#pragma once

/* SQL_UNKNOWN_DIALECT: none of these; nothing is analysed. */
enum sql_dialect { SQL_POSTGRESQL, SQL_SQLITE, SQL_MYSQL, SQL_MONGODB, SQL_UNKNOWN_DIALECT };
