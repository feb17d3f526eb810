-- What the attacks of this folder run on. Owned by a plain role, so that whatever an attack does is allowed to
-- happen. Everything volatile writes into `log`.
CREATE TABLE log (what text);
CREATE SEQUENCE counter;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE address AS (street text, city text);
CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%');
CREATE TABLE users (
	id integer PRIMARY KEY, name text, nick varchar(30), password text, mail email, feeling mood, home address,
	created timestamptz DEFAULT now(), tags text[], doc jsonb);
CREATE TABLE products (id integer PRIMARY KEY, name text, price numeric, description text);
CREATE TABLE orders (id integer PRIMARY KEY, user_id integer, product_id integer, total numeric, placed date);
CREATE TABLE doomed (id integer, name text);
INSERT INTO users SELECT i, 'user' || i, 'nick' || i, 'secret', 'a@b', 'ok', ROW('street', 'city')::address,
	'2024-01-01', '{a,b}', '{"a": 1}' FROM generate_series(1, 4) i;
INSERT INTO products SELECT i, 'product' || i, i * 1.5, 'about ' || i FROM generate_series(1, 4) i;
INSERT INTO orders SELECT i, i, i, i * 2, '2024-02-01' FROM generate_series(1, 4) i;
INSERT INTO doomed VALUES (1, 'x');

-- Functions
CREATE FUNCTION touch(what text) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES (what); RETURN what; END $$;
CREATE FUNCTION touch_integer(i integer) RETURNS integer LANGUAGE sql AS
	$$ INSERT INTO log VALUES (i) RETURNING 1 $$;
CREATE FUNCTION touch_boolean(what text) RETURNS boolean LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES (what); RETURN true; END $$;
CREATE FUNCTION touch_user(u users) RETURNS text LANGUAGE sql AS
	$$ INSERT INTO log VALUES (u.name) RETURNING what $$;
CREATE FUNCTION touch_all(VARIADIC whats text[]) RETURNS integer LANGUAGE sql AS
	$$ INSERT INTO log SELECT unnest(whats) RETURNING 1 $$;
CREATE FUNCTION touch_rows() RETURNS SETOF log LANGUAGE sql AS $$ INSERT INTO log VALUES ('r') RETURNING * $$;
CREATE FUNCTION touch_any(x anyelement) RETURNS anyelement LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES (x::text); RETURN x; END $$;
CREATE FUNCTION touch_definer() RETURNS integer LANGUAGE sql SECURITY DEFINER AS
	$$ INSERT INTO log VALUES ('d') RETURNING 1 $$;
CREATE PROCEDURE touch_procedure() LANGUAGE sql AS $$ INSERT INTO log VALUES ('p') $$;
CREATE FUNCTION with_default(i integer, what text DEFAULT touch('default')) RETURNS integer LANGUAGE plpgsql STABLE AS
	$$ BEGIN RETURN i; END $$;
CREATE FUNCTION takes_anything(i integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT i $$;
CREATE FUNCTION takes_anything(t text) RETURNS integer LANGUAGE plpgsql VOLATILE AS
	$$ BEGIN INSERT INTO log VALUES (t); RETURN 1; END $$;
CREATE FUNCTION calm(t text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT t $$;
CREATE FUNCTION calm_user(u users) RETURNS text LANGUAGE sql STABLE AS $$ SELECT u.name $$;
CREATE FUNCTION calm_default(i integer DEFAULT 1, d date DEFAULT current_date) RETURNS integer LANGUAGE sql STABLE
	AS $$ SELECT i $$;
CREATE FUNCTION calm_definer() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER AS
	$$ SELECT count(*) FROM users $$;

-- Names of the system's own functions and operators, for types that fit better than theirs
CREATE FUNCTION upper(varchar) RETURNS varchar LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES ($1); RETURN $1; END $$;
CREATE FUNCTION length(mood) RETURNS integer LANGUAGE sql AS $$ INSERT INTO log VALUES ('m') RETURNING 1 $$;
CREATE FUNCTION varchar_equal(varchar, varchar) RETURNS boolean LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES ($1); RETURN $1::text = $2::text; END $$;
CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = varchar_equal);
CREATE SCHEMA shadow;
CREATE FUNCTION shadow.lower(text) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO public.log VALUES ($1); RETURN $1; END $$;

-- Operators
CREATE FUNCTION touch_plus(integer, integer) RETURNS integer LANGUAGE sql AS
	$$ INSERT INTO log VALUES ('+') RETURNING 1 $$;
CREATE OPERATOR ~+~ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = touch_plus);
CREATE OPERATOR ~+~ (RIGHTARG = integer, FUNCTION = touch_integer);
CREATE FUNCTION calm_plus(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 1 $$;
CREATE OPERATOR @+@ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = calm_plus);
CREATE OPERATOR shadow.+ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = touch_plus);

