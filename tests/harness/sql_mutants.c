#include "tests/harness/sql_mutants_text.h"

#include <ctype.h>

#define ONE_OF(mutation, array) (array)[mutation_random((mutation), sizeof(array) / sizeof((array)[0]))]

enum { ITEMS_MAX = 64, TRIES_MAX = 40 };

/* ---- What can stand in for something ---- */

static const char *const functions[] = {
	"sum",
	"avg",
	"count",
	"min",
	"max",
	"array_agg",
	"string_agg",
	"bool_or",
	"json_agg",
	"stddev",
	"mode",
	"percentile_cont",
	"lower",
	"upper",
	"length",
	"char_length",
	"substr",
	"substring",
	"trim",
	"ltrim",
	"replace",
	"concat",
	"concat_ws",
	"split_part",
	"left",
	"right",
	"lpad",
	"strpos",
	"initcap",
	"reverse",
	"md5",
	"format",
	"regexp_replace",
	"regexp_matches",
	"to_char",
	"to_date",
	"to_timestamp",
	"to_number",
	"date_trunc",
	"date_part",
	"age",
	"make_date",
	"make_interval",
	"now",
	"clock_timestamp",
	"date",
	"timestamp",
	"round",
	"abs",
	"ceil",
	"floor",
	"trunc",
	"mod",
	"power",
	"sqrt",
	"exp",
	"ln",
	"sign",
	"random",
	"greatest",
	"least",
	"coalesce",
	"nullif",
	"row_number",
	"rank",
	"dense_rank",
	"lag",
	"lead",
	"ntile",
	"first_value",
	"generate_series",
	"unnest",
	"array_length",
	"cardinality",
	"array_to_string",
	"string_to_array",
	"json_build_object",
	"jsonb_array_elements",
	"to_json",
	"row_to_json",
	"text",
	"int4",
	"numeric",
	"ifnull",
	"isnull",
	"nvl",
	"len",
	"datediff",
	"dateadd",
	"date_format",
	"strftime",
	"julianday",
	"year",
	"month",
	"curdate",
	"getdate",
	"group_concat",
	"iif",
	"instr",
	"charindex",
	"str_to_date",
	"median",
	"variance",
	"corr",
	"width_bucket",
	"pg_typeof",
	"quote_literal",
	"chr",
	"ascii",
	"to_hex",
	"every",
};

static const char *const types[] = {
	"int",
	"bigint",
	"smallint",
	"numeric",
	"numeric(10,2)",
	"decimal",
	"real",
	"float",
	"double precision",
	"text",
	"varchar",
	"varchar(20)",
	"char(3)",
	"date",
	"time",
	"timestamp",
	"timestamptz",
	"interval",
	"boolean",
	"json",
	"jsonb",
	"uuid",
	"bytea",
	"int[]",
	"text[]",
	"money",
	"point",
	"inet",
	"oid",
	"name",
	"datetime",
	"string",
	"unsigned",
	"nosuchtype",
	"pg_catalog.int4",
	"public.nosuchtype",
	"regclass",
	"xml",
};

static const char *const literals[] = {
	"0",
	"1",
	"-1",
	"42",
	"3.14",
	"1e3",
	"99999999999",
	"99999999999999999999",
	"'a'",
	"''",
	"'12'",
	"'3.5'",
	"'x1'",
	"'2023-01-15'",
	"'2023-13-45'",
	"'2023-01-15 10:00:00'",
	"'1 day'",
	"'true'",
	"'{1,2}'",
	"'[1]'",
	"NULL",
	"TRUE",
	"FALSE",
	"DATE '2023-01-15'",
	"TIMESTAMP '2023-01-15 10:00'",
	"INTERVAL '1 day'",
	"INTERVAL '1' DAY",
	"CURRENT_DATE",
	"CURRENT_TIMESTAMP",
	"ARRAY[1, 2]",
	"ARRAY['a']",
	"(1, 2)",
	"ROW(1)",
	"'a'::text",
	"'5'::int",
	"B'101'",
	"E'\\\\n'",
	"date 'soon'",
	"CAST('7' AS int)",
	"'%a%'",
	"now()",
	"\"x\"",
};

static const char *const operators[] = {
	"=",
	"<>",
	"!=",
	"<",
	">",
	"<=",
	">=",
	"+",
	"-",
	"*",
	"/",
	"%",
	"^",
	"||",
	"AND",
	"OR",
	"LIKE",
	"ILIKE",
	"NOT LIKE",
	"~",
	"~*",
	"!~",
	"IS DISTINCT FROM",
	"->",
	"->>",
	"@>",
	"&&",
	"==",
	"=>",
	"IN",
	"&",
	"|",
	"#",
	"SIMILAR TO",
	"IS",
	"BETWEEN",
	",",
	"<=>",
	"&&&",
	"OVERLAPS",
	"= ANY",
	"AT TIME ZONE",
};

static const char *const misspellable[] = {
	"SELECT", "FROM",    "WHERE",  "GROUP",	 "BY",	 "HAVING", "ORDER",    "LIMIT", "JOIN",	   "ON",
	"AND",	  "OR",	     "AS",     "IN",	 "LEFT", "INNER",  "DISTINCT", "UNION", "CASE",	   "WHEN",
	"END",	  "USING",   "IS",     "NOT",	 "DESC", "OVER",   "WITH",     "ALL",	"NATURAL", "CROSS",
	"FILTER", "LATERAL", "VALUES", "OFFSET", "user", "table",  "check",
};

/* Templates. `$0`: what is there; `$o`: another value of the statement; `$q`: a column of it with its
 * qualifier; `$n`, `$s`, `$d`: one that is a number, a text, a date or timestamp, else such a literal; `$t`:
 * a relation, the same one in the whole template; `$c`: a column of that; `$N`, `$S`, `$D`: its column of
 * that kind as `r.column`, always the same; `$a`: an alias of the statement; `$f`: a function; `$l`: a
 * literal; `$y`: a type; `$p`: an operator. */
static const char *const operand_wraps[] = {
	"SUM($0)",
	"COUNT($0)",
	"COUNT(DISTINCT $0)",
	"MAX($0)",
	"MIN($0)",
	"AVG($0)",
	"ARRAY_AGG($0 ORDER BY $o)",
	"STRING_AGG($0, ',')",
	"STRING_AGG(DISTINCT $0, ',' ORDER BY $o)",
	"SUM($0) OVER ()",
	"SUM($0) FILTER (WHERE $o IS NOT NULL)",
	"SUM(DISTINCT $0)",
	"BOOL_AND($0)",
	"EVERY($0 = $o)",
	"RANK() OVER (ORDER BY $0)",
	"LAG($0) OVER (PARTITION BY $o ORDER BY $0)",
	"LAG($0, 1, $l) OVER (ORDER BY $0)",
	"ROW_NUMBER() OVER (PARTITION BY $0, $o)",
	"AVG(SUM($0)) OVER ()",
	"SUM(AVG($0))",
	"COUNT(*) OVER w",
	"SUM($0) OVER (ORDER BY $o ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
	"SUM($0) OVER (ORDER BY $o RANGE BETWEEN $l PRECEDING AND CURRENT ROW)",
	"SUM($0) OVER (ROWS BETWEEN $o PRECEDING AND CURRENT ROW)",
	"PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY $0)",
	"MODE() WITHIN GROUP (ORDER BY $0)",
	"PERCENTILE_CONT($0) WITHIN GROUP (ORDER BY $o)",
	"RANK() WITHIN GROUP (ORDER BY $0)",
	"RANK()",
	"LOWER($0)",
	"LENGTH($0)",
	"UPPER($0)",
	"ROUND($0)",
	"ROUND($0, 2)",
	"ROUND($0::numeric, 2)",
	"ABS($0)",
	"DATE_TRUNC('month', $0)",
	"DATE_TRUNC($0, $o)",
	"EXTRACT(YEAR FROM $0)",
	"EXTRACT(EPOCH FROM $0 - $o)",
	"EXTRACT(nosuch FROM $0)",
	"DATE_PART('year', $0)",
	"TO_CHAR($0, 'YYYY')",
	"TO_DATE($0, 'YYYY-MM-DD')",
	"AGE($0)",
	"SUBSTRING($0 FROM 1 FOR 2)",
	"SUBSTRING($0, 1, 2)",
	"POSITION('a' IN $0)",
	"TRIM(BOTH FROM $0)",
	"OVERLAY($0 PLACING 'x' FROM 1)",
	"CONCAT($0, $o)",
	"COALESCE($0, $l)",
	"COALESCE($0, $o)",
	"COALESCE($0)",
	"NULLIF($0, $l)",
	"NULLIF($0, $o)",
	"NULLIF($0)",
	"GREATEST($0, $o)",
	"LEAST($0, $l)",
	"$f($0)",
	"$f($0, $o)",
	"$f($0, $l)",
	"$f($0, $l, $l)",
	"$f()",
	"$f(*)",
	"$f(DISTINCT $0)",
	"$f($l)",
	"$f(VARIADIC ARRAY[$0])",
	"$f(x => $0)",
	"pg_catalog.$f($0)",
	"public.$f($0)",
	"nosuch.$f($0)",
	"GENERATE_SERIES(1, $0)",
	"UNNEST($0)",
	"UNNEST(ARRAY[$0])",
	"CASE WHEN $0 IS NULL THEN 0 ELSE $0 END",
	"CASE WHEN $0 THEN 1 ELSE 0 END",
	"CASE WHEN $0 = $o THEN $0 ELSE $l END",
	"CASE $0 WHEN $l THEN 1 END",
	"CASE $0 WHEN $l THEN $l ELSE $o END",
	"CASE WHEN $0 > $l THEN 'many' ELSE $o END",
	"CASE WHEN $o IS NULL THEN $0 END",
	"CAST($0 AS $y)",
	"$0::$y",
	"($0)::$y",
	"$0::$y::$y",
	"-$0",
	"+$0",
	"NOT $0",
	"~$0",
	"@$0",
	"($0)",
	"($0, $o)",
	"ROW($0, $o)",
	"($0).nosuch",
	"($0).f1",
	"$0[1]",
	"($0)[1]",
	"ARRAY[$0]",
	"ARRAY[$0, $l]",
	"ARRAY[$0, $o]",
	"$0 + 1",
	"$0 * 1.0",
	"$0 / 100",
	"$0 - $o",
	"$0 + $o",
	"$0 || 'x'",
	"$0 || $o",
	"$0 $p $o",
	"$0 $p $l",
	"$l $p $0",
	"$0 = $l",
	"$0 = $o",
	"$0 IS NULL",
	"$0 IS TRUE",
	"$0 IN ($l)",
	"$0 IN ($l, $l)",
	"$0 IN ($o, $l)",
	"$0 IN (1, 'a')",
	"($0, $o) IN (($l, $l))",
	"($0, $o) = (1, 'a')",
	"($0, $o) = ($o)",
	"$0 BETWEEN $l AND $l",
	"$0 BETWEEN $o AND $l",
	"$0 LIKE 'a%'",
	"$0 LIKE $l ESCAPE '!'",
	"$0 = ANY ($l)",
	"$0 = ANY (ARRAY[$l, $l])",
	"$0 = ANY ('{1,2}')",
	"$0 = ALL ($o)",
	"$0 AT TIME ZONE 'UTC'",
	"$0 COLLATE \"C\"",
	"$0 COLLATE \"nosuch\"",
	"$0 + INTERVAL '1 day'",
	"$0 - INTERVAL '1 month'",
	"$0 + '1 day'",
	"CURRENT_DATE - $0",
	"(SELECT $0)",
	"(SELECT $c FROM $t)",
	"(SELECT MAX($c) FROM $t)",
	"(SELECT $0, $o)",
	"(SELECT * FROM $t)",
	"(SELECT $q FROM $t LIMIT 1)",
	"EXISTS (SELECT 1 FROM $t WHERE $c = $0)",
	"$0 IN (SELECT $c FROM $t)",
	"$0 IN (SELECT $c, $c FROM $t)",
	"($0, $o) IN (SELECT $c, $c FROM $t)",
	"$0 = (SELECT $c FROM $t LIMIT 1)",
	"$0 > ALL (SELECT $c FROM $t)",
	"ARRAY(SELECT $c FROM $t)",
	"$0 NOT IN (SELECT $a.$c FROM $t)",
	"(SELECT SUM($0))",
	"(SELECT COUNT(*) FROM $t WHERE $t.$c = $0)",
	"(VALUES ($0))",
	"(VALUES ($0), ($l))",
	"$l",
	"$l",
	"$l",
	"$l::$y",
	"$c",
	"$q",
	"$q",
	"$o",
	"$o",
	"$a",
	"$a.*",
	"$a.$c",
	"$t.$c",
	"$t",
	"$a.ctid",
	"xmin",
	"*",
	"public.$t.$c",
	"$0.nosuch",
	"$0 AS x",
	"$0 $p",
	"DEFAULT",
	"$1",
	"GROUPING($0)",
	"XMLELEMENT(NAME x, $0)",
	"$0 IS DOCUMENT",
	"$0 IS JSON",
	"$0 ISNULL",
	"$0 OPERATOR(pg_catalog.+) $l",
	"($0, $o) OVERLAPS ($o, $l)",
	"$0 SIMILAR TO 'a'",
	"$0 NOT BETWEEN SYMMETRIC $l AND $o",
	"TREAT($0 AS int)",
	"NORMALIZE($0)",
	"($a).$c",
	"($a.*).$c",
	"current_user",
	"session_user = $0",
	"localtimestamp - $0",
};

