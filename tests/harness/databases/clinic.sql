-- A clinic in three schemas, with enums, domains, ranges, arrays, columns made of others and documents.
CREATE SCHEMA people;
CREATE SCHEMA care;
CREATE SCHEMA billing;
CREATE TYPE care.urgency AS ENUM ('routine', 'soon', 'urgent', 'emergency');
CREATE TYPE billing.state AS ENUM ('draft', 'sent', 'paid', 'disputed');
CREATE DOMAIN billing.money_amount AS numeric(10,2) CHECK (VALUE >= 0);

CREATE TABLE people.patient (
	patient_id uuid PRIMARY KEY, surname text NOT NULL, forename text NOT NULL, born date NOT NULL, sex char(1),
	phone varchar(20), allergies text[], insurer text, height_cm smallint, weight_kg numeric(5,1),
	bmi numeric GENERATED ALWAYS AS (weight_kg / nullif((height_cm / 100.0) ^ 2, 0)) STORED
);
CREATE TABLE people.doctor (
	doctor_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, surname text NOT NULL, speciality text NOT NULL,
	employed daterange NOT NULL, languages text[] NOT NULL DEFAULT '{}'
);
CREATE TABLE care.room (room_code varchar(6) PRIMARY KEY, floor smallint NOT NULL, beds smallint, equipment jsonb);
CREATE TABLE care.visit (
	visit_id bigint PRIMARY KEY, patient_id uuid REFERENCES people.patient, doctor_id int REFERENCES people.doctor,
	room_code varchar(6) REFERENCES care.room, during tstzrange NOT NULL, urgency care.urgency NOT NULL DEFAULT 'routine',
	complaint text, findings jsonb
);
CREATE TABLE care.measurement (
	visit_id bigint REFERENCES care.visit, taken timestamptz, kind text, value double precision, unit text,
	PRIMARY KEY (visit_id, taken, kind)
);
CREATE TABLE care.medicine (medicine_id int PRIMARY KEY, name text NOT NULL, dose_mg numeric, contains text[]);
CREATE TABLE care.prescription (
	visit_id bigint REFERENCES care.visit, medicine_id int REFERENCES care.medicine, times_a_day smallint NOT NULL,
	lasts interval NOT NULL, note text, PRIMARY KEY (visit_id, medicine_id)
);
CREATE TABLE billing.invoice (
	invoice_no int PRIMARY KEY, visit_id bigint UNIQUE REFERENCES care.visit, issued date NOT NULL, state billing.state NOT NULL,
	insurer_share numeric(4,3) NOT NULL DEFAULT 0
);
CREATE TABLE billing.line (
	invoice_no int REFERENCES billing.invoice, line_no smallint, what text NOT NULL, quantity int NOT NULL, price billing.money_amount,
	PRIMARY KEY (invoice_no, line_no)
);
CREATE TABLE billing.payment (payment_id int PRIMARY KEY, invoice_no int REFERENCES billing.invoice, received timestamptz NOT NULL, amount billing.money_amount NOT NULL);
CREATE VIEW billing.balance AS
	SELECT i.invoice_no, i.state, coalesce(l.total, 0) AS total, coalesce(p.paid, 0) AS paid FROM billing.invoice i
	LEFT JOIN (SELECT invoice_no, sum(quantity * price) AS total FROM billing.line GROUP BY invoice_no) l USING (invoice_no)
	LEFT JOIN (SELECT invoice_no, sum(amount) AS paid FROM billing.payment GROUP BY invoice_no) p USING (invoice_no);

INSERT INTO people.patient SELECT md5(i::text)::uuid, (ARRAY['Adler', 'Brook', 'Costa', 'Duval', 'Eze'])[1 + i % 5],
	(ARRAY['Iris', 'Hugo', 'Nora', 'Paul'])[1 + i % 4], date '1941-06-11' + i * 611, (ARRAY['f', 'm', NULL])[1 + i % 3],
	CASE WHEN i % 4 > 0 THEN '0' || i * 73931 END, (ARRAY[NULL, '{}', '{penicillin}', '{nuts,latex}'])[1 + i % 4]::text[],
	(ARRAY['Alba', 'Civis', NULL])[1 + i % 3], 150 + (i * 7) % 50, 48 + (i * 11) % 60 FROM generate_series(1, 40) i;
