"""GeneratedQuery events and the databases that they are about."""

import datetime
import json
import time
import uuid

import wire

# Some shop: small, every answer known, one table function that is slow on purpose.
SHOP = """
CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, city text NOT NULL);
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers,
                     amount numeric(10,2) NOT NULL, placed_at timestamptz NOT NULL);
INSERT INTO customers SELECT n, 'Customer ' || n, (ARRAY['Rome', 'Oslo', 'Lima'])[n % 3 + 1]
    FROM generate_series(1, 30) n;
INSERT INTO orders SELECT n, n % 30 + 1, n * 1.25, timestamptz '2026-01-01 00:00Z' + n * interval '1 hour'
    FROM generate_series(1, 300) n;
CREATE FUNCTION slow_orders(seconds double precision) RETURNS SETOF orders LANGUAGE plpgsql STABLE AS
    'BEGIN PERFORM pg_sleep(seconds); RETURN QUERY SELECT * FROM orders; END';
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'assayd_ro') THEN CREATE ROLE assayd_ro LOGIN; END IF;
END $$;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO assayd_ro;
"""

CITY_COUNT = "SELECT city, count(*) AS customers FROM customers GROUP BY city"
TOTAL = "SELECT sum(amount) AS total FROM orders"

# A complete retrieval: every factor of the advisory confidence at its best.
GOOD_RETRIEVAL = {"chunks": [
    {"chunk_id": "c1", "document_id": "d1", "source_type": "GOVERNMENT", "bm25_score": 9.0, "dense_score": 0.9,
     "rrf_score": 0.03, "rerank_score": 1.0, "graph_boost": 0.1},
    {"chunk_id": "c2", "document_id": "d1", "source_type": "GOVERNMENT", "bm25_score": 8.0, "dense_score": 0.8,
     "rrf_score": 0.02, "rerank_score": 0.9}]}
GOOD_RESPONSE = {"raw": '{"sql": "…", "why": "…"}', "required_fields": ["sql"], "optional_fields": ["why"]}


def event(sql=CITY_COUNT, **fields):
    """One event with an event_id of its own."""
    return {"event_id": str(uuid.uuid4()),
            "occurred_at": datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0),
            "application": "shop-assistant", "model": "model-a", "prompt_version": "v1",
            "question": "How many customers live in each city?", "sql": sql, **fields}


def sure(sql=CITY_COUNT, **fields):
    """An event with everything that the advisory confidence asks for."""
    return event(sql, **{"retrieval": GOOD_RETRIEVAL, "response": GOOD_RESPONSE, **fields})


def encode(datum):
    return wire.GENERATED_QUERY.encode(datum)


def encode_json(datum):
    """The JSON form: plain values, times in milliseconds."""

    def plain(value):
        if isinstance(value, datetime.datetime):
            return int(value.timestamp() * 1000)
        raise TypeError(type(value))

    return json.dumps(datum, default=plain).encode()


def message(datum, encoder=encode, **fields):
    return {"value": encoder(datum), "key": datum["event_id"].encode(), **fields}


class Template:
    """Many events that differ in nothing but their event_id, made quickly."""

    def __init__(self, datum):
        self._placeholder = datum["event_id"].encode()
        self._bytes = {encode: encode(datum), encode_json: encode_json(datum)}

    def message(self, encoder=encode, **fields):
        """(event_id, message)"""
        name = str(uuid.uuid4())
        value = self._bytes[encoder].replace(self._placeholder, name.encode())
        return name, {"value": value, "key": name.encode(), **fields}


def now_ms():
    return int(time.time() * 1000)
