#include "tests/harness/mutators/sql_shapes.h"

#include "sql/postgresql/ddl/ddl.h"

enum { TABLES = 64, TABLE_COLUMNS = 40 };

const struct sql_shape sql_shapes[] = {
	/* Expressions */
	{ "parentheses", "SELECT ", "(", "1", ")", "" },
	{ "sum", "SELECT 1", "+1", "", "", "" },
	{ "sum of columns", "SELECT x", "+x", " FROM t", "", "" },
	{ "product in parentheses", "SELECT ", "(x*", "1", ")", " FROM t" },
	{ "minus signs", "SELECT ", "- ", "1", "", "" },
	{ "and", "SELECT x FROM t WHERE x=0", " AND x=#", "", "", "" },
	{ "or", "SELECT x FROM t WHERE x=0", " OR x=#", "", "", "" },
	{ "and, or", "SELECT x FROM t WHERE x=0", " AND x=# OR y=#", "", "", "" },
	{ "not", "SELECT ", "NOT ", "true", "", "" },
	{ "nested conditions", "SELECT x FROM t WHERE ", "(x=# AND (y=# OR ", "x=1", "))", "" },
	{ "comparisons", "SELECT x=1", ",x=y,s<'#'", " FROM t", "", "" },
	{ "nested case", "SELECT ", "CASE WHEN x=1 THEN ", "1", " ELSE 2 END", " FROM t" },
	{ "case arms", "SELECT CASE", " WHEN x=# THEN #", "", "", " END FROM t" },
	{ "case of a value", "SELECT CASE x", " WHEN # THEN 'a'", "", "", " END FROM t" },
	{ "between", "SELECT x FROM t WHERE x BETWEEN 1 AND 2", " AND x BETWEEN # AND 9", "", "", "" },
	{ "in list", "SELECT x FROM t WHERE x IN (0", ",#", ")", "", "" },
	{ "in list of texts", "SELECT x FROM t WHERE s IN ('a'", ",'b#'", ")", "", "" },
	{ "in list of rows", "SELECT x FROM t WHERE (x,y) IN ((0,0)", ",(#,1)", ")", "", "" },
	{ "in lists", "SELECT x FROM t WHERE x IN (0)", " OR x IN (#,1)", "", "", "" },
	{ "arguments", "SELECT concat('a'", ",s", ") FROM t", "", "" },
	{ "coalesce", "SELECT coalesce(x", ",#", ") FROM t", "", "" },
	{ "greatest", "SELECT greatest(x", ",y,1.5", ") FROM t", "", "" },
	{ "nested calls", "SELECT ", "abs(", "x", ")", " FROM t" },
	{ "calls", "SELECT abs(x)", ",round(n,#)", " FROM t", "", "" },
	{ "calls of unknown types", "SELECT concat(NULL)", ",lower('#')||upper('b')", "", "", "" },
	{ "aggregates", "SELECT sum(x)", ",max(s)", " FROM t", "", "" },
	{ "filters", "SELECT sum(x)", ",count(*) FILTER (WHERE x=#)", " FROM t", "", "" },
	{ "subscripts", "SELECT a", "[1]", " FROM t", "", "" },
	{ "slices", "SELECT a", "[1:#]", " FROM t", "", "" },
	{ "fields", "SELECT (t).x", ",(t).y", " FROM t", "", "" },
	{ "casts", "SELECT x", "::int::text", " FROM t", "", "" },
	{ "nested casts", "SELECT ", "CAST(", "x", " AS text)", " FROM t" },
	{ "cast list", "SELECT x::text", ",'#'::int", " FROM t", "", "" },
	{ "concatenation", "SELECT 'a'", "||'a'", "", "", "" },
	{ "concatenation of columns", "SELECT s", "||s", " FROM t", "", "" },
	{ "texts in lines", "SELECT 'a'", "\n'a'", "", "", "" },
	{ "array", "SELECT ARRAY[1", ",#", "]", "", "" },
	{ "nested arrays", "SELECT ", "ARRAY[", "1", "]", "" },
	{ "nested rows", "SELECT ", "ROW(1,", "1", ")", "" },
	{ "row comparison", "SELECT (1", ",#", ")=(1", ",#", ")" },
	{ "time zones", "SELECT now()", " AT TIME ZONE 'UTC'", "", "", "" },
	{ "collations", "SELECT s", " COLLATE \"C\"", " FROM t", "", "" },
	{ "is null", "SELECT x", " IS NULL", " FROM t", "", "" },
	{ "like", "SELECT x FROM t WHERE s LIKE 'a'", " AND s LIKE '%#'", "", "", "" },
	{ "distinct from", "SELECT x FROM t WHERE x IS DISTINCT FROM 0", " AND x IS DISTINCT FROM #", "", "",
	  "" },
	{ "operators", "SELECT x", " @@@ x", " FROM t", "", "" },
	{ "json operators", "SELECT j", "->'a#'", " FROM t", "", "" },
	{ "typed literals", "SELECT 1", ",DATE '2020-01-01',INTERVAL '# days'", "", "", "" },
	{ "tautologies", "SELECT x FROM t WHERE x=0", " OR #=#", "", "", "" },
	/* Lists */
	{ "select list", "SELECT x", ",x", " FROM t", "", "" },
	{ "numbers", "SELECT 1", ",#", "", "", "" },
	{ "named outputs", "SELECT x AS c0", ",x AS c#", " FROM t", "", "" },
	{ "named outputs in order", "SELECT x AS c0", ",x AS c#", " FROM t ORDER BY c0", ",c#", "" },
	{ "stars", "SELECT *", ",*", " FROM w1", "", "" },
	{ "stars of a subquery", "SELECT *", ",q.*", " FROM (SELECT * FROM w1, w2, w3) AS q", "", "" },
	{ "qualified names", "SELECT t.x", ",t.x", " FROM t", "", "" },
	{ "names of four parts", "SELECT x", ",a.b.c.d", " FROM t", "", "" },
	{ "long dotted name", "SELECT x", ".x", " FROM t", "", "" },
	{ "order by", "SELECT x FROM t ORDER BY x", ",x+#", "", "", "" },
	{ "order by positions", "SELECT x FROM t ORDER BY 1", ",1", "", "", "" },
	{ "group by", "SELECT 1 FROM t GROUP BY x", ",x+#", "", "", "" },
	{ "grouped expressions", "SELECT x", ",x+#", " FROM t GROUP BY x", ",x+#", "" },
	{ "grouped calls", "SELECT count(*)", ",abs(x*#)", " FROM t GROUP BY 1", ",abs(x*#)", "" },
	{ "grouped columns", "SELECT k", ",w1_c#", " FROM w1 NATURAL JOIN w2 GROUP BY k", ",w1_c#", "" },
	{ "ungrouped columns", "SELECT count(*)", ",x+y*#", " FROM t", "", "" },
	{ "grouping sets", "SELECT 1 FROM t GROUP BY GROUPING SETS ((x)", ",(x,y)", ")", "", "" },
	{ "rollup", "SELECT 1 FROM t GROUP BY ROLLUP (x", ",x+#", ")", "", "" },
	{ "cube", "SELECT 1 FROM t GROUP BY CUBE (x", ",x+#", ")", "", "" },
	{ "distinct on", "SELECT DISTINCT ON (x", ",x+#", ") x FROM t ORDER BY x", ",x+#", "" },
	{ "distinct and order", "SELECT DISTINCT x", ",x+#", " FROM t ORDER BY x", ",x+#", "" },
	{ "values rows", "VALUES (0)", ",(#)", "", "", "" },
	{ "values rows in from", "SELECT * FROM (VALUES (0,'a')", ",(#,'b')", ") AS v (i, s)", "", "" },
	{ "values columns", "VALUES (0", ",#", ")", "", "" },
	{ "alias list", "SELECT * FROM (VALUES (0", ",#", ")) AS v (c0", ",c#", ")" },
	{ "windows", "SELECT 1 FROM t WINDOW v0 AS ()", ",v# AS (ORDER BY x)", "", "", "" },
	{ "inherited windows", "SELECT 1 FROM t WINDOW v0 AS (ORDER BY x)", ",v# AS (v@)", "", "", "" },
	{ "used windows", "SELECT 1", ",sum(x) OVER v#", " FROM t WINDOW v0 AS ()", ",v# AS (PARTITION BY x)",
	  "" },
	{ "over", "SELECT 1", ",sum(x) OVER (PARTITION BY y ORDER BY x)", " FROM t", "", "" },
	/* FROM */
	{ "joins", "SELECT a0.x FROM t a0", " JOIN t a# ON a#.x=a@.x", "", "", "" },
	{ "left joins", "SELECT a0.x FROM t a0", " LEFT JOIN t a# ON a#.x=a0.x", "", "", "" },
	{ "cross joins", "SELECT a0.x FROM t a0", " CROSS JOIN t a#", "", "", "" },
	{ "comma joins", "SELECT a0.x FROM t a0", ",t a#", "", "", "" },
	{ "comma joins, conditions", "SELECT a0.x FROM t a0", ",t a#", " WHERE a0.x=1", " AND a#.x=a@.x",
	  "" },
	{ "comma joins, any order", "SELECT a0.x FROM t a0", ",t a#", " WHERE a0.x=1", " AND a#.x=a0.y", "" },
	{ "comma joins, columns", "SELECT a0.x", ",a#.x", " FROM t a0", ",t a#", "" },
	{ "comma joins, ambiguous", "SELECT x", ",x", " FROM t a0", ",t a#", "" },
	{ "comma joins, stars", "SELECT a0.*", ",a#.*", " FROM w1 a0", ",w1 a#", "" },
	{ "comma joins, one star", "SELECT * FROM w1 a0", ",w1 a#", "", "", "" },
	{ "unqualified in wide tables", "SELECT w1_c1", ",w2_c#", " FROM w1, w2, w3, w4, w5, w6, w7, w8, w9",
	  "", "" },
	{ "natural joins", "SELECT x FROM t a0", " NATURAL JOIN t a#", "", "", "" },
	{ "natural joins of others", "SELECT k FROM w1", " NATURAL JOIN w#", "", "", "" },
	{ "using", "SELECT x FROM t a0", " JOIN t a# USING (x)", "", "", "" },
	{ "using, many columns", "SELECT x FROM t a0", " JOIN t a# USING (x,y,s)", " WHERE x=1", " AND y=#",
	  "" },
	{ "full joins using", "SELECT x FROM t a0", " FULL JOIN t a# USING (x)", "", "", "" },
	{ "using list", "SELECT 1 FROM t a JOIN t b USING (x", ",y", ")", "", "" },
	{ "nested joins", "SELECT x FROM ", "(t a# JOIN ", "t", " ON true)", "" },
	{ "joins in parentheses", "SELECT 1 FROM ", "(", "t", " JOIN t a# ON true)", "" },
	{ "aliased joins", "SELECT 1 FROM ", "(", "t", " CROSS JOIN t a#) AS b#", "" },
	{ "alias again", "SELECT 1 FROM t", ",t", "", "", "" },
	{ "laterals", "SELECT 1 FROM t a0", ",LATERAL (SELECT a@.x) a#", "", "", "" },
	{ "functions in from", "SELECT 1 FROM t", ",generate_series(1,#) g#", "", "", "" },
	{ "rows from", "SELECT 1 FROM ROWS FROM (abs(1)", ",abs(#)", ")", "", "" },
	{ "derived tables", "SELECT 1 FROM t", ",(SELECT # AS x) a#", "", "", "" },
	{ "derived tables, columns", "SELECT 1", ",a#.x", " FROM t", ",(SELECT # AS x) a#", "" },
	/* Subqueries */
	{ "nested derived tables", "", "SELECT x FROM (", "SELECT x FROM t", ") AS a", "" },
	{ "nested stars", "", "SELECT * FROM (", "SELECT * FROM w1", ") AS a", "" },
	{ "doubled stars", "", "SELECT *, * FROM (", "SELECT 1", ") AS a", "" },
	{ "doubled tables", "SELECT 1 FROM ", "(SELECT * FROM t, ", "t AS b", ") AS a#", "" },
	{ "nested scalars", "SELECT ", "(SELECT ", "1", ")", "" },
	{ "scalars", "SELECT 1", ",(SELECT x FROM t WHERE x=#)", "", "", "" },
	{ "nested in", "SELECT x FROM t WHERE ", "x IN (SELECT x FROM t WHERE ", "x=1", ")", "" },
	{ "nested exists", "SELECT x FROM t a0 WHERE ", "EXISTS (SELECT 1 FROM t a# WHERE a@.x=1 AND ", "x=1",
	  ")", "" },
	{ "nested unknown columns", "SELECT x FROM t WHERE ", "EXISTS (SELECT nosuch# FROM t WHERE ",
	  "nosuch=1", ")", "" },
	{ "exists", "SELECT x FROM t WHERE x=0", " OR EXISTS (SELECT 1 FROM t b WHERE b.x=t.x)", "", "", "" },
	{ "any of arrays", "SELECT x FROM t WHERE x=0", " OR x=ANY(ARRAY[1,#])", "", "", "" },
	{ "with", "WITH a0 AS (SELECT 1 AS x)", ",a# AS (SELECT x FROM a@)", " SELECT x FROM a1", "", "" },
	{ "with, all read", "WITH a0 AS (SELECT 1 AS x)", ",a# AS (SELECT 1 AS x)", " SELECT 1 FROM a0",
	  ",a#", "" },
	{ "with, again and again", "WITH a AS (SELECT x FROM t) SELECT 1 FROM a", ",a a#", "", "", "" },
	{ "with, doubled stars", "WITH a0 AS (SELECT 1 AS x)", ",a# AS (SELECT a.*,b.* FROM a@ a,a@ b)",
	  " SELECT * FROM a0", "", "" },
	{ "with, doubled unions", "WITH a0 AS (SELECT 1 AS x)",
	  ",a# AS (SELECT * FROM a@ UNION ALL SELECT * FROM a@)", " SELECT * FROM a0", "", "" },
	{ "with, doubled scalars", "WITH a0 AS (SELECT 1 AS x)",
	  ",a# AS (SELECT (SELECT x FROM a@)+(SELECT x FROM a@) AS x)", " SELECT * FROM a0", "", "" },
	{ "nested with", "", "WITH a AS (", "SELECT 1", ") SELECT * FROM a", "" },
	{ "with of one name, nested", "", "WITH a# AS (SELECT 1) SELECT * FROM (", "SELECT 1", ") b", "" },
	{ "recursive with", "WITH RECURSIVE a0 AS (SELECT 1 AS x)",
	  ",a# AS (SELECT 1 AS x UNION ALL SELECT x+1 FROM a# WHERE x<9)", " SELECT 1", "", "" },
	/* Set operations */
	{ "union", "SELECT 1", " UNION SELECT #", "", "", "" },
	{ "union all", "SELECT x FROM t", " UNION ALL SELECT x FROM t", "", "", "" },
	{ "union all of columns", "SELECT 1,2,3,'a'", " UNION ALL SELECT #,2,3,'b'", " ORDER BY 1", "", "" },
	{ "intersect", "SELECT 1", " INTERSECT SELECT #", "", "", "" },
	{ "except", "SELECT 1", " EXCEPT SELECT #", "", "", "" },
	{ "nested union", "", "(SELECT 1 UNION ", "SELECT 1", ")", "" },
	{ "union of wide selects", "SELECT * FROM w1", " UNION ALL SELECT * FROM w1", "", "", "" },
	{ "values union", "VALUES (1)", " UNION ALL VALUES (#)", "", "", "" },
	/* Clauses again and again */
	{ "grouping sets of sets", "SELECT 1 FROM t GROUP BY GROUPING SETS (x", ",ROLLUP (x,y),CUBE (y,n)",
	  ")", "", "" },
	{ "grouping sets of expressions", "SELECT x", ",abs(x+#)", " FROM t GROUP BY GROUPING SETS ((x)",
	  ",(x,abs(x+#))", ")" },
	{ "grouped by names", "SELECT x AS c0", ",x+# AS c#", " FROM t GROUP BY c0", ",c#", "" },
	{ "grouped by one name", "SELECT x+1 AS c", ",x+1 AS c", " FROM t GROUP BY c", ",c", "" },
	{ "grouped functions", "SELECT g0", ",g#", " FROM generate_series(1,2) g0",
	  ",generate_series(1,2) g#", " GROUP BY g0" },
	{ "grouped subscripts", "SELECT a[1]", ",a[#]+1", " FROM t GROUP BY a[1]", ",abs(a[#])", "" },
	{ "grouped unknown", "SELECT x", ",abs(nosuch#)+1", " FROM t GROUP BY x", ",abs(other#)", "" },
	{ "grouped deep sums", "SELECT x", "+x", " FROM t GROUP BY y", ",x+x+x+x+x+x+#", "" },
	{ "grouped rows", "SELECT (t).x", ",(t).y+#", " FROM t GROUP BY x", ",(t).y+#", "" },
	{ "distinct on positions", "SELECT DISTINCT ON (1", ",1", ") x FROM t ORDER BY 1", ",x", "" },
	{ "distinct of stars", "SELECT DISTINCT w1.*", ",x+#", " FROM w1,t ORDER BY k", ",x+#", "" },
	{ "order by one name", "SELECT x AS c", ",x+# AS c", " FROM t ORDER BY c", ",c", "" },
	{ "order by casts", "SELECT x", ",x::text", " FROM t ORDER BY x", ",x::text::int", "" },
	{ "order by calls", "SELECT x", ",abs(x-#)", " FROM t ORDER BY x", ",abs(x+#)", "" },
	{ "used inherited windows", "SELECT 1", ",sum(x) OVER v#", " FROM t WINDOW v0 AS (ORDER BY x)",
	  ",v# AS (v@)", "" },
	{ "windows of one name", "SELECT 1 FROM t WINDOW v AS ()", ",v AS (ORDER BY x)", "", "", "" },
	{ "over unknown windows", "SELECT 1", ",sum(x) OVER v#", " FROM t", "", "" },
	{ "over with refname", "SELECT 1", ",sum(x) OVER (w ORDER BY y)",
	  " FROM t WINDOW w AS (PARTITION BY x)", "", "" },
	{ "within group", "SELECT 1", ",percentile_cont(0.5) WITHIN GROUP (ORDER BY x+#)", " FROM t", "",
	  "" },
	{ "ordered aggregates", "SELECT array_agg(x ORDER BY x", ",x+#", ") FROM t", "", "" },
	{ "distinct aggregates", "SELECT 1", ",string_agg(DISTINCT s||'#', ',' ORDER BY s||'#')", " FROM t",
	  "", "" },
	{ "named arguments", "SELECT make_interval(days => 1)", ",make_interval(hours => #, mins => 1)", "",
	  "", "" },
	{ "overloads of literals", "SELECT 1", ",substring('a', '#')||overlay('a' placing 'b' from 1)", "",
	  "", "" },
	{ "nested overloads of literals", "SELECT ", "substring(", "'a'", ",'b')", "" },
	{ "wrong types of all kinds", "SELECT 1", ",x=s,n=s,a=j,j=x,a=n,s=a", " FROM t", "", "" },
	{ "wrong calls", "SELECT 1", ",substring(j,a,#)", " FROM t", "", "" },
	{ "arrays of arrays", "SELECT ARRAY[ARRAY[0]", ",ARRAY[#]", "]", "", "" },
	{ "arrays in rows", "SELECT (1", ",ARRAY[#,x]", ") FROM t", "", "" },
	{ "row comparisons", "SELECT x FROM t WHERE (x,y)<(0,0)", " AND (x,y)<(#,1)", "", "", "" },
	{ "case in case arms", "SELECT CASE", " WHEN CASE WHEN x=# THEN true ELSE false END THEN #", "", "",
	  " END FROM t" },
	{ "whole rows", "SELECT t", ",t", " FROM t", "", "" },
	{ "whole rows of many", "SELECT a0", ",a#", " FROM t a0", ",t a#", "" },
	{ "stars in rows", "SELECT 1", ",ROW(t.*)", " FROM t", "", "" },
	{ "in rows of subqueries", "SELECT x FROM t WHERE x=0", " OR (x,y) IN (SELECT x,y FROM t)", "", "",
	  "" },
	{ "values rows of columns", "SELECT * FROM (VALUES (1,2,3,'a','b')", ",(#,2,NULL,'a','b#')",
	  ") AS v ORDER BY 1", "", "" },
	{ "values of unknown types", "VALUES (NULL,NULL)", ",(NULL,'#')", "", "", "" },
	/* Names again and again */
	{ "columns of a derived table", "SELECT 1", ",d.c#", " FROM (SELECT x AS c0", ",x AS c#",
	  " FROM t) AS d" },
	{ "columns of a with", "WITH d AS (SELECT x AS c0", ",x AS c#", " FROM t) SELECT 1", ",c#",
	  " FROM d" },
	{ "columns of values", "SELECT 1", ",column#", " FROM (VALUES (0", ",#", ")) AS v" },
	{ "columns of one name", "SELECT d.c", ",d.c", " FROM (SELECT x AS c", ",y AS c", " FROM t) AS d" },
	{ "ambiguous columns", "SELECT k", ",k", " FROM w1,w2,w3,w4,w5,w6,w7,w8,w9", "", "" },
	{ "ambiguous names", "SELECT 1", ",w1_c#", " FROM w1 a, w1 b, w1 c", "", "" },
	{ "system columns", "SELECT 1", ",ctid", " FROM w1,w2,w3,w4,w5,w6,w7,w8,w9", "", "" },
	{ "unknown columns of unknown tables", "SELECT 1", ",nosuch#", " FROM no0", ",no#", "" },
	{ "unknown tables joined by names", "SELECT y FROM no0", " JOIN no# USING (c#)", "", "", "" },
	{ "unknown columns of many", "SELECT 1", ",nosuch#", " FROM t a0", ",t a#", "" },
	{ "using list of others", "SELECT 1 FROM t a JOIN t b USING (x", ",nosuch#", ")", "", "" },
	{ "using list of unknown tables", "SELECT 1 FROM na a JOIN nb b USING (x", ",c#", ")", "", "" },
	{ "using, columns read", "SELECT 1", ",x,y", " FROM t a0", " JOIN t a# USING (x,y)", "" },
	{ "using, conditions on names", "SELECT 1 FROM t a0", " JOIN t a# ON y=# AND s='a'", "", "", "" },
	{ "using with alias", "SELECT 1 FROM t a0", " JOIN t a# USING (x) AS j#", " WHERE true",
	  " AND j#.x=1", "" },
	{ "natural full joins", "SELECT * FROM w1 a0", " NATURAL FULL JOIN w1 a#", "", "", "" },
	{ "right joins", "SELECT a0.x FROM t a0", " RIGHT JOIN t a# ON a#.x=a0.x", "", "", "" },
	{ "laterals of laterals", "SELECT 1 FROM t a0",
	  " CROSS JOIN LATERAL (SELECT a@.x+1 AS x WHERE a0.x=#) a#", "", "", "" },
	{ "lateral functions", "SELECT 1 FROM t a0", ",generate_series(1,a@.x) AS a#(x)", "", "", "" },
	{ "with of two", "WITH a0 AS (SELECT 1 AS x), a1 AS (SELECT 2 AS x)",
	  ",b# AS (SELECT a0.x FROM a0 JOIN a1 USING (x))", " SELECT x FROM b1", "", "" },
	{ "with of one name", "WITH a AS (SELECT 1)", ",a AS (SELECT 1)", " SELECT 1", "", "" },
	{ "with column lists", "WITH a (c0", ",c#", ") AS (SELECT 1", ",#", ") SELECT * FROM a" },
	{ "union of columns", "SELECT NULL", ",NULL", " UNION SELECT '1'", ",'#'", "" },
	{ "union in order", "SELECT x FROM t", " UNION SELECT x+# FROM t", " ORDER BY x", ",x", "" },
	{ "mixed set operations", "SELECT 1", " UNION SELECT # INTERSECT SELECT 2", "", "", "" },
	/* What is wrong */
	{ "unknown columns", "SELECT x", ",nosuch#", " FROM t", "", "" },
	{ "unknown columns of wide tables", "SELECT k", ",w9_nosuch#", " FROM w1,w2,w3,w4,w5,w6,w7,w8,w9", "",
	  "" },
	{ "unknown qualified columns", "SELECT x", ",t.nosuch#", " FROM t", "", "" },
	{ "unknown qualifiers", "SELECT x", ",nosuch#.x", " FROM t", "", "" },
	{ "unknown tables", "SELECT 1 FROM t", ",nosuch#", "", "", "" },
	{ "unknown functions", "SELECT 1", ",nosuch#()", "", "", "" },
	{ "unknown types", "SELECT 1", ",NULL::nosuch#", "", "", "" },
	{ "unknown operators", "SELECT 1", ",x ## #", " FROM t", "", "" },
	{ "wrong types", "SELECT 1", ",x=s", " FROM t", "", "" },
	{ "wrong literals", "SELECT 1", ",x='a#'", " FROM t", "", "" },
	{ "wrong joins", "SELECT 1 FROM t a0", " JOIN t a# ON a#.x=b#.x", "", "", "" },
	{ "long unknown name", "SELECT nosuch", "abcdefgh", " FROM t", "", "" },
	{ "long unknown table", "SELECT 1 FROM nosuch", "abcdefgh", "", "", "" },
	{ "syntax error at the end", "SELECT 1", ",x", " FROM t WHERE", "", "" },
	{ "dangerous calls", "SELECT 1", ",pg_sleep(#)", "", "", "" },
	{ "dangerous tables", "SELECT 1 FROM t", ",pg_authid p#", "", "", "" },
	{ "series", "SELECT 1 FROM t", ",generate_series(1,1000) g#", "", "", "" },
	{ "statements", "SELECT 1", ";SELECT #", "", "", "" },
	/* Words */
	{ "block comments", "SELECT 1", "/* a */", "", "", "" },
	{ "line comments", "SELECT 1", "-- a\n", "", "", "" },
	{ "nested comments", "SELECT 1", "/* /* /* */ */ */", "", "", "" },
	{ "opened comments", "SELECT 1", "/*", "", "", "" },
	{ "long comment", "SELECT 1 /*", " a", "*/", "", "" },
	{ "spaces", "SELECT 1", " \n", "", "", "" },
	{ "semicolons", "SELECT 1", ";", "", "", "" },
	{ "long text", "SELECT '", "a''", "'", "", "" },
	{ "long text with escapes", "SELECT E'", "\\n", "'", "", "" },
	{ "texts with escapes", "SELECT E'a'", ",E'\\x41#'", "", "", "" },
	{ "texts of code points", "SELECT 1", ",U&'\\0041'", "", "", "" },
	{ "dollar quotes", "SELECT 1", ",$a$b$a$", "", "", "" },
	{ "dollar signs", "SELECT 1", "$a", "", "", "" },
	{ "open quotes", "SELECT 1", "'", "", "", "" },
	{ "quoted names", "SELECT x", ",\"x\"", " FROM t", "", "" },
	{ "long quoted name", "SELECT \"", "a\"\"", "\" FROM t", "", "" },
	{ "parameters", "SELECT 1", ",$#", "", "", "" },
	{ "digits", "SELECT 1", "0", "", "", "" },
	{ "fences", "", "```sql\n", "SELECT 1", "\n```", "" },
	{ "prose", "", "Here is the query. ", "SELECT 1", "", "" },
	{ "prose with selects", "", "select it. ", "SELECT 1", "", "" },
	{ "non-ASCII names", "SELECT x", ",\xC3\xA9#", " FROM t", "", "" },
	{ "empty quotes", "SELECT x", ",\"\"", " FROM t", "", "" },
};