/* Right wherever the columns are there, so that nothing right is called wrong. */
static const char *const right_items[] = {
	"$n + $n",
	"$n * 1.5",
	"$n::numeric % 2",
	"$n::int % 2",
	"round($n::numeric, 2)",
	"round($n)",
	"abs($n)",
	"ceil($n)",
	"power($n, 2)",
	"sqrt(abs($n))",
	"greatest($n, 0)",
	"least($n, 1.5, NULL)",
	"coalesce($n, 0)",
	"coalesce($n, 0.5, NULL)",
	"nullif($n, 0)",
	"CASE WHEN $n > 5 THEN 'high' ELSE 'low' END",
	"CASE WHEN $n > 5 THEN $n ELSE 0.5 END",
	"CASE $n WHEN 1 THEN $s WHEN 2.5 THEN NULL ELSE 'x' END",
	"$n BETWEEN 1 AND 2.5",
	"$n IN (1, 2, 3.5)",
	"$n IN (1, NULL)",
	"$n::text || 'x'",
	"'#' || $n",
	"$n || ''",
	"$n || $s",
	"concat($n, $s, $d)",
	"to_char($n, '999')",
	"width_bucket($n, 0, 10, 5)",
	"trunc($n::numeric, 1)",
	"$n / NULLIF($n, 0)",
	"$n = ANY (ARRAY[1, 2])",
	"$n = ANY ('{1,2}')",
	"$n <> ALL (ARRAY[1, 2.5])",
	"$n IS DISTINCT FROM NULL",
	"-$n",
	"+$n",
	"@ $n",
	"|/ abs($n)",
	"$n ^ 2",
	"$n > '5'",
	"$n = '5'::int",
	"$n + '5'",
	"sign($n)",
	"mod($n::int, 2)",
	"random() * $n",
	"$n::int & 1",
	"$n::int << 2",
	"$n::int::bit(8)",
	"ln(abs($n) + 1)",
	"log(10, abs($n)::numeric + 1)",
	"make_interval(days => $n::int)",
	"generate_series(1, 3)",
	"generate_series(1, $n::int, 2)",
	"$n::real",
	"$n::money",
	"$n::float8::int8",
	"1e3 * $n",
	"lower($s)",
	"upper($s) = 'A'",
	"length($s) > 3",
	"$s || 'x'",
	"$s || NULL",
	"$s LIKE '%a%'",
	"$s ILIKE $s",
	"$s LIKE 'a!%' ESCAPE '!'",
	"$s ~ '^a'",
	"$s !~* 'b'",
	"substring($s FROM 1 FOR 2)",
	"substring($s, 1, 2)",
	"substring($s FROM 'a.c')",
	"substring($s SIMILAR 'a' ESCAPE '!')",
	"substr($s, 2)",
	"position('a' IN $s)",
	"strpos($s, 'a')",
	"split_part($s, ' ', 1)",
	"left($s, 2)",
	"right($s, -2)",
	"replace($s, 'a', 'b')",
	"regexp_replace($s, 'a', 'b', 'g')",
	"trim($s)",
	"trim(both 'x' from $s)",
	"trim(trailing from $s)",
	"ltrim($s, '0')",
	"lpad($s, 5, '0')",
	"lpad($n::text, 3, '0')",
	"initcap($s)",
	"reverse($s)",
	"md5($s)",
	"concat_ws(', ', $s, $n)",
	"format('%s-%s', $s, $n)",
	"string_to_array($s, ',')",
	"(string_to_array($s, ','))[1]",
	"array_length(string_to_array($s, ','), 1)",
	"unnest(string_to_array($s, ','))",
	"$s = ANY (ARRAY['a', 'b'])",
	"$s = ANY (string_to_array('a,b', ','))",
	"$s IN ('a', 'b')",
	"$s = 'a' COLLATE \"C\"",
	"$s COLLATE \"C\" < 'b'",
	"$s SIMILAR TO 'a%'",
	"$s BETWEEN 'a' AND $s",
	"$s::varchar(3)",
	"$s::char(3) = 'abc'",
	"CAST($s AS text)",
	"to_tsvector($s) @@ to_tsquery('a')",
	"to_tsvector('english', $s)",
	"quote_literal($s)",
	"encode(sha256($s::bytea), 'hex')",
	"overlay($s placing 'x' from 1)",
	"chr(ascii($s))",
	"translate($s, 'a', 'b')",
	"starts_with($s, 'a')",
	"$s ^@ 'a'",
	"($s, $n) IN (('a', 1), ('b', 2))",
	"($s, $n) = ('a', 1)",
	"($n, $d) < (2, '2020-01-01')",
	"ROW($s, $n) IS NOT NULL",
	"($s IS NULL) = ($n IS NULL)",
	"coalesce($s, 'none')",
	"nullif($s, '')",
	"CASE $s WHEN 'a' THEN 1 WHEN 'b' THEN 2 END",
	"json_build_object('k', $s, 'n', $n)",
	"jsonb_build_object('k', $s) ->> 'k'",
	"jsonb_build_object('k', $s) -> 'k'",
	"('{\"a\": 1}'::jsonb -> 'a')::int + 1",
	"('{\"a\": [1]}'::json #>> '{a,0}')::int",
	"'{\"a\":1}'::jsonb @> '{\"a\":1}'",
	"'{\"a\":1}'::jsonb ? 'a'",
	"to_json($s)",
	"row_to_json($a)",
	"to_jsonb($a)",
	"$a",
	"$a::text",
	"$a IS NOT NULL",
	"$s::date",
	"$s::numeric > 1",
	"$s::int + 1",
	"$s > $s",
	"NOT $s = ''",
	"array[$s, 'a']",
	"array_to_string(array[$s, 'a'], ',')",
	"'a' = any(array[$s]::text[])",
	"bit_length($s)",
	"regexp_matches($s, 'a')",
	"regexp_split_to_array($s, ' ')",
	"$d + INTERVAL '1 day'",
	"$d - INTERVAL '1 month' > $d",
	"$d::date - 7",
	"$d::date + 1",
	"date_trunc('month', $d)",
	"date_trunc('month', $d)::date",
	"extract(year FROM $d)",
	"extract(dow FROM $d)::int IN (0, 6)",
	"date_part('month', $d)",
	"to_char($d, 'YYYY-MM')",
	"age($d)",
	"age(now(), $d)",
	"$d >= '2020-01-01'",
	"$d > CURRENT_DATE - 30",
	"$d BETWEEN '2020-01-01' AND '2020-12-31'",
	"$d > now() - INTERVAL '1 year'",
	"$d AT TIME ZONE 'UTC'",
	"$d::timestamptz AT TIME ZONE 'Europe/Berlin'",
	"make_date(extract(year FROM $d)::int, 1, 1)",
	"$d::timestamp::time",
	"$d = DATE '2020-01-01'",
	"$d::date = ANY (ARRAY['2020-01-01'::date])",
	"($d, $d) OVERLAPS ($d, $d)",
	"($d::date, INTERVAL '1 day') OVERLAPS ($d::date, INTERVAL '1 day')",
	"justify_days($d::timestamp - $d::timestamp)",
	"date_bin('15 minutes', $d::timestamp, TIMESTAMP '2001-01-01')",
	"EXTRACT(EPOCH FROM ($d::timestamp - $d::timestamp)) / 86400",
	"generate_series($d::timestamp, $d::timestamp, '1 day')",
	"$d::date - DATE '2020-01-01' > 5",
	"LEAST($d, CURRENT_DATE)",
	"isfinite($d)",
	"COALESCE($d, CURRENT_DATE)",
	"coalesce($d, '2020-01-01')",
	"'2020-01-01' <= $d",
	"$d + 2 * interval '1 day'",
	"$d + (2 || ' days')::interval",
	"localtimestamp - $d",
	"CURRENT_TIMESTAMP::date",
	"$d - $d",
	"$d::text LIKE '2020%'",
	"$d IN ('2020-01-01', CURRENT_DATE)",
	"INTERVAL '1' YEAR + $d",
	"DATE '2020-01-01' + TIME '10:00'",
	"$d::date - '2020-01-01'",
	"NOT ($n > 1)",
	"($n > 1) = true",
	"($n > 1)::int",
	"($n > 1) IS NOT TRUE",
	"$n IS NULL IS TRUE",
	"(SELECT max($c) FROM $t)",
	"EXISTS (SELECT FROM $t)",
	"$n > (SELECT avg(x) FROM (VALUES (1), (2)) AS v (x))",
	"$s IN (SELECT x FROM (VALUES ('a')) AS v (x))",
	"ARRAY(SELECT $c FROM $t)",
	"(SELECT count(*) FROM $t AS sub WHERE sub.$c IS NOT NULL)",
	"array_length(ARRAY(SELECT 1), 1)",
	"(SELECT row_to_json(r) FROM (SELECT $n AS x, $s AS y) AS r)",
	"(SELECT json_agg(r) FROM $t AS r)",
	"(SELECT r FROM $t AS r LIMIT 1)",
	"(SELECT (r).$c FROM $t AS r LIMIT 1)",
	"(SELECT r.$c FROM (SELECT * FROM $t) AS r LIMIT 1)",
	"(SELECT $n)",
	"(SELECT $n + x FROM generate_series(1, 2) AS x LIMIT 1)",
	"($n, $s) IN (SELECT 1, 'a')",
	"$n < ANY (SELECT 1.5)",
	"($n, $n) = (SELECT 1, 2)",
	"(VALUES (1))",
	"count(*) OVER ()",
	"sum($n) OVER (PARTITION BY $s ORDER BY $d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
	"sum($n) OVER (ORDER BY $d RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW)",
	"rank() OVER (ORDER BY $n DESC)",
	"lag($n) OVER (ORDER BY $d)",
	"lag($n, 1, 0) OVER (ORDER BY $d)",
	"lead($s, 1, 'x') OVER (ORDER BY $n)",
	"first_value($s) OVER (PARTITION BY $n ORDER BY $d RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT "
	"ROW)",
	"ntile(4) OVER (ORDER BY $n)",
	"percent_rank() OVER (ORDER BY $n)",
	"nth_value($s, 2) OVER (ORDER BY $n GROUPS 1 PRECEDING)",
	"avg($n) FILTER (WHERE $s = 'a') OVER (PARTITION BY $s)",
	"current_user = $s",
	"pg_typeof($n)::text",
	"$n::int4range_ IS NULL",
	"int4range(1, 5) @> 3",
	"'[1,5)'::int4range && int4range(2, 3)",
	"point(1, 2) <-> point '(3,4)'",
	"'192.168.0.1'::inet << '192.168.0.0/16'",
	"'a'::\"char\"",
	"ARRAY[1, 2] || 3",
	"ARRAY[1, 2] @> ARRAY[1]",
	"array_append(ARRAY[$n], 1)",
	"array_agg(1) OVER ()",
	"(ARRAY[1, 2, 3])[1:2]",
	"cardinality(ARRAY[$s])",
	"ARRAY[[1, 2], [3, 4]]",
	"'{1,2}'::int[]",
	"array_position(ARRAY['a', 'b'], $s)",
	"xmlelement(name a, $s)",
	"B'101' & B'110'",
	"uuid_out('00000000-0000-0000-0000-000000000000'::uuid)",
	"gen_random_uuid()",
	"date(CURRENT_TIMESTAMP)",
	"text($n)",
	"int4($n)",
	"$n.int4_",
	"num_nonnulls($n, $s)",
	"jsonb_array_length('[1]')",
	"jsonb_path_exists('{}', '$$.a')",
	"ts_rank(to_tsvector($s), plainto_tsquery('a'))",
	"hashtext($s)",
	"pg_size_pretty(1::bigint)",
};

