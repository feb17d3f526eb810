-- The catalog of a PostgreSQL database (version 11 and later) as one JSON cell, format 2; postgresql.c
-- reads it. Rows are arrays, to keep the text small; a schema that is null is pg_catalog, a language that is
-- null is internal. Types are named by their OIDs, which the reader replaces; lists of them are texts with
-- spaces between. Volatilities i, s, v: the worst of several is their maximum.
WITH RECURSIVE namespaces AS (
  SELECT oid, nspname, NULLIF(nspname, 'pg_catalog') AS shown, nspname IN ('pg_catalog', 'information_schema') AS system
  FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_(toast|temp)'
),
-- Expressions that run along with what they belong to: defaults of arguments, checks of domains, policies for reading.
expressions (class, object, tree) AS (
  SELECT 'f', oid, proargdefaults::pg_catalog.text FROM pg_catalog.pg_proc WHERE proargdefaults IS NOT NULL
  UNION ALL
  SELECT 't', contypid, conbin::pg_catalog.text FROM pg_catalog.pg_constraint WHERE contypid <> 0 AND conbin IS NOT NULL
  UNION ALL
  SELECT 'r', polrelid, polqual::pg_catalog.text FROM pg_catalog.pg_policy WHERE polqual IS NOT NULL AND polcmd IN ('r', '*')
),
uses AS (
  SELECT e.class, e.object, m.match[1] AS kind, m.match[2]::pg_catalog.oid AS used
  FROM expressions e,
       LATERAL pg_catalog.regexp_matches(e.tree, ':(funcid|opfuncid|opno|aggfnoid|winfnoid|resulttype|relid) (\d+)', 'g') AS m (match)
),
-- What a view or another policy calls in its turn is not followed from here: it counts as volatile.
expression_calls AS (
  SELECT u.class, u.object, pg_catalog.max(CASE u.kind WHEN 'relid' THEN 'v' ELSE p.provolatile::pg_catalog.text END) AS volatility
  FROM uses u
  LEFT JOIN pg_catalog.pg_operator o ON u.kind = 'opno' AND o.oid = u.used
  LEFT JOIN pg_catalog.pg_proc p ON p.oid = CASE u.kind WHEN 'opno' THEN o.oprcode WHEN 'resulttype' THEN 0
                                                        WHEN 'relid' THEN 0 ELSE u.used END
  LEFT JOIN pg_catalog.pg_class r ON u.kind = 'relid' AND r.oid = u.used
                                     AND (r.relkind NOT IN ('r', 'p', 'm', 'S', 'f') OR r.relrowsecurity)
  WHERE p.oid IS NOT NULL OR r.oid IS NOT NULL
  GROUP BY u.class, u.object
),
expression_types AS (
  SELECT class, object, pg_catalog.string_agg(used::pg_catalog.text, ' ') AS types
  FROM (SELECT DISTINCT class, object, used FROM uses WHERE kind = 'resulttype' AND used >= 16384) t
  GROUP BY class, object
),
aggregates AS (
  SELECT a.aggfnoid, a.aggkind, a.aggnumdirectargs,
         (SELECT pg_catalog.max(p.provolatile) FROM pg_catalog.pg_proc p
          WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn,
                          a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn)) AS volatility
  FROM pg_catalog.pg_aggregate a
),
functions AS (
  SELECT p.oid, p.proname, p.pronamespace, p.prokind, p.prosecdef, p.proisstrict, p.proretset, p.provariadic,
         p.pronargs, p.pronargdefaults, p.prorettype, p.proargtypes, p.proallargtypes, p.proargmodes, p.proargnames,
         p.prolang,
         GREATEST(p.provolatile::pg_catalog.text, a.volatility, c.volatility) AS volatility, a.aggkind, a.aggnumdirectargs,
         pg_catalog.concat(
           CASE WHEN p.proacl IS NULL OR EXISTS (SELECT FROM pg_catalog.aclexplode(p.proacl) x
                                                 WHERE x.grantee = 0 AND x.privilege_type = 'EXECUTE') THEN 'p' END,
           CASE WHEN pg_catalog.has_function_privilege(p.oid, 'EXECUTE') THEN 'x' END) AS privileges,
         t.types
  FROM pg_catalog.pg_proc p
  LEFT JOIN aggregates a ON a.aggfnoid = p.oid
  LEFT JOIN expression_calls c ON c.class = 'f' AND c.object = p.oid
  LEFT JOIN expression_types t ON t.class = 'f' AND t.object = p.oid
),
type_rows AS (
  SELECT n.nspname, t.typname, pg_catalog.json_build_array(
           t.oid::pg_catalog.int8, n.shown, t.typname,
           pg_catalog.concat(
             t.typtype, t.typcategory,
             GREATEST((SELECT pg_catalog.max(p.provolatile) FROM pg_catalog.pg_proc p
                       WHERE p.oid IN (t.typinput, t.typoutput, t.typmodin, r.rngcanonical)), c.volatility),
             CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'a' WHEN t.typelem <> 0 THEN 'r'
                  WHEN t.typtype = 'b' AND pg_catalog.to_jsonb(t) ->> 'typsubscript' <> '-' THEN 'x' ELSE '-' END,
             CASE WHEN t.typispreferred THEN 'p' END,
             CASE WHEN t.typacl IS NULL OR EXISTS (SELECT FROM pg_catalog.aclexplode(t.typacl) x
                                                   WHERE x.grantee = 0 AND x.privilege_type = 'USAGE') THEN 'u' END),
           t.typelem::pg_catalog.int8, t.typarray::pg_catalog.int8,
           COALESCE(NULLIF(t.typbasetype, 0), r.rngsubtype, m.rngtypid, 0)::pg_catalog.int8,
           CASE WHEN t.typtype = 'c' THEN
             (SELECT pg_catalog.json_agg(pg_catalog.json_build_array(a.attname, a.atttypid::pg_catalog.int8, a.attnotnull)
                                         ORDER BY a.attnum)
              FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) END,
           u.types,
           CASE WHEN t.typtype = 'e' THEN
             (SELECT COALESCE(pg_catalog.json_agg(l.enumlabel ORDER BY l.enumsortorder), '[]')
              FROM pg_catalog.pg_enum l WHERE l.enumtypid = t.oid) END) AS line
  FROM pg_catalog.pg_type t
  JOIN namespaces n ON n.oid = t.typnamespace
  LEFT JOIN pg_catalog.pg_class c1 ON c1.oid = t.typrelid
  LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typtype = 'c'
  LEFT JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid
  LEFT JOIN pg_catalog.pg_range m ON pg_catalog.to_jsonb(m) ->> 'rngmultitypid' = t.oid::pg_catalog.text AND t.typtype = 'm'
  LEFT JOIN expression_calls c ON c.class = 't' AND c.object = t.oid
  LEFT JOIN expression_types u ON u.class = 't' AND u.object = t.oid
  -- Rows of relations come with these; nobody needs arrays of rows of the system's.
  WHERE t.typisdefined AND (t.typrelid = 0 OR c1.relkind = 'c') AND NOT (n.system AND e.oid IS NOT NULL)
),
key_rows AS (
  SELECT i.indrelid, pg_catalog.json_agg(pg_catalog.json_build_array(
           pg_catalog.concat(CASE WHEN i.indisprimary THEN 'p' ELSE 'u' END, CASE WHEN i.indimmediate THEN 'i' END,
                             CASE WHEN pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct' = 'true' THEN 'n' END),
           (SELECT pg_catalog.json_agg(a.attname ORDER BY k.position)
            FROM pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS k (attnum, position)
            JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
            WHERE k.position <= i.indnkeyatts))
           ORDER BY i.indisprimary DESC, i.indkey::pg_catalog.text) AS keys
  FROM pg_catalog.pg_index i
  WHERE i.indisunique AND i.indisvalid AND i.indisready AND i.indislive AND i.indpred IS NULL AND i.indexprs IS NULL
  GROUP BY i.indrelid
),
-- Foreign tables and all whose rows are also theirs, with the names of the options of table, server and wrapper.
lineage (descendant, ancestor) AS (
  SELECT ftrelid, ftrelid FROM pg_catalog.pg_foreign_table
  UNION
  SELECT l.descendant, h.inhparent FROM lineage l JOIN pg_catalog.pg_inherits h ON h.inhrelid = l.ancestor
),
foreign_options AS (
  SELECT l.ancestor, COALESCE(pg_catalog.string_agg(DISTINCT o.option_name, ' '), '') AS names
  FROM lineage l
  JOIN pg_catalog.pg_foreign_table t ON t.ftrelid = l.descendant
  JOIN pg_catalog.pg_foreign_server s ON s.oid = t.ftserver
  JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid = s.srvfdw
  LEFT JOIN LATERAL pg_catalog.pg_options_to_table(
    pg_catalog.array_cat(pg_catalog.array_cat(t.ftoptions, s.srvoptions), w.fdwoptions)) o ON true
  GROUP BY l.ancestor
),
relation_rows AS (
  SELECT n.nspname, c.relname, pg_catalog.json_build_array(
           n.shown, c.relname,
           pg_catalog.concat(
             c.relkind, COALESCE(x.volatility, 'i'),
             CASE WHEN EXISTS (SELECT FROM pg_catalog.aclexplode(c.relacl) x
                               WHERE x.grantee = 0 AND x.privilege_type = 'SELECT') THEN 'p' END,
             CASE WHEN pg_catalog.has_any_column_privilege(c.oid, 'SELECT') THEN 'x' END,
             CASE WHEN c.relkind <> 'p' AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid)
                  THEN 'c' END),
           c.reltype::pg_catalog.int8,
           CASE WHEN n.system THEN 0 ELSE COALESCE((SELECT t.typarray FROM pg_catalog.pg_type t WHERE t.oid = c.reltype), 0)
                END::pg_catalog.int8,
           (SELECT pg_catalog.json_agg(pg_catalog.json_build_array(a.attname, a.atttypid::pg_catalog.int8, a.attnotnull)
                                       ORDER BY a.attnum)
            FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
           k.keys,
           CASE WHEN c.relkind IN ('v', 'm') AND NOT n.system THEN pg_catalog.pg_get_viewdef(c.oid) END,
           u.types, o.names) AS line
  FROM pg_catalog.pg_class c
  JOIN namespaces n ON n.oid = c.relnamespace
  LEFT JOIN key_rows k ON k.indrelid = c.oid
  LEFT JOIN expression_calls x ON x.class = 'r' AND x.object = c.oid AND c.relrowsecurity
  LEFT JOIN expression_types u ON u.class = 'r' AND u.object = c.oid AND c.relrowsecurity
  LEFT JOIN foreign_options o ON o.ancestor = c.oid
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
),
function_rows AS (
  SELECT n.nspname, f.proname, f.proargtypes, pg_catalog.json_build_array(
           n.shown, f.proname,
           pg_catalog.concat(f.volatility, f.prokind, COALESCE(f.aggkind, '-'), f.privileges,
                             CASE WHEN f.prosecdef THEN 'd' END, CASE WHEN f.proisstrict THEN 's' END,
                             CASE WHEN f.proretset THEN 'r' END),
           NULLIF(l.lanname, 'internal'), f.pronargdefaults, COALESCE(f.aggnumdirectargs, 0),
           f.provariadic::pg_catalog.int8, f.prorettype::pg_catalog.int8, f.proargtypes::pg_catalog.text,
           CASE WHEN f.proargnames IS NOT NULL THEN
             (SELECT pg_catalog.json_agg(COALESCE(o.name, '') ORDER BY o.position)
              FROM ROWS FROM (pg_catalog.unnest(f.proargmodes), pg_catalog.unnest(f.proargnames))
                   WITH ORDINALITY AS o (mode, name, position) WHERE COALESCE(o.mode, 'i') IN ('i', 'b', 'v')) END,
           CASE WHEN f.proargmodes IS NOT NULL THEN
             (SELECT pg_catalog.json_agg(COALESCE(o.name, '') ORDER BY o.position)
              FROM ROWS FROM (pg_catalog.unnest(f.proargmodes), pg_catalog.unnest(f.proargnames))
                   WITH ORDINALITY AS o (mode, name, position) WHERE o.mode IN ('o', 'b', 't')) END,
           CASE WHEN f.proargmodes IS NOT NULL THEN
             (SELECT pg_catalog.string_agg(o.type::pg_catalog.text, ' ' ORDER BY o.position)
              FROM ROWS FROM (pg_catalog.unnest(f.proargmodes), pg_catalog.unnest(f.proallargtypes))
                   WITH ORDINALITY AS o (mode, type, position) WHERE o.mode IN ('o', 'b', 't')) END,
           f.types) AS line
  FROM functions f
  JOIN namespaces n ON n.oid = f.pronamespace
  JOIN pg_catalog.pg_language l ON l.oid = f.prolang
  WHERE NOT 'internal'::pg_catalog.regtype = ANY (f.proargtypes::pg_catalog.oid[])
),
operator_rows AS (
  SELECT n.nspname, o.oprname, o.oprleft, o.oprright, pg_catalog.json_build_array(
           n.shown, o.oprname, pg_catalog.concat(f.volatility, f.privileges), o.oprleft::pg_catalog.int8, o.oprright::pg_catalog.int8,
           o.oprresult::pg_catalog.int8) AS line
  FROM pg_catalog.pg_operator o
  JOIN namespaces n ON n.oid = o.oprnamespace
  JOIN functions f ON f.oid = o.oprcode
),
cast_rows AS (
  SELECT c.castsource, c.casttarget, pg_catalog.json_build_array(
           c.castsource::pg_catalog.int8, c.casttarget::pg_catalog.int8,
           pg_catalog.concat(c.castcontext, c.castmethod, COALESCE(f.volatility, 'i'), COALESCE(f.privileges, 'px'))) AS line
  FROM pg_catalog.pg_cast c LEFT JOIN functions f ON f.oid = c.castfunc
),
collation_rows AS (
  SELECT n.nspname, c.collname, pg_catalog.json_build_array(n.shown, c.collname) AS line
  FROM pg_catalog.pg_collation c
  JOIN namespaces n ON n.oid = c.collnamespace
  WHERE c.collencoding IN (-1, pg_catalog.pg_char_to_encoding(pg_catalog.getdatabaseencoding()))
),
-- What else a literal may name ('name'::regclass): indexes, text search, functions that no query can call, and which of
-- these sample tables. The system's own indexes begin with pg_.
other_names (kind, namespace, name) AS (
  SELECT 'i', relnamespace, relname FROM pg_catalog.pg_class WHERE relkind IN ('i', 'I')
  UNION ALL
  SELECT 'C', cfgnamespace, cfgname FROM pg_catalog.pg_ts_config
  UNION ALL
  SELECT 'D', dictnamespace, dictname FROM pg_catalog.pg_ts_dict
  UNION
  SELECT 'F', pronamespace, proname FROM pg_catalog.pg_proc
  WHERE 'internal'::pg_catalog.regtype = ANY (proargtypes::pg_catalog.oid[])
  UNION
  SELECT 'S', pronamespace, proname FROM pg_catalog.pg_proc
  WHERE prorettype = 'tsm_handler'::pg_catalog.regtype AND 'internal'::pg_catalog.regtype = ANY (proargtypes::pg_catalog.oid[])
),
other_rows AS (
  SELECT o.kind, n.nspname, o.name, pg_catalog.json_build_array(o.kind, n.shown, o.name) AS line
  FROM other_names o
  JOIN namespaces n ON n.oid = o.namespace
  WHERE NOT (o.kind = 'i' AND n.system)
)
SELECT pg_catalog.json_build_object(
  'format', 2,
  'database', pg_catalog.current_database(),
  'search_path', (SELECT pg_catalog.json_agg(s) FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) s
                  WHERE s !~ '^pg_temp_'),
  'schemas', (SELECT pg_catalog.json_agg(nspname ORDER BY nspname COLLATE "C") FROM namespaces),
  'types', (SELECT pg_catalog.json_agg(line ORDER BY nspname COLLATE "C", typname COLLATE "C") FROM type_rows),
  'relations', (SELECT pg_catalog.json_agg(line ORDER BY nspname COLLATE "C", relname COLLATE "C") FROM relation_rows),
  'functions', (SELECT pg_catalog.json_agg(line ORDER BY nspname COLLATE "C", proname COLLATE "C", proargtypes)
                FROM function_rows),
  'operators', (SELECT pg_catalog.json_agg(line ORDER BY nspname COLLATE "C", oprname COLLATE "C", oprleft, oprright)
                FROM operator_rows),
  'casts', (SELECT pg_catalog.json_agg(line ORDER BY castsource, casttarget) FROM cast_rows),
  'collations', (SELECT pg_catalog.json_agg(line ORDER BY nspname COLLATE "C", collname COLLATE "C")
                 FROM collation_rows),
  'others', (SELECT CASE WHEN pg_catalog.count(*) <= 50000 THEN COALESCE(
                      pg_catalog.json_agg(line ORDER BY kind, nspname COLLATE "C", name COLLATE "C"), '[]') END
             FROM other_rows))::pg_catalog.text
