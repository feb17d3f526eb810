-- A small shop for packaging/quickstart: the same rows every time.
CREATE TABLE regions (region_id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE customers (customer_id integer PRIMARY KEY, name text NOT NULL, email text NOT NULL,
	region_id integer NOT NULL REFERENCES regions, created_on date NOT NULL);
CREATE TABLE products (product_id integer PRIMARY KEY, name text NOT NULL, category text NOT NULL,
	price numeric(10, 2) NOT NULL);
CREATE TABLE orders (order_id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers,
	ordered_at timestamp NOT NULL, status text NOT NULL);
CREATE TABLE order_items (order_id integer NOT NULL REFERENCES orders, line integer NOT NULL,
	product_id integer NOT NULL REFERENCES products, quantity integer NOT NULL, unit_price numeric(10, 2) NOT NULL,
	PRIMARY KEY (order_id, line));

INSERT INTO regions VALUES (1, 'North'), (2, 'South'), (3, 'East'), (4, 'West');
INSERT INTO customers
SELECT n, 'Customer ' || n, 'customer' || n || '@example.com', 1 + n % 4, date '2023-01-01' + n * 2
FROM generate_series(1, 200) AS n;
INSERT INTO products
SELECT n, 'Product ' || n, (ARRAY['books', 'games', 'garden', 'kitchen', 'music'])[1 + n % 5], 5 + (n * 37) % 95 + 0.49
FROM generate_series(1, 60) AS n;
INSERT INTO orders
SELECT n, 1 + (n * 7919) % 200, timestamp '2024-01-01' + n * interval '5 hours 13 minutes',
	(ARRAY['paid', 'paid', 'paid', 'shipped', 'shipped', 'cancelled'])[1 + n % 6]
FROM generate_series(1, 2000) AS n;
INSERT INTO order_items
SELECT o.order_id, line, product_id, 1 + (o.order_id + line) % 4, price
FROM orders o
CROSS JOIN generate_series(1, 3) AS line
JOIN products ON product_id = 1 + (o.order_id * 31 + line * 17) % 60
WHERE line <= 1 + o.order_id % 3;

-- Takes its time, as a report over a large table would.
CREATE FUNCTION slow_order_count() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM pg_sleep(0.4);
	RETURN (SELECT count(*) FROM orders);
END $$;

ANALYZE;
CREATE ROLE assayd_ro LOGIN;
ALTER ROLE assayd_ro SET default_transaction_read_only = on;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO assayd_ro;
CREATE ROLE assayd_calibration LOGIN;