/* Statements that are right where the columns are there. */
static const char *const right_statements[] = {
	"SELECT $S, count(*) FROM $t AS r GROUP BY $S",
	"SELECT $S, sum($N) FROM $t AS r GROUP BY $S HAVING sum($N) > 1 ORDER BY 2 DESC NULLS LAST LIMIT 5",
	"SELECT $S AS s, avg($N) AS a FROM $t r GROUP BY s ORDER BY a, s",
	"SELECT lower($S), max($D) FROM $t r GROUP BY lower($S) ORDER BY lower($S)",
	"SELECT date_trunc('month', $D) AS month, count(DISTINCT $S) FROM $t r GROUP BY month",
	"SELECT date_trunc('month', $D) AS month, count(*) FROM $t r GROUP BY 1 HAVING count(*) > 1 ORDER BY "
	"1",
	"SELECT extract(year FROM $D) AS y, sum($N) FILTER (WHERE $S = 'a') FROM $t r GROUP BY extract(year "
	"FROM $D)",
	"SELECT $S || 'x', $S FROM $t r GROUP BY $S",
	"SELECT r.* FROM $t r",
	"SELECT r.*, $N + 1 AS more FROM $t r ORDER BY more",
	"SELECT r FROM $t r",
	"SELECT count(r) FROM $t r",
	"SELECT DISTINCT r.* FROM $t r",
	"SELECT DISTINCT $S FROM $t r ORDER BY $S",
	"SELECT DISTINCT $S AS x FROM $t r ORDER BY x",
	"SELECT DISTINCT ON ($S) $S, $N FROM $t r ORDER BY $S, $N DESC",
	"SELECT $S FROM $t r ORDER BY $N",
	"SELECT $N AS x FROM $t r ORDER BY x, $N + 1",
	"SELECT - $N AS c FROM $t r ORDER BY c",
	"SELECT count(*) FROM $t r HAVING count(*) > 1",
	"SELECT 1 FROM $t r HAVING true",
	"SELECT string_agg($S, ',' ORDER BY $N) FROM $t r",
	"SELECT string_agg(DISTINCT $S, ',' ORDER BY $S) FROM $t r",
	"SELECT string_agg(DISTINCT $S, ',') FROM $t r",
	"SELECT array_agg($N ORDER BY $D DESC) FROM $t r",
	"SELECT json_agg(r) FROM $t r",
	"SELECT jsonb_object_agg($S, $N) FROM $t r",
	"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY $N) FROM $t r",
	"SELECT percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY $S) FROM $t r",
	"SELECT mode() WITHIN GROUP (ORDER BY $S) FROM $t r",
	"SELECT rank(5) WITHIN GROUP (ORDER BY $N) FROM $t r",
	"SELECT corr($N, $N), stddev($N), variance($N), regr_slope($N, $N) FROM $t r",
	"SELECT bool_and($N > 1), every($S = 'a') FROM $t r",
	"SELECT $S, $N, sum(1) FROM $t r GROUP BY GROUPING SETS (($S, $N), ($S), ())",
	"SELECT $S, grouping($S), count(*) FROM $t r GROUP BY ROLLUP ($S, $N)",
	"SELECT $S, count(*) FROM $t r GROUP BY CUBE ($S), $N",
	"SELECT sum(count(*)) OVER (ORDER BY $S) FROM $t r GROUP BY $S",
	"SELECT rank() OVER (ORDER BY sum($N) DESC) FROM $t r GROUP BY $S",
	"SELECT $S, sum($N) * 100.0 / sum(sum($N)) OVER () FROM $t r GROUP BY $S",
	"SELECT sum($N) OVER w, rank() OVER (w ORDER BY $D) FROM $t r WINDOW w AS (PARTITION BY $S)",
	"SELECT * FROM (SELECT $S AS s, row_number() OVER (PARTITION BY $S ORDER BY $D DESC) AS n FROM $t r) "
	"AS q WHERE q.n = 1 AND s LIKE 'a%'",
	"SELECT x.s FROM (SELECT $S FROM $t r) AS x (s)",
	"SELECT q.a, b FROM (SELECT $S, $N FROM $t r) AS q (a, b) WHERE b > 1",
	"SELECT q.count FROM (SELECT count(*) FROM $t r) AS q",
	"SELECT sum, max FROM (SELECT sum($N), max($D) FROM $t r) AS q",
	"SELECT q.*, \"case\" FROM (SELECT CASE WHEN $N > 1 THEN 1 END FROM $t r) q",
	"SELECT coalesce, nullif(x, 1) FROM (SELECT coalesce($S, 'a'), 1 AS x FROM $t r) q",
	"WITH q AS (SELECT $S AS s, sum($N) AS n FROM $t r GROUP BY 1) SELECT s, n / (SELECT sum(n) FROM q) "
	"FROM q ORDER BY n DESC",
	"WITH q AS (SELECT * FROM $t r), p (a) AS (SELECT count(*) FROM q) SELECT a + 1 FROM p",
	"WITH $t AS (SELECT 1 AS one) SELECT one FROM $t",
	"WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 5) SELECT sum(n) FROM q",
	"WITH RECURSIVE q (n, p) AS (SELECT 1, 'a'::text UNION SELECT n + 1, p || 'b' FROM q WHERE n < 5) "
	"SELECT * FROM q",
	"WITH RECURSIVE days AS (SELECT '2020-01-01'::date AS d UNION ALL SELECT (d + INTERVAL '1 "
	"day')::date FROM days WHERE d < '2020-02-01') SELECT d FROM days",
	"WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT a.x, b.x FROM a JOIN b USING (x)",
	"WITH a AS (SELECT 1 AS x) SELECT x FROM a UNION ALL SELECT x + 1 FROM a ORDER BY x",
	"WITH q AS MATERIALIZED (SELECT $N AS n FROM $t r) SELECT q.n FROM q, q AS p WHERE q.n = p.n",
	"WITH a AS (WITH b AS (SELECT 1 AS x) SELECT x FROM b) SELECT x FROM a",
	"SELECT 1 UNION SELECT 2.5",
	"SELECT $S FROM $t r UNION SELECT 'a'",
	"SELECT $S, $N FROM $t r UNION ALL SELECT 'a', NULL ORDER BY 1",
	"SELECT NULL UNION SELECT 'a' UNION SELECT 'b'",
	"SELECT $N AS n FROM $t r INTERSECT SELECT 1 ORDER BY n",
	"(SELECT $S FROM $t r ORDER BY 1 LIMIT 1) EXCEPT (SELECT 'x')",
	"SELECT $D FROM $t r UNION SELECT '2020-01-01'",
	"SELECT * FROM (SELECT 1 AS x UNION ALL SELECT 2.5) AS u WHERE x > 1.5",
	"SELECT 1, 'a' UNION VALUES (2, 'b')",
	"VALUES (1, 'a'), (2.5, NULL)",
	"SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v (i, s) WHERE i > 1 AND s = 'a'",
	"SELECT a.$c FROM $t a JOIN $t b USING ($c)",
	"SELECT $c FROM $t a JOIN $t b USING ($c)",
	"SELECT * FROM $t a NATURAL JOIN $t b",
	"SELECT $c FROM $t a NATURAL LEFT JOIN $t b",
	"SELECT j.$c FROM $t a JOIN $t b USING ($c) AS j",
	"SELECT $c FROM $t a FULL JOIN $t b USING ($c) WHERE b.$c IS NULL",
	"SELECT a.$c FROM $t a LEFT JOIN $t b ON a.$c = b.$c AND b.$c IS NOT NULL",
	"SELECT (SELECT max(b.$c) FROM $t b WHERE b.$c = a.$c) FROM $t a",
	"SELECT x.$c FROM ($t a CROSS JOIN $t b) AS x (q1) LIMIT 0",
	"SELECT a.$c FROM ($t a CROSS JOIN $t b)",
	"SELECT a.$c, l.n FROM $t a, LATERAL (SELECT a.$c AS n) AS l",
	"SELECT l.x FROM $t r CROSS JOIN LATERAL (VALUES ($N), (1)) AS l (x)",
	"SELECT $S, g FROM $t r, generate_series(1, 3) AS g",
	"SELECT g.n FROM $t r, generate_series(1, $N::int) AS g (n)",
	"SELECT d::date FROM generate_series('2020-01-01'::date, '2020-02-01', '1 day') AS d",
	"SELECT g.d - $D FROM $t r, generate_series(now(), now(), '1 day') g (d)",
	"SELECT w, n FROM $t r, unnest(string_to_array($S, ' ')) WITH ORDINALITY AS u (w, n)",
	"SELECT u FROM $t r, unnest(ARRAY[$N, 1]) AS u WHERE u > 1",
	"SELECT a, b FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) AS u (a, b)",
	"SELECT a, b FROM ROWS FROM (generate_series(1, 2), generate_series(1, 3)) AS f (a, b)",
	"SELECT a + 1, b FROM json_to_recordset('[]') AS j (a int, b text)",
	"SELECT key, value ->> 'a' FROM jsonb_each('{}')",
	"SELECT j.value FROM $t r, json_each_text(to_json(r)) AS j",
	"SELECT m[1] FROM $t r, regexp_matches($S, '(a)') AS m",
	"SELECT word, count(*) FROM $t r, regexp_split_to_table($S, ' ') AS word GROUP BY word",
	"SELECT ($S).length FROM $t r",
	"SELECT (r).$c, r.$c FROM $t r",
	"SELECT (q.r).$c FROM (SELECT r FROM $t r) q",
	"SELECT (row(1, 2)).f1",
	"SELECT r.ctid, r.xmin, r.tableoid::regclass FROM $t r",
	"SELECT $S FROM ONLY $t r TABLESAMPLE BERNOULLI (10) REPEATABLE (1)",
	"SELECT $S FROM public.$t r",
	"SELECT $t.$c FROM $t",
	"SELECT public.$t.$c FROM public.$t",
	"TABLE $t",
	"SELECT FROM $t",
	"SELECT 1",
	"SELECT $N FROM $t r WHERE ($N, $S) IN (SELECT $N, $S FROM $t r)",
	"SELECT $S FROM $t r WHERE EXISTS (SELECT 1 FROM $t s WHERE s.$c = r.$c) OR $N > ALL (SELECT 1)",
	"SELECT $S FROM $t r WHERE NOT EXISTS (SELECT * FROM $t s WHERE r.$c IS NULL) FETCH FIRST 3 ROWS "
	"WITH TIES",
	"SELECT $S FROM $t r ORDER BY $N FETCH FIRST 3 ROWS WITH TIES",
	"SELECT $S FROM $t r LIMIT (SELECT 1 + 1) OFFSET 2",
	"SELECT $S FROM $t r LIMIT '5'",
	"SELECT $S FROM $t r LIMIT NULL",
	"SELECT $S FROM $t r WHERE $N = (SELECT max($N) FROM $t r)",
	"SELECT max(x.c) FROM (SELECT count(*) AS c FROM $t r GROUP BY $S) AS x",
	"SELECT avg(c) FROM (SELECT $S, count(*) c FROM $t r GROUP BY $S) x",
	"SELECT $S, (SELECT count(*) FROM $t b WHERE b.$c = max(r.$c)) FROM $t r GROUP BY $S",
	"SELECT $S FROM $t r GROUP BY $S HAVING max($N) >= ALL (SELECT max($N) FROM $t r GROUP BY $S)",
	"SELECT $N, CASE WHEN count(*) > 1 THEN 'many' ELSE max($S) END FROM $t r GROUP BY $N",
	"SELECT CASE WHEN $N > 1 THEN 'a' ELSE 'b' END AS k, count(*) FROM $t r GROUP BY k",
	"SELECT CASE WHEN $N > 1 THEN 'a' ELSE 'b' END, count(*) FROM $t r GROUP BY CASE WHEN $N > 1 THEN "
	"'a' ELSE 'b' END",
	"SELECT $N + $N, count(*) FROM $t r GROUP BY $N + $N",
	"SELECT coalesce($S, 'a') AS s, count(*) FROM $t r GROUP BY coalesce($S, 'a') ORDER BY coalesce($S, "
	"'a')",
	"SELECT sum($N)::float / count(*) AS ratio FROM $t r ORDER BY ratio",
	"SELECT round(avg($N)::numeric, 2), round(100.0 * sum(CASE WHEN $S = 'a' THEN 1 ELSE 0 END) / "
	"count(*), 1) FROM $t r",
	"SELECT sum(CASE WHEN $D > '2020-01-01' THEN $N END), count(CASE WHEN $S = 'a' THEN 1 END) FROM $t r",
	"SELECT avg($D::timestamp - '2020-01-01') FROM $t r",
	"SELECT max($D) - min($D) FROM $t r",
	"SELECT avg(extract(epoch FROM $D::timestamp - $D::timestamp)) FROM $t r",
	"SELECT a.$c, count(b.*) FROM $t a LEFT JOIN $t b ON b.$c = a.$c GROUP BY a.$c",
	"SELECT r.*, count(*) OVER () FROM $t r",
	"SELECT to_jsonb(r) - 'a' || '{\"x\": 1}' FROM $t r",
	"SELECT array_agg(r.*) FROM $t r",
	"SELECT (array_agg($S ORDER BY $N))[1] FROM $t r",
	"SELECT $S = ANY (array_agg($S)) FROM $t r GROUP BY $S",
	"SELECT unnest(array_agg($S)) FROM $t r",
	"SELECT generate_series(1, max($N)::int) FROM $t r",
	"SELECT * FROM pg_catalog.pg_class LIMIT 1",
	"SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
	"SELECT relname, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace",
	"SELECT c.oid::regclass, pg_table_size(c.oid) FROM pg_class c",
	"SELECT current_date, current_user, localtime, session_user",
	"SELECT now()::date - 1, 'a' || 1, 1 || 'a', NULL || 'a'",
	"SELECT * FROM current_date",
	"SELECT * FROM $t AS r ($c, x)",
	"SELECT x FROM $t AS r (x)",
	"SELECT r.x, count(*) FROM $t AS r (x) GROUP BY r.x",
	"SELECT EXISTS (SELECT 1 FROM $t r WHERE $N > 1)",
	"SELECT $S FROM $t r ORDER BY $N IS NULL, $S COLLATE \"C\" DESC",
	"SELECT $S, $N FROM $t r GROUP BY 1, 2 ORDER BY count(*) DESC, 1",
	"SELECT $S FROM $t r GROUP BY $S ORDER BY max($N) - min($N)",
	"SELECT DISTINCT $S, max($N) FROM $t r GROUP BY $S ORDER BY max($N)",
	"SELECT DISTINCT sum($N) OVER (PARTITION BY $S) FROM $t r",
};

