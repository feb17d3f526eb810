-- A database with all kinds of types, names and functions, for tests that compare with a real server.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN email AS text;
CREATE TYPE address AS (street text, city text, zip int);
CREATE TYPE floatrange AS RANGE (subtype = float8);
CREATE SCHEMA extra;

CREATE TABLE things (
	id int PRIMARY KEY, name text NOT NULL, code varchar(10), fixed char(5), "Mixed Case" text, "select" int,
	big bigint, small smallint, num numeric(10,2), r real, d double precision, ok boolean,
	born date, at timestamp, atz timestamptz, t time, ttz timetz, span interval,
	tags text[], nums int[], matrix int[][], j json, jb jsonb, u uuid, raw bytea,
	m mood, moods mood[], p positive, e email, a address, addrs address[],
	ip inet, net cidr, mac macaddr, pt point, bx box, bits bit(4), vb bit varying, cash money, x xml,
	ts tsvector, q tsquery, ir int4range, nr numrange, dr daterange, tr tstzrange, mr int4multirange, fr floatrange,
	o oid, rc regclass, n name, c "char", g int GENERATED ALWAYS AS (id * 2) STORED
);
CREATE TABLE parts (
	thing_id int REFERENCES things, part_no int, qty int, price numeric, note text, PRIMARY KEY (thing_id, part_no)
);
CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree, label text);
CREATE TABLE events (id bigint, thing_id int, at timestamptz NOT NULL, kind mood) PARTITION BY RANGE (at);
CREATE TABLE events_2024 PARTITION OF events FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE "Orders" ("Id" int PRIMARY KEY, "orderDate" date, "user" text, "group" int, total numeric);
CREATE TABLE extra.things (id int, other text);
CREATE TABLE extra.only_here (id int, value text);
CREATE TABLE empty ();
CREATE TABLE child (more text) INHERITS (tree);

CREATE VIEW thing_names AS SELECT id, upper(name) AS name, born FROM things;
CREATE VIEW thing_totals (thing, total, count) AS SELECT thing_id, sum(qty * price), count(*) FROM parts GROUP BY thing_id;
CREATE MATERIALIZED VIEW totals AS SELECT thing_id, sum(qty * price) AS total FROM parts GROUP BY thing_id;
CREATE SEQUENCE numbers;

CREATE FUNCTION add(a int, b int DEFAULT 1) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT a + b';
CREATE FUNCTION add(a text, b text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT a || b';
CREATE FUNCTION longest(VARIADIC words text[]) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT words[1]';
CREATE FUNCTION pair(n int, OUT a int, OUT b text) IMMUTABLE LANGUAGE sql AS 'SELECT n, n::text';
CREATE FUNCTION pairs(n int) RETURNS TABLE (a int, b text) STABLE LANGUAGE sql AS 'SELECT n, n::text';
CREATE FUNCTION parts_of(thing int) RETURNS SETOF parts STABLE LANGUAGE sql AS 'SELECT * FROM parts WHERE thing_id = thing';
CREATE FUNCTION moods_of(thing int) RETURNS SETOF mood STABLE LANGUAGE sql AS 'SELECT m FROM things WHERE id = thing';
CREATE FUNCTION first_of(list anyarray) RETURNS anyelement IMMUTABLE LANGUAGE sql AS 'SELECT list[1]';
CREATE FUNCTION twice(value anyelement) RETURNS anyarray IMMUTABLE LANGUAGE sql AS 'SELECT ARRAY[value, value]';
CREATE FUNCTION label(thing things) RETURNS text STABLE LANGUAGE sql AS 'SELECT thing.name';
CREATE FUNCTION city(place address) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT place.city';
CREATE FUNCTION any_record() RETURNS SETOF record STABLE LANGUAGE sql AS 'SELECT 1, 2';
CREATE FUNCTION extra.helper(n numeric) RETURNS numeric IMMUTABLE LANGUAGE sql AS 'SELECT n';
CREATE FUNCTION mood_of(n int) RETURNS mood IMMUTABLE LANGUAGE sql AS 'SELECT ''ok''::mood';
CREATE AGGREGATE product(numeric) (SFUNC = numeric_mul, STYPE = numeric, INITCOND = '1');
CREATE CAST (int AS mood) WITH FUNCTION mood_of(int) AS ASSIGNMENT;
CREATE FUNCTION far(a text, b text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT a <> b';
CREATE OPERATOR <~> (LEFTARG = text, RIGHTARG = text, FUNCTION = far);
