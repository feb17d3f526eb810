-- The catalog of a MySQL (5.7.8 and later) or MariaDB (10.2.7 and later) server as the account sees it: many rows of one
-- column, each a JSON array that begins with what it tells; sql/mysql/front_end.c reads them, in any order, one a line. (One
-- aggregated cell would be cut at group_concat_max_len.) The server's own schemas are left out.
SELECT CAST(JSON_ARRAY('format', 2, DATABASE()) AS CHAR) AS line
UNION ALL
SELECT JSON_ARRAY('schema', SCHEMA_NAME) FROM information_schema.SCHEMATA
WHERE SCHEMA_NAME NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
UNION ALL
SELECT JSON_ARRAY('relation', TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE) FROM information_schema.TABLES
WHERE TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
UNION ALL
SELECT JSON_ARRAY('column', TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION, COLUMN_NAME, DATA_TYPE, IS_NULLABLE)
FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
UNION ALL
SELECT JSON_ARRAY('key', TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART)
FROM information_schema.STATISTICS
WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
UNION ALL
SELECT JSON_ARRAY('view', TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION) FROM information_schema.VIEWS
WHERE TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
UNION ALL
SELECT JSON_ARRAY('routine', ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE, IS_DETERMINISTIC, SQL_DATA_ACCESS,
                  SECURITY_TYPE)
FROM information_schema.ROUTINES
WHERE ROUTINE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
UNION ALL
SELECT JSON_ARRAY('parameter', SPECIFIC_SCHEMA, SPECIFIC_NAME, ROUTINE_TYPE, ORDINAL_POSITION, PARAMETER_NAME)
FROM information_schema.PARAMETERS
WHERE ORDINAL_POSITION > 0 AND SPECIFIC_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