-- A type whose comparisons write
CREATE TYPE pair AS (a integer, b integer);
CREATE FUNCTION pair_compare(x pair, y pair) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO log VALUES ('c'); RETURN CASE WHEN x.a < y.a THEN -1 WHEN x.a > y.a THEN 1 ELSE 0 END; END $$;
CREATE FUNCTION pair_less(x pair, y pair) RETURNS boolean LANGUAGE sql AS $$ SELECT pair_compare(x, y) < 0 $$;
CREATE FUNCTION pair_less_equal(x pair, y pair) RETURNS boolean LANGUAGE sql AS $$ SELECT pair_compare(x, y) <= 0 $$;
CREATE FUNCTION pair_equal(x pair, y pair) RETURNS boolean LANGUAGE sql AS $$ SELECT pair_compare(x, y) = 0 $$;
CREATE FUNCTION pair_more_equal(x pair, y pair) RETURNS boolean LANGUAGE sql AS $$ SELECT pair_compare(x, y) >= 0 $$;
CREATE FUNCTION pair_more(x pair, y pair) RETURNS boolean LANGUAGE sql AS $$ SELECT pair_compare(x, y) > 0 $$;
CREATE OPERATOR < (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_less, COMMUTATOR = >);
CREATE OPERATOR <= (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_less_equal, COMMUTATOR = >=);
CREATE OPERATOR = (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_equal, COMMUTATOR = =, MERGES);
CREATE OPERATOR >= (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_more_equal, COMMUTATOR = <=);
CREATE OPERATOR > (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_more, COMMUTATOR = <);
CREATE TABLE pairs (p pair, note text);
INSERT INTO pairs VALUES (ROW(1, 2), 'a'), (ROW(3, 4), 'b'), (ROW(1, 2), 'c');

-- Casts
CREATE TYPE coin AS ENUM ('cent', 'dime');
CREATE FUNCTION coin_text(coin) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES ('coin'); RETURN 'x'; END $$;
CREATE CAST (coin AS text) WITH FUNCTION coin_text(coin) AS IMPLICIT;
CREATE TYPE purse AS (content text);
CREATE FUNCTION purse_of(text) RETURNS purse LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES ('purse'); RETURN ROW($1); END $$;
CREATE CAST (text AS purse) WITH FUNCTION purse_of(text);
CREATE TABLE coins (c coin, n integer);
INSERT INTO coins VALUES ('cent', 1), ('dime', 2);
CREATE FUNCTION calm_mood(mood) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'mood' $$;
CREATE CAST (mood AS text) WITH FUNCTION calm_mood(mood);

-- Domains
CREATE DOMAIN checked AS text CHECK (touch_boolean(VALUE));
CREATE DOMAIN checked_deeper AS checked;
CREATE TYPE checked_row AS (c checked, n integer);
CREATE TYPE checked_range AS RANGE (subtype = checked);
CREATE TABLE checked_table (c checked, n integer);
INSERT INTO checked_table VALUES ('x', 1);
CREATE FUNCTION takes_checked(checked) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 1; END $$;

-- Aggregates
CREATE FUNCTION touch_step(state text, value text) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES (value); RETURN value; END $$;
CREATE AGGREGATE touch_aggregate(text) (SFUNC = touch_step, STYPE = text);
CREATE FUNCTION calm_step(state text, value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT value $$;
CREATE AGGREGATE touch_final(text) (SFUNC = calm_step, STYPE = text, FINALFUNC = touch);
CREATE AGGREGATE calm_aggregate(text) (SFUNC = calm_step, STYPE = text);

-- Views, materialized ones, row security
CREATE VIEW tame AS SELECT id, name FROM users WHERE id > 0;
CREATE VIEW sneaky AS SELECT id, touch(name) AS name FROM users;
CREATE VIEW sneaky_twice AS SELECT s.name FROM sneaky s;
CREATE VIEW sneaky_operator AS SELECT id ~+~ 1 AS x FROM users;
CREATE VIEW sneaky_cast AS SELECT id, name::checked AS name FROM users;
CREATE VIEW sneaky_implicit AS SELECT lower(c) AS x FROM coins;
CREATE MATERIALIZED VIEW frozen AS SELECT id, touch(name) AS name FROM users;
CREATE TABLE guarded (name text);
INSERT INTO guarded VALUES ('a');
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
ALTER TABLE guarded FORCE ROW LEVEL SECURITY;
CREATE POLICY guard ON guarded USING (touch_boolean(name));
CREATE TABLE fenced (name text);
INSERT INTO fenced VALUES ('a');
ALTER TABLE fenced ENABLE ROW LEVEL SECURITY;
ALTER TABLE fenced FORCE ROW LEVEL SECURITY;
CREATE POLICY fence ON fenced USING (name = current_setting('app.tenant', true));