INSERT INTO people.doctor (surname, speciality, employed, languages) VALUES
	('Hahn', 'surgery', '[2009-01-01,)', '{de,en}'), ('Osei', 'cardiology', '[2015-06-01,2023-07-01)', '{en}'),
	('Petit', 'paediatrics', '[2018-03-15,)', '{fr,en,de}'), ('Quist', 'cardiology', '[2021-01-01,)', '{sv,en}'),
	('Rossi', 'radiology', '[2012-10-01,2020-01-01)', '{it}');
INSERT INTO care.room SELECT 'R' || i, i / 3, CASE WHEN i <> 4 THEN i % 4 END,
	jsonb_build_object('oxygen', i % 2 = 0, 'monitors', i % 3, 'tags', jsonb_build_array('x' || i, 'common')) FROM generate_series(1, 8) i;
INSERT INTO care.visit SELECT i, md5((1 + (i * 7) % 38)::text)::uuid, 1 + i % 5, 'R' || (1 + i % 7),
	tstzrange(s, s + ((10 + i * 13 % 170) || ' minutes')::interval), (ARRAY['routine', 'soon', 'routine', 'urgent', 'emergency'])[1 + i % 5]::care.urgency,
	(ARRAY['cough', 'Chest pain', 'fever', NULL])[1 + i % 4],
	CASE WHEN i % 6 > 0 THEN jsonb_build_object('codes', jsonb_build_array('J' || i % 9, 'K1'), 'severity', i % 5, 'follow_up', i % 2 = 1, 'by', jsonb_build_object('phone', i % 3 = 0)) END
	FROM (SELECT i, timestamptz '2023-01-09 08:00+00' + (i + i % 12 * 6) * interval '11 hours' AS s FROM generate_series(1, 120) i) x;
INSERT INTO care.measurement SELECT i, lower(during) + interval '5 minutes', k, 36 + (i * 3 % 40) / 10.0 + n * 30, u FROM care.visit, (SELECT visit_id AS i FROM care.visit) v,
	(VALUES ('temperature', 'C', 0), ('pulse', '1/min', 1)) m (k, u, n) WHERE i = visit_id AND i % (n + 2) = 0;
INSERT INTO care.medicine VALUES (1, 'Amoxil', 500, '{penicillin}'), (2, 'Ibu', 400, NULL), (3, 'Para', 500, '{}'), (4, 'Beta', 25.5, '{lactose}'), (5, 'Nux', NULL, '{nuts}');
INSERT INTO care.prescription SELECT visit_id, 1 + visit_id % 5, 1 + visit_id % 3, (3 + visit_id % 12) * interval '1 day', CASE WHEN visit_id % 4 = 0 THEN 'with meals' END FROM care.visit WHERE visit_id % 3 > 0;
INSERT INTO billing.invoice SELECT visit_id, visit_id, (upper(during))::date + 7, (ARRAY['draft', 'sent', 'paid', 'paid', 'disputed'])[1 + visit_id % 5]::billing.state, (visit_id % 4) * 0.25
	FROM care.visit WHERE visit_id % 8 > 0;
INSERT INTO billing.line SELECT invoice_no, n, (ARRAY['examination', 'material', 'X-ray'])[n], 1 + (invoice_no + n) % 3, 12.5 * n + invoice_no % 10 FROM billing.invoice, generate_series(1, 3) n WHERE n <= 1 + invoice_no % 3;
INSERT INTO billing.payment SELECT row_number() OVER (ORDER BY invoice_no), invoice_no, issued + time '11:20' + interval '9 days', 10 + invoice_no % 30 FROM billing.invoice WHERE state IN ('paid', 'disputed');
