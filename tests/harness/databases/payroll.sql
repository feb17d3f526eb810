-- Employees, departments and what they are paid, with quoted names, collations and histories.
CREATE COLLATION plain (provider = libc, locale = 'C');
CREATE TABLE "Department" ("Id" int PRIMARY KEY, "Name" text COLLATE plain NOT NULL, "Parent" int REFERENCES "Department", budget numeric(12,0));
CREATE TABLE "Employee" (
	"Id" int PRIMARY KEY, "firstName" text NOT NULL, "lastName" text NOT NULL, "Department" int REFERENCES "Department",
	"startDate" date NOT NULL, "endDate" date, "manager" int REFERENCES "Employee", "order" smallint, grade char(1), email text COLLATE "C"
);
CREATE TABLE salary (employee int REFERENCES "Employee", valid daterange, monthly numeric(9,2) NOT NULL, currency char(3) DEFAULT 'EUR', PRIMARY KEY (employee, valid));
CREATE TABLE "time sheet" (employee int, day date, "from" time, "to" time, project_code text, PRIMARY KEY (employee, day, "from"));
CREATE TABLE project (code text PRIMARY KEY, title text, starts date, ends date, owner int REFERENCES "Employee", status varchar(12) CHECK (status IN ('idea', 'running', 'done')));
CREATE TABLE assignment (code text REFERENCES project, employee int REFERENCES "Employee", share real NOT NULL, role text, PRIMARY KEY (code, employee));
CREATE TABLE absence (absence_id int PRIMARY KEY, employee int, first_day date, last_day date, reason text, approved boolean);
CREATE TABLE holiday (day date PRIMARY KEY, name text);
CREATE VIEW current_salary AS SELECT DISTINCT ON (employee) employee, monthly, currency FROM salary ORDER BY employee, lower(valid) DESC;
CREATE VIEW "Head count" ("Department", "people") AS SELECT d."Name", count(e."Id") FROM "Department" d LEFT JOIN "Employee" e ON e."Department" = d."Id" GROUP BY d."Name";

INSERT INTO "Department" VALUES (1, 'Board', NULL, 900000), (2, 'Works', 1, 500000), (3, 'Sales', 1, NULL), (4, 'Foundry', 2, 210000), (5, 'Paint shop', 2, 90000), (6, 'Export', 3, 70000);
INSERT INTO "Employee" SELECT i, (ARRAY['Lea', 'Tim', 'Ute', 'Max', 'Eli', 'Kai', 'Jo'])[1 + i % 7], (ARRAY['Stern', 'Falk', 'Ott', 'Bauer', 'Zorn'])[1 + i % 5],
	CASE WHEN i % 11 > 0 THEN 1 + i % 6 END, date '2012-01-15' + i * 97, CASE WHEN i % 8 = 0 THEN date '2023-03-31' + i END, CASE WHEN i > 1 THEN 1 + i / 6 END, i % 4,
	chr(65 + i % 4), CASE WHEN i % 5 > 0 THEN 'e' || i || '@works.example' END FROM generate_series(1, 42) i;
INSERT INTO salary SELECT i, daterange(date '2020-01-01' + n * 400, CASE WHEN n < 2 THEN date '2020-01-01' + (n + 1) * 400 END), 2100 + i * 55 + n * 120, CASE WHEN i % 10 = 3 THEN 'CHF' ELSE 'EUR' END FROM generate_series(1, 40) i, generate_series(0, 2) n WHERE i % 4 > n - 1;
INSERT INTO project VALUES ('P1', 'New kiln', '2022-05-01', '2023-04-30', 2, 'done'), ('P2', 'Web shop', '2023-01-15', NULL, 3, 'running'), ('P3', 'Paint without lead', '2023-06-01', '2024-12-31', 9, 'running'), ('P4', 'Museum', NULL, NULL, NULL, 'idea');
INSERT INTO assignment SELECT 'P' || 1 + i % 3, i, 0.1 + (i % 9) / 10.0, (ARRAY['lead', 'member', NULL])[1 + i % 3] FROM generate_series(1, 30) i;
INSERT INTO "time sheet" SELECT i, date '2023-02-01' + n, time '07:30' + (i % 4) * interval '30 minutes', CASE WHEN (i + n) % 10 > 0 THEN time '15:45' + (i * n % 5) * interval '20 minutes' END, CASE WHEN i % 5 > 0 THEN 'P' || 1 + i % 3 END FROM generate_series(1, 20) i, generate_series(0, 9) n WHERE extract(isodow FROM date '2023-02-01' + n) < 6;
INSERT INTO absence SELECT i, 1 + (i * 3) % 40, date '2022-12-30' + i * 9, date '2022-12-30' + i * 9 + i % 6, (ARRAY['leave', 'ill', 'training'])[1 + i % 3], CASE WHEN i % 4 > 0 THEN i % 3 > 0 END FROM generate_series(1, 40) i;
INSERT INTO holiday VALUES ('2023-01-01', 'New year'), ('2023-05-01', 'Labour day'), ('2023-12-25', 'Christmas'), ('2023-02-07', NULL);