const size_t sql_shapes_count = sizeof sql_shapes / sizeof sql_shapes[0];

const struct sql_shape sql_common_shapes[] = {
	{ "select list", "SELECT x", ",x", " FROM t", "", "" },
	{ "numbers", "SELECT 1", ",#", "", "", "" },
	{ "named outputs in order", "SELECT x AS c0", ",x AS c#", " FROM t ORDER BY c0", ",c#", "" },
	{ "sum of columns", "SELECT x", "+x", " FROM t", "", "" },
	{ "parentheses", "SELECT ", "(", "1", ")", "" },
	{ "and, or", "SELECT x FROM t WHERE x=0", " AND x=# OR y=#", "", "", "" },
	{ "not", "SELECT ", "NOT ", "1", "", "" },
	{ "case arms", "SELECT CASE", " WHEN x=# THEN #", "", "", " END FROM t" },
	{ "nested case", "SELECT ", "CASE WHEN x=1 THEN ", "1", " ELSE 2 END", " FROM t" },
	{ "in list", "SELECT x FROM t WHERE x IN (0", ",#", ")", "", "" },
	{ "in lists", "SELECT x FROM t WHERE x IN (0)", " OR x IN (#,1)", "", "", "" },
	{ "like", "SELECT x FROM t WHERE s LIKE 'a'", " AND s LIKE '%#'", "", "", "" },
	{ "nested calls", "SELECT ", "abs(", "x", ")", " FROM t" },
	{ "calls", "SELECT abs(x)", ",round(x,#)", " FROM t", "", "" },
	{ "aggregates", "SELECT sum(x)", ",max(s)", " FROM t", "", "" },
	{ "group by", "SELECT 1 FROM t GROUP BY x", ",x+#", "", "", "" },
	{ "grouped expressions", "SELECT x", ",x+#", " FROM t GROUP BY x", ",x+#", "" },
	{ "order by", "SELECT x FROM t ORDER BY x", ",x+#", "", "", "" },
	{ "windows", "SELECT 1", ",sum(x) OVER (PARTITION BY y ORDER BY x)", " FROM t", "", "" },
	{ "joins", "SELECT a0.x FROM t a0", " JOIN t a# ON a#.x=a@.x", "", "", "" },
	{ "left joins", "SELECT a0.x FROM t a0", " LEFT JOIN t a# ON a#.x=a0.x", "", "", "" },
	{ "comma joins, conditions", "SELECT a0.x FROM t a0", ",t a#", " WHERE a0.x=1", " AND a#.x=a@.x",
	  "" },
	{ "using", "SELECT x FROM t a0", " JOIN t a# USING (x,y)", "", "", "" },
	{ "natural joins", "SELECT x FROM t a0", " NATURAL JOIN t a#", "", "", "" },
	{ "derived tables, columns", "SELECT 1", ",a#.x", " FROM t", ",(SELECT # AS x) a#", "" },
	{ "nested derived tables", "", "SELECT x FROM (", "SELECT x FROM t", ") AS a", "" },
	{ "nested stars", "", "SELECT * FROM (", "SELECT * FROM t", ") AS a", "" },
	{ "nested in", "SELECT x FROM t WHERE ", "x IN (SELECT x FROM t WHERE ", "x=1", ")", "" },
	{ "exists", "SELECT x FROM t WHERE x=0", " OR EXISTS (SELECT 1 FROM t b WHERE b.x=t.x)", "", "", "" },
	{ "with", "WITH a0 AS (SELECT 1 AS x)", ",a# AS (SELECT x FROM a@)", " SELECT x FROM a1", "", "" },
	{ "with, all read", "WITH a0 AS (SELECT 1 AS x)", ",a# AS (SELECT 1 AS x)", " SELECT 1 FROM a0",
	  ",a#", "" },
	{ "with, doubled stars", "WITH a0 AS (SELECT 1 AS x)", ",a# AS (SELECT a.*,b.* FROM a@ a,a@ b)",
	  " SELECT * FROM a0", "", "" },
	{ "union", "SELECT 1", " UNION SELECT #", "", "", "" },
	{ "union all of columns", "SELECT 1,2,3,'a'", " UNION ALL SELECT #,2,3,'b'", " ORDER BY 1", "", "" },
	{ "unknown columns", "SELECT x", ",nosuch#", " FROM t", "", "" },
	{ "unknown columns of many", "SELECT x", ",nosuch#", " FROM t a0", ",t a#", "" },
	{ "unknown qualifiers", "SELECT x", ",nosuch#.x", " FROM t", "", "" },
	{ "unknown tables", "SELECT 1 FROM t", ",nosuch#", "", "", "" },
	{ "unknown functions", "SELECT 1", ",nosuch#()", "", "", "" },
	{ "block comments", "SELECT 1", "/* a */", "", "", "" },
	{ "long text", "SELECT '", "a''", "'", "", "" },
	{ "open quotes", "SELECT 1", "'", "", "", "" },
	{ "statements", "SELECT 1", ";SELECT #", "", "", "" },
};

