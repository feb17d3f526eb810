-- A lending library: branches, titles with several authors, copies, loans and reservations.
CREATE DOMAIN isbn AS varchar(13) CHECK (length(VALUE) IN (10, 13));

CREATE TABLE branch (
	branch_no smallint PRIMARY KEY, name varchar(40) NOT NULL, town text NOT NULL, opened date, floor_area numeric(7,1)
);
CREATE TABLE author (author_no int PRIMARY KEY, family_name text NOT NULL, given_name text, born int, country char(2));
CREATE TABLE title (
	title_no int PRIMARY KEY, name text NOT NULL, isbn isbn UNIQUE, language char(2) DEFAULT 'en', pages int,
	published int, keywords text[]
);
CREATE TABLE written_by (
	title_no int REFERENCES title, author_no int REFERENCES author, place smallint NOT NULL DEFAULT 1,
	PRIMARY KEY (title_no, author_no)
);
CREATE TABLE copy (
	title_no int REFERENCES title, copy_no smallint, branch_no smallint REFERENCES branch, bought date,
	price numeric(8,2), lost boolean NOT NULL DEFAULT false, PRIMARY KEY (title_no, copy_no)
);
CREATE TABLE reader (
	reader_no int PRIMARY KEY, name text NOT NULL, email text, joined date NOT NULL, home_branch smallint REFERENCES branch,
	birthday date, blocked boolean
);
CREATE TABLE loan (
	loan_no bigint PRIMARY KEY, title_no int NOT NULL, copy_no smallint NOT NULL, reader_no int NOT NULL REFERENCES reader,
	lent date NOT NULL, due date NOT NULL, returned date, renewals smallint NOT NULL DEFAULT 0,
	FOREIGN KEY (title_no, copy_no) REFERENCES copy
);
CREATE TABLE reservation (
	reader_no int REFERENCES reader, title_no int REFERENCES title, placed timestamp NOT NULL, served timestamp,
	PRIMARY KEY (reader_no, title_no, placed)
);
CREATE TABLE fine (fine_no int PRIMARY KEY, loan_no bigint REFERENCES loan, amount numeric(6,2) NOT NULL, paid timestamp);
CREATE VIEW on_loan AS
	SELECT l.loan_no, t.name AS title, r.name AS reader, l.due FROM loan l
	JOIN title t USING (title_no) JOIN reader r USING (reader_no) WHERE l.returned IS NULL;
CREATE VIEW title_stock (title_no, name, copies, lost) AS
	SELECT t.title_no, t.name, count(c.copy_no), count(*) FILTER (WHERE c.lost)
	FROM title t LEFT JOIN copy c ON c.title_no = t.title_no GROUP BY t.title_no, t.name;

INSERT INTO branch SELECT i, (ARRAY['Harbour', 'Old Mill', 'Station', 'North Gate'])[i],
	(ARRAY['Seaford', 'Seaford', 'Millbrook', 'Ashby'])[i], date '1980-03-01' + i * 1400, 300.5 * i FROM generate_series(1, 4) i;
INSERT INTO author SELECT i, (ARRAY['Okafor', 'Lind', 'Moreau', 'Tanaka', 'Silva', 'Novak', 'Reid'])[i],
	(ARRAY['Ada', 'Bo', NULL, 'Emi', 'Rui', 'Jan', 'Ada'])[i], 1900 + i * 13, (ARRAY['NG', 'SE', 'FR', 'JP', 'PT', 'CZ', NULL])[i]
	FROM generate_series(1, 7) i;
INSERT INTO title SELECT i, (ARRAY['The Salt Road', 'Winter Bees', 'A Grammar of Rivers', 'Night Trains', 'Seven Small Rooms',
	'Glass', 'The Lamp Maker', 'Tides', 'On Weaving', 'The Quiet Engine'])[i], lpad((9780000000000 + i * 7919)::text, 13, '0'),
	(ARRAY['en', 'sv', 'fr', 'en', 'en'])[1 + i % 5], CASE WHEN i <> 6 THEN 90 + i * 37 END, 1950 + i * 7,
	CASE WHEN i % 4 > 0 THEN (ARRAY['fiction', 'sea', 'craft'])[i % 4 : 3] END FROM generate_series(1, 10) i;
INSERT INTO written_by SELECT i, 1 + (i * 3) % 7, 1 FROM generate_series(1, 9) i;
INSERT INTO written_by VALUES (2, 6, 2), (5, 7, 2), (5, 4, 3);
INSERT INTO copy SELECT t, c, 1 + (t + c) % 4, date '2015-01-10' + t * 61 + c * 200, 8.5 + t + c * 0.25, (t * c) % 7 = 6
	FROM generate_series(1, 9) t, generate_series(1, 3) c WHERE c <= 1 + t % 3;
INSERT INTO reader SELECT i, (ARRAY['Mia', 'Noah', 'Zoe', 'Ivan', 'Lena', 'Omar'])[1 + i % 6] || ' ' || (ARRAY['Berg', 'Cole', 'Dorn'])[1 + i % 3],
	CASE WHEN i % 5 > 0 THEN 'reader' || i || '@example.org' END, date '2019-05-01' + i * 45, CASE WHEN i % 6 > 0 THEN 1 + i % 4 END,
	date '1950-02-03' + i * 977, i % 9 = 4 FROM generate_series(1, 24) i;
INSERT INTO loan SELECT i, t, 1, 1 + (i * 5) % 22, d, d + 21, CASE WHEN i % 6 > 0 THEN d + (i * 7) % 33 END, i % 3
	FROM (SELECT i, 1 + (i * 7) % 9 AS t, date '2023-01-04' + i * 6 AS d FROM generate_series(1, 90) i) x;
INSERT INTO reservation SELECT 1 + i % 11, 1 + (i * 3) % 10, timestamp '2023-02-01 10:00' + i * interval '53 hours',
	CASE WHEN i % 3 > 0 THEN timestamp '2023-02-09 09:30' + i * interval '55 hours' END FROM generate_series(1, 30) i;
INSERT INTO fine SELECT row_number() OVER (ORDER BY loan_no), loan_no, 0.20 * (returned - due), CASE WHEN loan_no % 2 = 0 THEN returned + time '17:15' END
	FROM loan WHERE returned > due;