static const char *const select_items[] = {
	"$0, *",
	"*",
	"$0, $q",
	"$0, $c",
	"$0, COUNT(*)",
	"$0, $a.*",
	"$0, $t.*",
	"$0, $l AS x",
	"$0, ROW_NUMBER() OVER ()",
	"$0, SUM($q) OVER w",
	"DISTINCT $0",
	"DISTINCT ON ($q) $0",
	"DISTINCT ON (1) $0",
	"ALL $0",
	"$0, $l",
	"$0, $0",
	"$0,",
	"",
	"$q",
	"COUNT(*)",
	"MAX($q)",
	"$0 INTO newtable",
	"$0, $f($q)",
	"$0, ($q) AS \"Total\"",
	"$a",
	"COUNT(DISTINCT *)",
	"COUNT()",
	"$0, GENERATE_SERIES(1, 3)",
	"$0, SUM($q), $q",
	"$0, CASE WHEN $q = $l THEN $q END AS y",
	"$0, $q AS select",
	"$0, $q AS total, total + 1",
	"TOP 10 $0",
	"$0, nosuch.*",
	"NULL",
};

static const char *const from_items[] = {
	"$0, $t",
	"$0, $t AS $a",
	"$0, $t AS x",
	"$0 CROSS JOIN $t",
	"$0 NATURAL JOIN $t",
	"$0 NATURAL LEFT JOIN $t AS n",
	"$0 JOIN $t AS u USING ($c)",
	"$0 JOIN $t AS u ON u.$c = $q",
	"$0 JOIN $t ON $t.$c = $a.$c",
	"$0 LEFT JOIN $t ON true",
	"$0 JOIN $t AS u ON $q",
	"$0 JOIN $t AS u",
	"$0 FULL JOIN $t AS u ON u.$c > $q",
	"$0, LATERAL (SELECT $q) AS l",
	"$0, (SELECT $q) AS l",
	"$0 CROSS JOIN LATERAL (SELECT $q AS v) AS l",
	"$0 RIGHT JOIN LATERAL (SELECT $q) AS l ON true",
	"$0 LEFT JOIN (SELECT $c FROM $t) AS s ON s.$c = $q",
	"$0, (SELECT 1)",
	"$0, (SELECT 1) AS s (a, b)",
	"$0, GENERATE_SERIES(1, 3) AS g",
	"$0, GENERATE_SERIES(1, 3) AS g (a, b)",
	"$0, UNNEST(ARRAY[1, 2]) AS g (n)",
	"$0, LATERAL UNNEST($q) AS g",
	"$0, LOWER('A') AS f (x)",
	"$0, $f($q) AS f",
	"$0, $f(1) WITH ORDINALITY AS f (a, b)",
	"$0, ROWS FROM (GENERATE_SERIES(1, 2), UNNEST(ARRAY['a'])) AS r (n, s)",
	"$0, (VALUES (1, 'a'), (2, 'b')) AS v (i, s)",
	"$0, (VALUES (1, 'a'), (2)) AS v",
	"$0, (VALUES (1), ('a')) AS v",
	"$0, JSON_TO_RECORD('{}') AS j",
	"$0, JSON_TO_RECORD('{}') AS j (a int, b nosuch)",
	"$t",
	"$t AS $a",
	"$0, ONLY $t AS o",
	"$0, $t TABLESAMPLE SYSTEM (10)",
	"$0, public.$t AS p",
	"$0, nosuch.$t",
	"$0, pg_catalog.pg_class",
	"$0, $a",
	"$0,",
	", $0",
	"",
	"($0)",
	"($0) AS x",
	"$0 AS z",
	"$0 AS z (a, b, c)",
	"$0 JOIN $0 USING (nosuch)",
	"$0, current_date AS d",
	"$0, $t ON true",
	"$0, information_schema.tables",
};

static const char *const conditions[] = {
	"$0 AND $q = $l",
	"$0 OR $q IS NULL",
	"NOT ($0)",
	"($0",
	"$0)",
	"$q",
	"$l",
	"COUNT(*) > 1",
	"$0 AND SUM($q) > 1",
	"$0 AND ROW_NUMBER() OVER () = 1",
	"$0 AND EXISTS (SELECT * FROM $t WHERE $t.$c = $q)",
	"$q IN (SELECT $c FROM $t WHERE $0)",
	"$0 AND $q $p $l",
	"$0 AND $q $p $q",
	"$0 AND",
	"$0 = 1",
	"$0 + 1",
	"",
	"$0 AND GENERATE_SERIES(1, 2) = 1",
	"$0 AND $q LIKE $l",
	"$0 AND $c = $q",
	"($0) IS TRUE",
	"$0 AND ($q, $q) = ($q, $l)",
	"$0 AND $q > '2020-01-01'",
	"$0 AND $q - $q < 10",
	"$0 AND x",
	"$0 AND total > 1",
	"COALESCE($0, false)",
	"$0 AND $q >= NOW() - INTERVAL '1 year'",
};

