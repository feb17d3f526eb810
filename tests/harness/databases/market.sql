-- An online market: customers, offers with attributes in documents, orders, returns, opinions.
CREATE SCHEMA stock;
CREATE TYPE order_state AS ENUM ('placed', 'packed', 'shipped', 'delivered', 'cancelled');
CREATE TABLE customers (id serial PRIMARY KEY, email text NOT NULL UNIQUE, name varchar(100), country_code char(2), created_at timestamptz NOT NULL DEFAULT now(), preferences jsonb NOT NULL DEFAULT '{}', newsletter boolean);
CREATE TABLE categories (id int PRIMARY KEY, parent_id int REFERENCES categories, title text NOT NULL);
CREATE TABLE products (
	id int PRIMARY KEY, category_id int REFERENCES categories, title text NOT NULL, price numeric(10,2) NOT NULL, weight_g int,
	attributes jsonb, active boolean NOT NULL DEFAULT true, added_on date, search tsvector GENERATED ALWAYS AS (to_tsvector('english', title)) STORED
);
CREATE TABLE orders (
	id bigint PRIMARY KEY, customer_id int REFERENCES customers, state order_state NOT NULL, placed_at timestamptz NOT NULL, shipped_at timestamptz,
	discount numeric(4,3) DEFAULT 0, address jsonb, coupon text
);
CREATE TABLE order_items (order_id bigint REFERENCES orders, product_id int REFERENCES products, quantity int NOT NULL, unit_price numeric(10,2) NOT NULL, PRIMARY KEY (order_id, product_id));
CREATE TABLE returns (id int PRIMARY KEY, order_id bigint, product_id int, quantity int, reason text, returned_on date, FOREIGN KEY (order_id, product_id) REFERENCES order_items);
CREATE TABLE reviews (product_id int REFERENCES products, customer_id int REFERENCES customers, stars smallint CHECK (stars BETWEEN 1 AND 5), body text, written_at timestamp, helpful int DEFAULT 0, PRIMARY KEY (product_id, customer_id));
CREATE TABLE page_views (customer_id int, product_id int, viewed_at timestamptz, seconds real, device text, query_string json);
CREATE TABLE stock.warehouses (id int PRIMARY KEY, code text NOT NULL, country_code char(2), address text[]);
CREATE TABLE stock.levels (warehouse_id int REFERENCES stock.warehouses, product_id int, on_hand int NOT NULL, reserved int NOT NULL DEFAULT 0, counted_on date, PRIMARY KEY (warehouse_id, product_id));
CREATE VIEW order_totals AS
	SELECT o.id AS order_id, o.customer_id, o.placed_at, sum(i.quantity * i.unit_price) * (1 - coalesce(o.discount, 0)) AS total
	FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY o.id;

INSERT INTO customers (id, email, name, country_code, created_at, preferences, newsletter) SELECT i, 'c' || i || '@mail.example', CASE WHEN i % 9 > 0 THEN (ARRAY['Asa', 'Bela', 'Cora', 'Dino', 'Enno'])[1 + i % 5] || ' ' || i END, (ARRAY['DE', 'PL', 'NL', NULL])[1 + i % 4],
	timestamptz '2021-03-01 09:00+00' + i * interval '11 days 5 hours', CASE WHEN i % 3 = 0 THEN '{}' ELSE jsonb_build_object('lang', (ARRAY['de', 'pl', 'nl'])[1 + i % 3], 'sizes', jsonb_build_array(i % 5 + 36, 'M')) END, (i % 4 > 0 AND NULL) OR i % 2 = 0 FROM generate_series(1, 50) i;
INSERT INTO categories VALUES (1, NULL, 'all'), (2, 1, 'garden'), (3, 1, 'kitchen'), (4, 2, 'tools'), (5, 2, 'seeds'), (6, 3, 'knives'), (7, 4, 'saws');
INSERT INTO products (id, category_id, title, price, weight_g, attributes, active, added_on) SELECT i, CASE WHEN i % 10 > 0 THEN 2 + i % 6 END, (ARRAY['Folding saw', 'Tomato seeds', 'Bread knife', 'Watering can', 'Steel rake', 'Cast pan'])[1 + i % 6] || ' ' || i, 3.5 + i * 2.45, CASE WHEN i % 8 > 0 THEN i * 90 END,
	CASE WHEN i % 5 > 0 THEN jsonb_build_object('colour', (ARRAY['red', 'green', 'steel'])[1 + i % 3], 'size', jsonb_build_object('w', i, 'h', i * 2), 'eco', i % 2 = 0) END, i % 11 > 0, date '2020-11-01' + i * 20 FROM generate_series(1, 36) i;
INSERT INTO orders SELECT i, 1 + (i * 7) % 47, (ARRAY['placed', 'packed', 'shipped', 'delivered', 'delivered', 'cancelled'])[1 + i % 6]::order_state, p, CASE WHEN i % 6 IN (2, 3, 4) THEN p + (i % 9) * interval '9 hours' END, CASE WHEN i % 7 > 0 THEN (i % 4) * 0.05 END,
	CASE WHEN i % 10 > 0 THEN jsonb_build_object('city', (ARRAY['Lodz', 'Bonn', 'Delft'])[1 + i % 3], 'zip', (10000 + i * 13)::text, 'gift', i % 5 = 0) END, CASE WHEN i % 6 = 1 THEN 'SPRING' END
	FROM (SELECT i, timestamptz '2022-01-03 07:10+00' + i * interval '37 hours 20 minutes' AS p FROM generate_series(1, 260) i) x;
INSERT INTO order_items SELECT o, 1 + (o * 5 + n * 11) % 34, 1 + (o + n) % 4, CASE WHEN o % 12 > 0 THEN 3.5 + (1 + (o * 5 + n * 11) % 34) * 2.45 ELSE 5 END FROM generate_series(1, 260) o, generate_series(1, 3) n WHERE n <= 1 + o % 3;
INSERT INTO returns SELECT row_number() OVER (ORDER BY order_id, product_id), order_id, product_id, 1, (ARRAY['too small', 'broken', NULL])[1 + order_id % 3], date '2022-02-01' + order_id::int FROM order_items WHERE order_id % 9 = 0;
INSERT INTO reviews SELECT 1 + (i * 5) % 36, 1 + i % 45, 1 + (i * 7) % 5, (ARRAY['Sturdy and sharp', 'broke, and will break again', NULL, 'good value'])[1 + i % 4], timestamp '2022-03-01 20:00' + i * interval '2 days', i % 6 FROM generate_series(1, 100) i ON CONFLICT DO NOTHING;
INSERT INTO page_views SELECT CASE WHEN i % 4 > 0 THEN 1 + i % 48 END, 1 + (i * 3) % 36, timestamptz '2022-05-01 00:00+00' + i * interval '97 minutes', (i % 70) * 1.5, (ARRAY['phone', 'desktop', NULL])[1 + i % 3], json_build_object('utm', json_build_object('source', (ARRAY['mail', 'search'])[1 + i % 2]), 'page', i % 4) FROM generate_series(1, 400) i;
INSERT INTO stock.warehouses VALUES (1, 'W-DE', 'DE', '{Hall 3,Ring 8,Bonn}'), (2, 'W-PL', 'PL', '{Dock,Lodz}'), (3, 'W-XX', NULL, NULL);
INSERT INTO stock.levels SELECT w, p, (w * p * 7) % 50, (p + w) % 6, CASE WHEN p % 4 > 0 THEN date '2023-01-31' END FROM generate_series(1, 2) w, generate_series(1, 34) p;