const size_t sql_common_shapes_count = sizeof sql_common_shapes / sizeof sql_common_shapes[0];

static void append_repeated(struct buf *text, const char *part, unsigned count)
{
	for (unsigned i = 1; *part && i <= count; i++) {
		for (const char *at = part; *at; at++) {
			if (*at == '#' || *at == '@')
				buf_printf(text, "%u", *at == '#' ? i : i - 1);
			else
				buf_append_char(text, *at);
		}
	}
}

void sql_shape_write(const struct sql_shape *shape, unsigned count, struct buf *text)
{
	buf_reset(text);
	buf_append_text(text, shape->prefix);
	append_repeated(text, shape->first, count);
	buf_append_text(text, shape->core);
	append_repeated(text, shape->second, count);
	buf_append_text(text, shape->suffix);
}

struct catalog *sql_shapes_catalog(void)
{
	struct buf text = BUF_INIT;
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	buf_append_text(&text, "CREATE TABLE t (x int, y int, n numeric, s text, a int[], j jsonb);");
	for (unsigned i = 1; i <= TABLES; i++) {
		buf_printf(&text, "CREATE TABLE w%u (k int", i);
		for (unsigned j = 1; j <= TABLE_COLUMNS; j++)
			buf_printf(&text, ", w%u_c%u int", i, j);
		buf_append_text(&text, ");");
	}
	if (ddl_compile(buf_str(&text), &catalog, &detail)) {
		fprintf(stderr, "%s\n", detail.message);
		abort();
	}
	buf_free(&text);
	return catalog;
}

struct catalog *sql_common_shapes_catalog(enum sql_dialect dialect)
{
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	err_t error =
		dialect == SQL_MYSQL
			? catalog_compile_mysql(
				  STR("[\"format\", 2, \"d\", 0]\n[\"schema\", \"d\"]\n"
				      "[\"relation\", \"d\", \"t\", \"BASE TABLE\"]\n"
				      "[\"column\", \"d\", \"t\", 1, \"x\", \"int\", \"YES\"]\n"
				      "[\"column\", \"d\", \"t\", 2, \"y\", \"int\", \"YES\"]\n"
				      "[\"column\", \"d\", \"t\", 3, \"s\", \"text\", \"YES\"]\n"),
				  &catalog, &detail)
			: catalog_compile_sqlite(STR("[\"CREATE TABLE t (x INTEGER, y INTEGER, s TEXT)\"]"),
						 &catalog, &detail);
	if (error) {
		fprintf(stderr, "%s\n", detail.message);
		abort();
	}
	return catalog;
}