static const char *const group_items[] = {
	"$0, $q",
	"$0, 1",
	"1",
	"1, 2",
	"99",
	"0",
	"$0, $c",
	"ROLLUP ($0)",
	"CUBE ($0)",
	"GROUPING SETS (($0), ())",
	"()",
	"$q",
	"$0, COUNT(*)",
	"$0, SUM($q)",
	"$0, $l",
	"'a'",
	"$0, $a",
	"$0, $q + 1",
	"DISTINCT $0",
	"$0, ROW_NUMBER() OVER ()",
	"NULL",
	"$a.*",
	"$0, ($q, $q)",
	"x",
	"total",
	"$0, (SELECT 1)",
};

static const char *const order_items[] = {
	"1",
	"2",
	"99",
	"0",
	"-1",
	"$0, 1",
	"$0, $q",
	"$q",
	"$c",
	"'a'",
	"COUNT(*)",
	"$0, $l",
	"RANDOM()",
	"$0, $a",
	"nosuch",
	"SUM($q)",
	"$0, $q || 'x'",
	"1 + 1",
	"NULL",
	"$0 USING <",
	"$0 USING =",
	"$0, x DESC NULLS LAST",
	"ROW_NUMBER() OVER (ORDER BY $q)",
	"$q::$y",
	"lower($q)",
	"1.5",
	"total + 1",
};

static const char *const limits[] = {
	"'a'",
	"'10'",
	"-1",
	"NULL",
	"ALL",
	"1.5",
	"$q",
	"(SELECT 1)",
	"COUNT(*)",
	"1 + 1",
	"10, 20",
	"5 OFFSET 2",
	"5 OFFSET 'x'",
	"10 PERCENT",
	"TRUE",
	"now()",
	"(SELECT $c FROM $t LIMIT 1)",
	"1 FOR UPDATE",
};

static const char *const tails[] = {
	"$0 LIMIT 10",
	"$0 ORDER BY 1",
	"$0 GROUP BY 1",
	"$0 HAVING COUNT(*) > 1",
	"$0 ORDER BY $q",
	"$0 GROUP BY $q",
	"$0 WHERE $q = $l",
	"$0 UNION SELECT 1",
	"$0 UNION ALL $0",
	"($0) UNION ALL ($0)",
	"$0 UNION ALL SELECT $q FROM $t",
	"($0) INTERSECT SELECT NULL",
	"($0) EXCEPT ($0) ORDER BY nosuch",
	"($0) UNION ALL ($0) ORDER BY 1",
	"($0) UNION ALL ($0) ORDER BY $q",
	"($0) UNION SELECT $l",
	"($0) UNION SELECT $l, $l",
	"SELECT $l, $l UNION ALL ($0)",
	"($0) UNION SELECT 'a', 'b'",
	"($0) UNION SELECT 1, 2, 3",
	"($0) UNION VALUES (1)",
	"VALUES (1, 'a')",
	"VALUES (1), (2, 3)",
	"VALUES (1), ('a')",
	"VALUES ($q)",
	"SELECT * FROM ($0) AS q",
	"SELECT * FROM ($0)",
	"SELECT nosuch FROM ($0) AS q",
	"SELECT q.$c FROM ($0) AS q",
	"SELECT $c FROM ($0) AS q (x)",
	"SELECT x FROM ($0) AS q (x)",
	"SELECT y + 1 FROM ($0) AS q (x, y)",
	"SELECT a FROM ($0) AS q (a, b, c, d, e, f, g, h)",
	"SELECT q FROM ($0) AS q",
	"SELECT q.* FROM ($0) AS q, ($0) AS q",
	"SELECT COUNT(*), $c FROM ($0) AS q GROUP BY $c",
	"SELECT SUM(x) FROM ($0) AS q (x)",
	"SELECT q.x || 'a' FROM ($0) AS q (x)",
	"WITH q AS ($0) SELECT * FROM q",
	"WITH q AS ($0) SELECT 1",
	"WITH q AS ($0), q AS ($0) SELECT * FROM q",
	"WITH q AS ($0) SELECT * FROM r",
	"WITH q (x) AS ($0) SELECT x FROM q",
	"WITH q (x, y) AS ($0) SELECT q.x, z FROM q",
	"WITH q (x, y) AS ($0) SELECT x = y FROM q",
	"WITH RECURSIVE q AS ($0 UNION ALL SELECT * FROM q) SELECT * FROM q",
	"WITH q AS ($0 UNION ALL SELECT * FROM q) SELECT * FROM q",
	"WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 3) SELECT * FROM q",
	"WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT 'a' FROM q) SELECT * FROM q",
	"WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT COUNT(*) FROM q) SELECT * FROM q",
	"WITH RECURSIVE q (n) AS (SELECT n FROM q UNION SELECT 1) SELECT n FROM q",
	"WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT n * 1.5 FROM q) SELECT n FROM q",
	"WITH p AS (SELECT * FROM q), q AS ($0) SELECT * FROM p",
	"WITH q AS MATERIALIZED ($0) SELECT q.* FROM q AS r",
	"WITH $t AS (SELECT 1 AS one) $0",
	"WITH unused AS (SELECT nosuch FROM $t) $0",
	"WITH unused AS (SELECT $c FROM $t) $0",
	"SELECT ($0)",
	"SELECT ($0) + 1",
	"SELECT ARRAY($0)",
	"SELECT EXISTS ($0)",
	"SELECT $c FROM $t WHERE $c IN ($0)",
	"SELECT $c FROM $t WHERE ($c, $c) IN ($0)",
	"SELECT * FROM $t AS x WHERE x.$c = ($0)",
	"SELECT * FROM ($0) AS q JOIN ($0) AS r ON q.$c = r.$c",
	"SELECT * FROM ($0) AS q JOIN ($0) AS r USING ($c)",
	"SELECT * FROM ($0) AS q NATURAL JOIN $t",
	"SELECT * FROM $t AS t1, LATERAL (SELECT t1.$c FROM ($0) AS q) AS l",
	"SELECT * FROM $t AS t1, (SELECT t1.$c FROM ($0) AS q) AS l",
	"SELECT *, ROW_NUMBER() OVER w FROM ($0) AS q WINDOW w AS (ORDER BY 1)",
	"SELECT RANK() OVER w FROM ($0) AS q WINDOW w AS (), w AS ()",
	"SELECT SUM(1) OVER (w ORDER BY x) FROM ($0) AS q (x) WINDOW w AS (ORDER BY x)",
	"SELECT DISTINCT x FROM ($0) AS q (x) ORDER BY y",
	"SELECT DISTINCT ON (x) x FROM ($0) AS q (x) ORDER BY y",
	"SELECT x FROM ($0) AS q (x) FOR UPDATE",
	"SELECT x, COUNT(*) FROM ($0) AS q (x) GROUP BY ROLLUP (x) HAVING GROUPING(x) = 0",
	"TABLE $t",
	"TABLE nosuch",
	"SELECT",
	"SELECT *",
	"SELECT 1",
	"EXPLAIN $0",
	"$0 FETCH FIRST 3 ROWS ONLY",
	"SELECT * FROM $t ORDER BY $c",
	"SELECT $c, COUNT(*) FROM $t GROUP BY $c",
	"SELECT $c, $c FROM $t GROUP BY $c",
	"SELECT * FROM $t WHERE $c $p $c",
	"SELECT * FROM $t WHERE $c $p $l",
	"SELECT $f($c) FROM $t",
	"SELECT $f($c, $l) FROM $t",
	"SELECT $c $p $c FROM $t",
	"SELECT a.$c, b.$c FROM $t a JOIN $t b ON a.$c = b.$c",
};

/* ---- Filling templates ---- */

static const struct sql_vocabulary_relation *random_relation(struct mutation *mutation)
{
	const struct sql_vocabulary *vocabulary = mutation->vocabulary;
	return &vocabulary->relations[mutation_random(mutation, vocabulary->relations_count)];
}

static const struct sql_vocabulary_relation *relation_named(const struct mutation *mutation, str_t name)
{
	for (size_t i = 0; i < mutation->vocabulary->relations_count; i++) {
		const struct sql_vocabulary_relation *relation = &mutation->vocabulary->relations[i];
		if (relation->name.len == name.len &&
		    strncasecmp(relation->name.ptr, name.ptr, name.len) == 0)
			return relation;
	}
	return NULL;
}

static str_t random_column(struct mutation *mutation, const struct sql_vocabulary_relation *relation)
{
	return relation->columns[mutation_random(mutation, relation->columns_count)].name;
}

/* The name that the relation in FROM is visible by. */
static size_t alias_of(const struct mutation *mutation, size_t relation)
{
	size_t next = relation + 1;
	if (token_is(mutation, next, "as"))
		next++;
	return next < mutation->count && mutation->tokens[next].kind == TOKEN_WORD ? next : relation;
}

static str_t random_alias(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	return relation == NO_TOKEN ? STR("a") : token_text(mutation, alias_of(mutation, relation));
}

/* A column that is there, by the name that it is visible by. */
static str_t qualified_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_relation);
	const struct sql_vocabulary_relation *relation =
		token == NO_TOKEN ? NULL : relation_named(mutation, token_text(mutation, token));
	if (!relation)
		return random_column(mutation, random_relation(mutation));
	str_t column = random_column(mutation, relation);
	str_t alias = token_text(mutation, alias_of(mutation, token));
	return arena_printf(mutation->arena, STR_FMT "." STR_FMT, STR_ARG(alias), STR_ARG(column));
}

static str_t random_operand(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	return token == NO_TOKEN ? STR("1") : span_text(mutation, operand_span(mutation, token));
}

/* The column of the kind whose number is nearest below the one chosen, or NULL. */
static const struct sql_vocabulary_column *column_of_kind(const struct sql_vocabulary_relation *relation,
							  char kind, size_t chosen)
{
	for (size_t i = 0; relation && i < relation->columns_count; i++) {
		size_t at = (chosen + i) % relation->columns_count;
		if (relation->columns[at].kind == kind)
			return &relation->columns[at];
	}
	return NULL;
}

static str_t literal_of_kind(char kind)
{
	return kind == 'n' ? STR("2") : kind == 's' ? STR("'a'") : STR("CURRENT_DATE");
}

/* A column of the kind from FROM. */
static str_t column_from(struct mutation *mutation, char kind)
{
	size_t token = mutation_pick(mutation, token_is_relation);
	const struct sql_vocabulary_relation *relation =
		token == NO_TOKEN ? NULL : relation_named(mutation, token_text(mutation, token));
	const struct sql_vocabulary_column *column =
		column_of_kind(relation, kind, mutation_random(mutation, 1000));
	if (!column)
		return literal_of_kind(kind);
	str_t alias = token_text(mutation, alias_of(mutation, token));
	return arena_printf(mutation->arena, STR_FMT "." STR_FMT, STR_ARG(alias), STR_ARG(column->name));
}

static str_t column_of_template(struct mutation *mutation, const struct sql_vocabulary_relation *relation,
				char kind)
{
	const struct sql_vocabulary_column *column = column_of_kind(relation, kind, 0);
	return column ? arena_printf(mutation->arena, "r." STR_FMT, STR_ARG(column->name))
		      : literal_of_kind(kind);
}

static str_t hole(struct mutation *mutation, char name, str_t present,
		  const struct sql_vocabulary_relation *relation)
{
	switch (name) {
	case '0':
		return present;
	case 'o':
		return random_operand(mutation);
	case 'q':
		return qualified_column(mutation);
	case 'c':
		return random_column(mutation, relation);
	case 't':
		return relation->name;
	case 'n':
	case 's':
	case 'd':
		return column_from(mutation, name);
	case 'N':
	case 'S':
	case 'D':
		return column_of_template(mutation, relation, (char)tolower((unsigned char)name));
	case '$':
		return STR("$");
	case 'a':
		return random_alias(mutation);
	case 'f':
		return str_from(ONE_OF(mutation, functions));
	case 'l':
		return str_from(ONE_OF(mutation, literals));
	case 'y':
		return str_from(ONE_OF(mutation, types));
	case 'p':
		return str_from(ONE_OF(mutation, operators));
	default:
		return arena_printf(mutation->arena, "$%c", name);
	}
}

static str_t fill(struct mutation *mutation, const char *template, str_t present)
{
	/* One relation for all, or `$c FROM $t` would seldom be right. */
	const struct sql_vocabulary_relation *relation = random_relation(mutation);
	str_t filled = STR("");
	for (const char *at = template; *at; at++) {
		const char *end = strchrnul(at, '$');
		str_t text = { at, (size_t)(end - at) };
		str_t value = *end ? hole(mutation, end[1], present, relation) : STR("");
		filled = arena_printf(mutation->arena, STR_FMT STR_FMT STR_FMT, STR_ARG(filled),
				      STR_ARG(text), STR_ARG(value));
		if (!*end)
			break;
		at = end + 1;
	}
	return filled;
}

#define FILL(mutation, templates, present) fill((mutation), ONE_OF((mutation), templates), (present))

static bool replace_token(struct mutation *mutation, size_t token, str_t text)
{
	if (token >= mutation->count)
		return false;
	mutation_replace(mutation, (struct token_span){ token, token + 1 }, text);
	return true;
}

static bool insert_before(struct mutation *mutation, size_t token, str_t text)
{
	mutation_replace(mutation, (struct token_span){ token, token }, text);
	return true;
}

static bool remove_span(struct mutation *mutation, size_t start, size_t end)
{
	if (start >= end || end > mutation->count)
		return false;
	mutation_replace(mutation, (struct token_span){ start, end }, STR(""));
	return true;
}

/* ---- Names ---- */

/* One letter more, less, other, or swapped with the next one. */
static str_t misspelt(struct mutation *mutation, str_t word)
{
	size_t at = mutation_random(mutation, word.len);
	struct arena *arena = mutation->arena;
	char letter = (char)('a' + (int)mutation_random(mutation, 26));
	const char *rest = word.ptr + at + 1;
	int rest_len = (int)(word.len - at - 1);
	switch (mutation_random(mutation, 4)) {
	case 0:
		return arena_printf(arena, "%.*s%.*s", (int)at, word.ptr, rest_len, rest);
	case 1:
		return arena_printf(arena, STR_FMT "%c", STR_ARG(word), letter);
	case 2:
		return arena_printf(arena, "%.*s%c%.*s", (int)at, word.ptr, letter, rest_len, rest);
	default:
		return rest_len < 1 ? arena_printf(arena, STR_FMT "s", STR_ARG(word))
				    : arena_printf(arena, "%.*s%c%c%.*s", (int)at, word.ptr, rest[0],
						   word.ptr[at], rest_len - 1, rest + 1);
	}
}

static bool misspell_name(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_name);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, misspelt(mutation, token_text(mutation, token)));
}

static bool swap_names(struct mutation *mutation)
{
	size_t one = mutation_pick(mutation, token_is_name);
	size_t other = mutation_pick(mutation, token_is_name);
	if (one == NO_TOKEN || one == other)
		return false;
	str_t text = token_text(mutation, one), other_text = token_text(mutation, other);
	return replace_token(mutation, one, other_text) && replace_token(mutation, other, text);
}

static bool other_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN || mutation->tokens[token].kind != TOKEN_WORD ||
	    token_is_function(mutation, token))
		return false;
	size_t column = token_is_qualifier(mutation, token) ? token + 2 : token;
	return replace_token(mutation, column, random_column(mutation, random_relation(mutation)));
}

/* Stays within the relations that have a column of the name. */
static bool sibling_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_name);
	if (token == NO_TOKEN)
		return false;
	str_t name = token_text(mutation, token);
	for (size_t i = 0; i < mutation->vocabulary->relations_count; i++) {
		const struct sql_vocabulary_relation *relation = &mutation->vocabulary->relations[i];
		for (size_t j = 0; j < relation->columns_count; j++) {
			if (str_equal(relation->columns[j].name, name))
				return replace_token(mutation, token, random_column(mutation, relation));
		}
	}
	return false;
}

static bool column_of_from(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token), qualified_column(mutation));
	return true;
}

static bool other_relation(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_relation);
	return token != NO_TOKEN && replace_token(mutation, token, random_relation(mutation)->name);
}

static bool schema_added(struct mutation *mutation)
{
	static const char *const schemas[] = { "public.", "nosuch.", "pg_catalog.", "consumer_div." };
	size_t token =
		mutation_pick(mutation, mutation_random(mutation, 3) ? token_is_relation : token_is_name);
	if (token == NO_TOKEN)
		return false;
	str_t name = token_text(mutation, token);
	return replace_token(
		mutation, token,
		arena_printf(mutation->arena, "%s" STR_FMT, ONE_OF(mutation, schemas), STR_ARG(name)));
}

static bool quoted_name(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_name);
	if (token == NO_TOKEN || token_is(mutation, token + 1, "("))
		return false;
	str_t name = arena_str(mutation->arena, token_text(mutation, token));
	char *text = arena_strdup(mutation->arena, name.ptr);
	if (text[0] == '"')
		return false;
	if (mutation_random(mutation, 2))
		text[0] = (char)toupper((unsigned char)text[0]);
	return replace_token(mutation, token, arena_printf(mutation->arena, "\"%s\"", text));
}

static bool alias_dropped(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	if (relation == NO_TOKEN || alias_of(mutation, relation) == relation)
		return false;
	return remove_span(mutation, relation + 1, alias_of(mutation, relation) + 1);
}

static bool alias_renamed(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	if (relation == NO_TOKEN)
		return false;
	size_t alias = alias_of(mutation, relation);
	str_t name = mutation_random(mutation, 2) ? random_alias(mutation)
						  : misspelt(mutation, token_text(mutation, alias));
	if (alias != relation)
		return replace_token(mutation, alias, name);
	str_t text = token_text(mutation, relation);
	return replace_token(
		mutation, relation,
		arena_printf(mutation->arena, STR_FMT " AS " STR_FMT, STR_ARG(text), STR_ARG(name)));
}

static bool is_as(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "as") && token + 1 < mutation->count;
}

static bool as_dropped(struct mutation *mutation)
{
	size_t as = mutation_pick(mutation, is_as);
	return as != NO_TOKEN && remove_span(mutation, as, as + 1 + mutation_random(mutation, 2));
}

static bool as_renamed(struct mutation *mutation)
{
	size_t as = mutation_pick(mutation, is_as);
	if (as == NO_TOKEN || !token_is_name(mutation, as + 1))
		return false;
	return replace_token(mutation, as + 1,
			     mutation_random(mutation, 2) ? STR("x") : random_alias(mutation));
}

static bool is_alias_of_output(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].clause == CLAUSE_SELECT && token > 0 &&
	       token_is(mutation, token - 1, "as") && mutation->tokens[token].kind == TOKEN_WORD;
}

/* An output's name where PostgreSQL knows it, and where it does not. */
static bool output_name_used(struct mutation *mutation)
{
	size_t alias = mutation_pick(mutation, is_alias_of_output);
	size_t operand = mutation_pick(mutation, token_is_operand);
	if (alias == NO_TOKEN || operand == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, operand), token_text(mutation, alias));
	return true;
}

static bool qualifier_added(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_bare_column);
	if (token == NO_TOKEN)
		return false;
	str_t alias = random_alias(mutation), name = token_text(mutation, token);
	return replace_token(
		mutation, token,
		arena_printf(mutation->arena, STR_FMT "." STR_FMT, STR_ARG(alias), STR_ARG(name)));
}

static bool qualifier_dropped(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_qualifier);
	return token != NO_TOKEN && remove_span(mutation, token, token + 2);
}

static bool qualifier_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_qualifier);
	if (token == NO_TOKEN)
		return false;
	return replace_token(mutation, token,
			     mutation_random(mutation, 4) ? random_alias(mutation)
							  : random_relation(mutation)->name);
}

/* ---- Functions ---- */

static bool function_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_function);
	return token != NO_TOKEN && replace_token(mutation, token, str_from(ONE_OF(mutation, functions)));
}

static bool function_misspelt(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_function);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, misspelt(mutation, token_text(mutation, token)));
}

static bool function_unwrapped(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_function);
	if (token == NO_TOKEN)
		return false;
	struct token_span all = { token, mutation->tokens[token + 1].match + 1 };
	mutation_replace(mutation, all, span_text(mutation, (struct token_span){ token + 2, all.end - 1 }));
	return true;
}

/* The arguments of a random call; returns their number, NO_TOKEN when there is no call. */
static size_t random_arguments(struct mutation *mutation, struct token_span *ret_all,
			       struct token_span *ret_items)
{
	size_t token = mutation_pick(mutation, token_is_function);
	if (token == NO_TOKEN)
		return NO_TOKEN;
	*ret_all = (struct token_span){ token + 2, mutation->tokens[token + 1].match };
	return span_items(mutation, *ret_all, ret_items, ITEMS_MAX);
}

static bool item_dropped(struct mutation *mutation, const struct token_span *items, size_t count)
{
	size_t chosen = mutation_random(mutation, count);
	if (count > 1 && chosen + 1 < count)
		return remove_span(mutation, items[chosen].start, items[chosen + 1].start);
	return count > 1 ? remove_span(mutation, items[chosen].start - 1, items[chosen].end)
			 : remove_span(mutation, items[0].start, items[0].end);
}

static bool argument_dropped(struct mutation *mutation)
{
	struct token_span all, items[ITEMS_MAX];
	size_t count = random_arguments(mutation, &all, items);
	return count != NO_TOKEN && count > 0 && item_dropped(mutation, items, count);
}

static bool arguments_changed(struct mutation *mutation)
{
	static const char *const changes[] = {
		"$0, $o", "$0, $l", "$o, $0",	   "DISTINCT $0", "$0 ORDER BY $o", "*",  "",	   "$l",
		"$o",	  "$0, $0", "VARIADIC $0", "ALL $0",	  "$0, NULL",	    "$q", "$q, $q"
	};
	struct token_span all, items[ITEMS_MAX];
	if (random_arguments(mutation, &all, items) == NO_TOKEN)
		return false;
	mutation_replace(mutation, all, FILL(mutation, changes, span_text(mutation, all)));
	return true;
}

static bool swap_items(struct mutation *mutation, const struct token_span *items, size_t count)
{
	if (count < 2)
		return false;
	size_t chosen = mutation_random(mutation, count - 1);
	struct token_span both = { items[chosen].start, items[chosen + 1].end };
	str_t one = span_text(mutation, items[chosen]), other = span_text(mutation, items[chosen + 1]);
	mutation_replace(mutation, both,
			 arena_printf(mutation->arena, STR_FMT ", " STR_FMT, STR_ARG(other), STR_ARG(one)));
	return true;
}

static bool arguments_swapped(struct mutation *mutation)
{
	struct token_span all, items[ITEMS_MAX];
	size_t count = random_arguments(mutation, &all, items);
	return count != NO_TOKEN && swap_items(mutation, items, count);
}

static bool call_extended(struct mutation *mutation)
{
	static const char *const extensions[] = {
		"$0 OVER ()",
		"$0 OVER (PARTITION BY $q)",
		"$0 OVER (ORDER BY $o)",
		"$0 OVER nosuch",
		"$0 FILTER (WHERE $q IS NULL)",
		"$0 FILTER (WHERE $q)",
		"$0 WITHIN GROUP (ORDER BY $q)",
		"$0 OVER (ORDER BY $q ROWS UNBOUNDED PRECEDING)",
		"$0 OVER (ORDER BY $q RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW)",
		"$0 OVER (PARTITION BY SUM($q))",
		"$0 OVER (GROUPS 1 PRECEDING)",
	};
	size_t token = mutation_pick(mutation, token_is_function);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(mutation, span, FILL(mutation, extensions, span_text(mutation, span)));
	return true;
}

static bool is_over(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "over") && token_is(mutation, token + 1, "(") &&
	       mutation->tokens[token + 1].match != NO_TOKEN;
}

static bool window_changed(struct mutation *mutation)
{
	static const char *const windows[] = { "()",
					       "nosuch",
					       "(PARTITION BY $q)",
					       "(ORDER BY $q)",
					       "(PARTITION BY nosuch)",
					       "(ORDER BY COUNT(*))",
					       "(ORDER BY 1)",
					       "(PARTITION BY $q ORDER BY $q ROWS 2 PRECEDING)",
					       "(ORDER BY $q RANGE 2 PRECEDING)",
					       "" };
	size_t over = mutation_pick(mutation, is_over);
	if (over == NO_TOKEN)
		return false;
	struct token_span span = { over + 1, mutation->tokens[over + 1].match + 1 };
	if (mutation_random(mutation, 5) == 0)
		return remove_span(mutation, over, span.end);
	mutation_replace(mutation, span, FILL(mutation, windows, STR("")));
	return true;
}

/* ---- Values, operators, casts ---- */

static bool operand_wrapped(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(mutation, span, FILL(mutation, operand_wraps, span_text(mutation, span)));
	return true;
}

static bool literal_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_literal);
	return token != NO_TOKEN && replace_token(mutation, token, str_from(ONE_OF(mutation, literals)));
}

static bool operand_to_literal(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token), str_from(ONE_OF(mutation, literals)));
	return true;
}

static bool is_operator(const struct mutation *mutation, size_t token)
{
	static const char *const words[] = { "and", "or", "like", "ilike", "in", "is", "between" };
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (token_is(mutation, token, words[i]))
			return true;
	}
	return mutation->tokens[token].kind == TOKEN_OPERATOR;
}

static bool operator_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_operator);
	return token != NO_TOKEN && replace_token(mutation, token, str_from(ONE_OF(mutation, operators)));
}

static bool is_cast(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "::") && token + 1 < mutation->count;
}

static bool cast_removed(struct mutation *mutation)
{
	size_t cast = mutation_pick(mutation, is_cast);
	return cast != NO_TOKEN && remove_span(mutation, cast, cast + 2);
}

static bool cast_changed(struct mutation *mutation)
{
	size_t cast = mutation_pick(mutation, is_cast);
	return cast != NO_TOKEN && replace_token(mutation, cast + 1, str_from(ONE_OF(mutation, types)));
}

static bool cast_added(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(mutation, span, fill(mutation, "$0::$y", span_text(mutation, span)));
	return true;
}

/* ---- Clauses ---- */

/* A clause of a random SELECT. */
static bool random_clause(struct mutation *mutation, enum clause clause, size_t *ret_keyword,
			  struct token_span *ret_span)
{
	size_t select = mutation_pick(mutation, token_is_select);
	return select != NO_TOKEN && select_clause(mutation, select, clause, ret_keyword, ret_span);
}

static bool any_clause(struct mutation *mutation, size_t *ret_keyword, struct token_span *ret_span)
{
	static const enum clause clauses[] = { CLAUSE_SELECT, CLAUSE_FROM,  CLAUSE_WHERE, CLAUSE_GROUP,
					       CLAUSE_HAVING, CLAUSE_ORDER, CLAUSE_LIMIT };
	return random_clause(mutation, ONE_OF(mutation, clauses), ret_keyword, ret_span);
}

static bool clause_dropped(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	return any_clause(mutation, &keyword, &span) && remove_span(mutation, keyword, span.end);
}

static bool clause_doubled(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	if (!any_clause(mutation, &keyword, &span))
		return false;
	str_t text = span_text(mutation, (struct token_span){ keyword, span.end });
	return insert_before(mutation, span.end, arena_str(mutation->arena, text));
}

/* Clauses in the wrong order: one moves to the end of its SELECT. */
static bool clause_moved(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	if (!any_clause(mutation, &keyword, &span) || span.end > mutation->count)
		return false;
	str_t text =
		arena_str(mutation->arena, span_text(mutation, (struct token_span){ keyword, span.end }));
	insert_before(mutation, mutation_random(mutation, 2) ? mutation->count : keyword / 2, text);
	return true;
}

static bool clause_filled(struct mutation *mutation, enum clause clause, const char *const *templates,
			  size_t count)
{
	size_t keyword;
	struct token_span span;
	if (!random_clause(mutation, clause, &keyword, &span) || span.start >= span.end)
		return false;
	const char *template = templates[mutation_random(mutation, count)];
	mutation_replace(mutation, span, fill(mutation, template, span_text(mutation, span)));
	return true;
}

#define CLAUSE_KIND(name, clause, templates)                                                                 \
	static bool name(struct mutation *mutation)                                                          \
	{                                                                                                    \
		return clause_filled(mutation, clause, templates,                                            \
				     sizeof(templates) / sizeof((templates)[0]));                            \
	}

CLAUSE_KIND(select_changed, CLAUSE_SELECT, select_items)
CLAUSE_KIND(from_changed, CLAUSE_FROM, from_items)
CLAUSE_KIND(where_changed, CLAUSE_WHERE, conditions)
CLAUSE_KIND(having_changed, CLAUSE_HAVING, conditions)
CLAUSE_KIND(group_changed, CLAUSE_GROUP, group_items)
CLAUSE_KIND(order_changed, CLAUSE_ORDER, order_items)
CLAUSE_KIND(limit_changed, CLAUSE_LIMIT, limits)

/* One item of a SELECT, GROUP BY or ORDER BY list goes, or changes places with the next one. */
static bool list_changed(struct mutation *mutation)
{
	static const enum clause lists[] = { CLAUSE_SELECT, CLAUSE_GROUP, CLAUSE_GROUP, CLAUSE_ORDER };
	struct token_span span, items[ITEMS_MAX];
	size_t keyword;
	if (!random_clause(mutation, ONE_OF(mutation, lists), &keyword, &span))
		return false;
	size_t count = span_items(mutation, span, items, ITEMS_MAX);
	if (count == 0)
		return false;
	return mutation_random(mutation, 4) ? item_dropped(mutation, items, count)
					    : swap_items(mutation, items, count);
}

static bool is_clause_word(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "where") || token_is(mutation, token, "having") ||
	       token_is(mutation, token, "on");
}

static bool condition_moved(struct mutation *mutation)
{
	static const char *const words[] = { "WHERE", "HAVING", "ON" };
	size_t token = mutation_pick(mutation, is_clause_word);
	return token != NO_TOKEN && replace_token(mutation, token, str_from(ONE_OF(mutation, words)));
}

static bool is_join(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "join");
}

static bool join_changed(struct mutation *mutation)
{
	static const char *const joins[] = { "CROSS JOIN",
					     "NATURAL JOIN",
					     "LEFT JOIN",
					     "RIGHT JOIN",
					     "FULL OUTER JOIN",
					     "INNER JOIN",
					     "JOIN LATERAL",
					     ",",
					     "NATURAL FULL JOIN",
					     "OUTER JOIN",
					     "" };
	size_t join = mutation_pick(mutation, is_join);
	if (join == NO_TOKEN)
		return false;
	size_t start = join;
	while (start > 0 && mutation->tokens[start - 1].kind == TOKEN_KEYWORD &&
	       !token_is(mutation, start - 1, "from"))
		start--;
	mutation_replace(mutation, (struct token_span){ start, join + 1 }, str_from(ONE_OF(mutation, joins)));
	return true;
}

static bool is_on(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "on") && mutation->tokens[token].clause == CLAUSE_ON;
}

/* Where the condition of a join ends. */
static size_t condition_end(const struct mutation *mutation, size_t on)
{
	size_t end = on + 1;
	while (end < mutation->count && mutation->tokens[end].depth >= mutation->tokens[on].depth &&
	       (mutation->tokens[end].depth > mutation->tokens[on].depth ||
		mutation->tokens[end].clause == CLAUSE_ON) &&
	       !token_is(mutation, end, "left") && !token_is(mutation, end, "inner") &&
	       !token_is(mutation, end, "right") && !token_is(mutation, end, "full") &&
	       !token_is(mutation, end, "cross") && !token_is(mutation, end, "on"))
		end++;
	return end;
}

static bool on_changed(struct mutation *mutation)
{
	static const char *const changes[] = { "",
					       "USING ($c)",
					       "USING (nosuch)",
					       "ON true",
					       "ON $q = $q",
					       "ON $q",
					       "ON $q = $l",
					       "ON $a.$c = $q",
					       "USING ($c, $c)",
					       "USING ($c) AS j",
					       "ON $q $p $q",
					       "ON $q = $q AND $q IS NULL",
					       "ON COUNT(*) = 1",
					       "ON $a = $a",
					       "USING ()",
					       "USING $c",
					       "ON EXISTS (SELECT 1 FROM $t WHERE $c = $q)",
					       "ON $c = $c",
					       "ON ($q, $q) = ($q, $q)" };
	size_t on = mutation_pick(mutation, is_on);
	if (on == NO_TOKEN)
		return false;
	struct token_span span = { on, condition_end(mutation, on) };
	mutation_replace(mutation, span, FILL(mutation, changes, STR("")));
	return true;
}

/* Conditions of two joins change places: a relation is named before it is joined. */
static bool conditions_swapped(struct mutation *mutation)
{
	size_t one = mutation_pick(mutation, is_on), other = mutation_pick(mutation, is_on);
	if (one == NO_TOKEN || one >= other)
		return false;
	struct token_span first = { one + 1, condition_end(mutation, one) };
	struct token_span second = { other + 1, condition_end(mutation, other) };
	if (first.end > second.start)
		return false;
	str_t first_text = span_text(mutation, first), second_text = span_text(mutation, second);
	mutation_replace(mutation, second, first_text);
	mutation_replace(mutation, first, second_text);
	return true;
}

/* ---- The whole ---- */

static bool wrapped(struct mutation *mutation)
{
	struct token_span all = { 0, mutation->count };
	if (mutation->count == 0 || mutation->count == MUTATION_TOKENS_MAX)
		return false;
	mutation_replace(mutation, all, FILL(mutation, tails, span_text(mutation, all)));
	return true;
}

/* What is right, as one output or condition more, or in place of a value. */
static bool right_item(struct mutation *mutation)
{
	static const struct {
		enum clause clause;
		const char *before;
	} places[] = { { CLAUSE_SELECT, ", " }, { CLAUSE_SELECT, ", " },
		       { CLAUSE_SELECT, ", " }, { CLAUSE_WHERE, " IS NULL OR " },
		       { CLAUSE_ORDER, ", " },	{ CLAUSE_ON, " AND NULL IS DISTINCT FROM " } };
	size_t place = mutation_random(mutation, sizeof places / sizeof places[0]), keyword;
	struct token_span span;
	str_t item = FILL(mutation, right_items, STR(""));
	if (!random_clause(mutation, places[place].clause, &keyword, &span) || span.start >= span.end)
		return false;
	const char *before = places[place].before;
	if (places[place].clause == CLAUSE_WHERE && mutation_random(mutation, 2))
		before = " AND ";
	str_t text = arena_str(mutation->arena, span_text(mutation, span));
	mutation_replace(
		mutation, span,
		arena_printf(mutation->arena, STR_FMT "%s" STR_FMT, STR_ARG(text), before, STR_ARG(item)));
	return true;
}

static bool right_value(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token), FILL(mutation, right_items, STR("")));
	return true;
}

static bool right_statement(struct mutation *mutation)
{
	str_t text = FILL(mutation, right_statements, STR(""));
	if (mutation->count == 0 || mutation->count == MUTATION_TOKENS_MAX)
		return false;
	mutation_replace(mutation, (struct token_span){ 0, mutation->count }, text);
	return true;
}

static bool is_subquery(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "(") && token_is(mutation, token + 1, "select") &&
	       mutation->tokens[token].match != NO_TOKEN;
}

static bool subquery_changed(struct mutation *mutation)
{
	size_t open = mutation_pick(mutation, is_subquery);
	if (open == NO_TOKEN)
		return false;
	struct token_span all = { open + 1, mutation->tokens[open].match };
	switch (mutation_random(mutation, 4)) {
	case 0:
		mutation_replace(mutation, all, FILL(mutation, tails, span_text(mutation, all)));
		return true;
	case 1: /* one column more */
		return insert_before(mutation, open + 2, fill(mutation, "$l,", STR("")));
	case 2:
		return insert_before(mutation, open + 2, fill(mutation, "$q,", STR("")));
	default: /* the derived table's alias goes */
		if (mutation->tokens[open].clause != CLAUSE_FROM)
			return false;
		return remove_span(mutation, all.end + 1,
				   all.end + 2 + token_is(mutation, all.end + 1, "as"));
	}
}

static bool is_with(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "with") && token_is_name(mutation, token + 1);
}

static bool cte_changed(struct mutation *mutation)
{
	static const char *const changes[] = { "WITH $t AS (SELECT 1),",
					       "WITH RECURSIVE",
					       "WITH unused AS (SELECT $c FROM $t),",
					       "WITH bad AS (SELECT nosuch FROM $t),",
					       "",
					       "WITH dup AS (SELECT 1), dup AS (SELECT 2),",
					       "WITH x (a, b) AS (SELECT 1)," };
	size_t with = mutation_pick(mutation, is_with);
	if (with == NO_TOKEN)
		return false;
	if (mutation_random(mutation, 3) == 0)
		return replace_token(mutation, with + 1, misspelt(mutation, token_text(mutation, with + 1)));
	return replace_token(mutation, with, FILL(mutation, changes, STR("")));
}

/* ---- Grammar ---- */

static bool token_dropped(struct mutation *mutation)
{
	size_t token = mutation_random(mutation, mutation->count);
	return remove_span(mutation, token, token + 1);
}

static bool token_doubled(struct mutation *mutation)
{
	size_t token = mutation_random(mutation, mutation->count);
	return insert_before(mutation, token, arena_str(mutation->arena, token_text(mutation, token)));
}

static bool tokens_swapped(struct mutation *mutation)
{
	size_t token = mutation_random(mutation, mutation->count);
	if (token + 1 >= mutation->count)
		return false;
	str_t one = token_text(mutation, token), other = token_text(mutation, token + 1);
	mutation_replace(mutation, (struct token_span){ token, token + 2 },
			 arena_printf(mutation->arena, STR_FMT " " STR_FMT, STR_ARG(other), STR_ARG(one)));
	return true;
}

static bool is_mark(const struct mutation *mutation, size_t token)
{
	enum token_kind kind = mutation->tokens[token].kind;
	return kind == TOKEN_OPEN || kind == TOKEN_CLOSE || kind == TOKEN_COMMA || kind == TOKEN_DOT;
}

static bool mark_changed(struct mutation *mutation)
{
	static const char *const marks[] = { "(", ")", ",", ".", "", "", "", " AND ", "[" };
	size_t token = mutation_pick(mutation, is_mark);
	return token != NO_TOKEN && replace_token(mutation, token, str_from(ONE_OF(mutation, marks)));
}

static bool is_keyword(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].kind == TOKEN_KEYWORD;
}

static bool keyword_misspelt(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_keyword);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, misspelt(mutation, token_text(mutation, token)));
}

static bool keyword_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, mutation_random(mutation, 3) ? is_keyword : token_is_name);
	return token != NO_TOKEN && replace_token(mutation, token, str_from(ONE_OF(mutation, misspellable)));
}

static bool is_string(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].kind == TOKEN_STRING;
}

static bool quote_changed(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_string);
	if (token == NO_TOKEN)
		return false;
	str_t text = token_text(mutation, token);
	str_t inner = { text.ptr + 1, text.len - (text.len > 1 ? 2 : 1) };
	static const char *const quotes[][2] = {
		{ "\"", "\"" }, { "'", "" }, { "", "" }, { "`", "`" }, { "$$", "$$" }
	};
	const char *const *pair = ONE_OF(mutation, quotes);
	return replace_token(
		mutation, token,
		arena_printf(mutation->arena, "%s" STR_FMT "%s", pair[0], STR_ARG(inner), pair[1]));
}

/* ---- All of them ---- */

static const struct {
	const char *name;
	unsigned weight;
	bool (*apply)(struct mutation *mutation);
} kinds[] = {
	{ "misspell_name", 5, misspell_name },
	{ "swap_names", 5, swap_names },
	{ "other_column", 5, other_column },
	{ "sibling_column", 6, sibling_column },
	{ "column_of_from", 6, column_of_from },
	{ "other_relation", 4, other_relation },
	{ "schema_added", 2, schema_added },
	{ "quoted_name", 2, quoted_name },
	{ "alias_dropped", 3, alias_dropped },
	{ "alias_renamed", 3, alias_renamed },
	{ "as_dropped", 2, as_dropped },
	{ "as_renamed", 3, as_renamed },
	{ "output_name_used", 3, output_name_used },
	{ "qualifier_added", 3, qualifier_added },
	{ "qualifier_dropped", 4, qualifier_dropped },
	{ "qualifier_replaced", 4, qualifier_replaced },
	{ "function_replaced", 5, function_replaced },
	{ "function_misspelt", 2, function_misspelt },
	{ "function_unwrapped", 4, function_unwrapped },
	{ "argument_dropped", 3, argument_dropped },
	{ "arguments_changed", 4, arguments_changed },
	{ "arguments_swapped", 2, arguments_swapped },
	{ "call_extended", 4, call_extended },
	{ "window_changed", 3, window_changed },
	{ "operand_wrapped", 30, operand_wrapped },
	{ "right_item", 50, right_item },
	{ "right_value", 10, right_value },
	{ "right_statement", 50, right_statement },
	{ "literal_replaced", 6, literal_replaced },
	{ "operand_to_literal", 4, operand_to_literal },
	{ "operator_replaced", 7, operator_replaced },
	{ "cast_removed", 3, cast_removed },
	{ "cast_changed", 3, cast_changed },
	{ "cast_added", 4, cast_added },
	{ "clause_dropped", 6, clause_dropped },
	{ "clause_doubled", 1, clause_doubled },
	{ "clause_moved", 1, clause_moved },
	{ "select_changed", 6, select_changed },
	{ "from_changed", 10, from_changed },
	{ "where_changed", 4, where_changed },
	{ "having_changed", 4, having_changed },
	{ "group_changed", 5, group_changed },
	{ "order_changed", 5, order_changed },
	{ "limit_changed", 2, limit_changed },
	{ "list_changed", 6, list_changed },
	{ "condition_moved", 2, condition_moved },
	{ "join_changed", 5, join_changed },
	{ "on_changed", 7, on_changed },
	{ "conditions_swapped", 2, conditions_swapped },
	{ "wrapped", 12, wrapped },
	{ "subquery_changed", 6, subquery_changed },
	{ "cte_changed", 4, cte_changed },
	{ "token_dropped", 2, token_dropped },
	{ "token_doubled", 1, token_doubled },
	{ "tokens_swapped", 1, tokens_swapped },
	{ "mark_changed", 3, mark_changed },
	{ "keyword_misspelt", 2, keyword_misspelt },
	{ "keyword_replaced", 2, keyword_replaced },
	{ "quote_changed", 2, quote_changed },
};

static size_t random_kind(struct mutation *mutation)
{
	size_t sum = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		sum += kinds[i].weight;
	size_t chosen = mutation_random(mutation, sum), kind = 0;
	while (chosen >= kinds[kind].weight)
		chosen -= kinds[kind++].weight;
	return kind;
}

/* One change; what cannot be changed so is changed otherwise. */
static const char *change(struct mutation *mutation)
{
	for (unsigned i = 0; i < TRIES_MAX && mutation->count > 0; i++) {
		size_t kind = random_kind(mutation);
		str_t before = mutation->sql;
		if (kinds[kind].apply(mutation) && !str_equal(before, mutation->sql))
			return kinds[kind].name;
	}
	mutation_read(mutation, arena_printf(mutation->arena, STR_FMT " x x", STR_ARG(mutation->sql)));
	return "appended";
}

struct sql_mutant sql_mutate(str_t sql, const struct sql_vocabulary *vocabulary, uint64_t seed,
			     struct arena *arena)
{
	struct mutation *mutation = ARENA_NEW(arena, struct mutation);
	*mutation = (struct mutation){ .random = seed, .vocabulary = vocabulary, .arena = arena };
	mutation_read(mutation, arena_str(arena, sql));
	const char *kind = change(mutation);
	if (mutation_random(mutation, 5) == 0) {
		const char *second = change(mutation);
		kind = str_equal(mutation->sql, sql) ? change(mutation) : second;
	}
	return (struct sql_mutant){ mutation->sql, kind };
}
