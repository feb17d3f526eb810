"""Events as assistants for analysts send them: twelve retrieved chunks, the model's reply with its reasons, its own confidence; 2 kB in Avro. No two have
the same question or SQL, so that nothing is found in a cache by its text; `own_sql=False` repeats sixteen texts."""

import json
import random
import uuid

import rooms  # noqa: F401
import events
from samples import PARTITIONS

NUMBER = "00000000"  # replaced by the event's number, as wide
FIRST_NUMBER = 10_000_000
SINCE = "2025-01-01"
MOST_CHUNKS = 100
WORDS = 1_000_000  # that Sized takes its texts from

# What is asked and what was written, over a shop's tables.
ASKED = [
    ("How many customers live in each city?", "SELECT city, count(*) AS customers FROM customers WHERE account_id <> {n} GROUP BY city ORDER BY customers DESC"),
    ("What did we sell since January?", "SELECT sum(i.quantity * i.unit_price) AS revenue FROM order_items i JOIN orders o ON o.order_id = i.order_id WHERE o.placed_at >= DATE '{d}' AND o.order_id <> {n}"),
    ("Which five customers spent the most?", "SELECT c.name, sum(o.amount) AS spent FROM customers c JOIN orders o ON o.customer_id = c.customer_id WHERE o.status = 'paid' AND c.account_id <> {n} GROUP BY c.name ORDER BY spent DESC LIMIT 5"),
    ("How did revenue grow by month?", "WITH monthly AS (SELECT date_trunc('month', placed_at) AS month, sum(amount) AS revenue FROM orders WHERE order_id <> {n} GROUP BY 1) SELECT month, revenue, revenue - lag(revenue) OVER (ORDER BY month) AS growth FROM monthly ORDER BY month"),
    ("Which products were never sold?", "SELECT p.product_id, p.name FROM products p LEFT JOIN order_items i ON i.product_id = p.product_id WHERE i.product_id IS NULL AND p.product_id <> {n} ORDER BY p.name"),
    ("What share of orders is cancelled?", "SELECT round(100.0 * count(*) FILTER (WHERE status = 'cancelled') / count(*), 2) AS share FROM orders WHERE placed_at >= DATE '{d}' AND order_id <> {n}"),
    ("Show the orders of customer {n}.", "SELECT order_id, placed_at, amount, status FROM orders WHERE customer_id = {n} ORDER BY placed_at DESC LIMIT 50"),
    ("Which regions are above the average?", "SELECT r.name, avg(o.amount) AS mean FROM regions r JOIN customers c USING (region_id) JOIN orders o USING (customer_id) WHERE o.order_id <> {n} GROUP BY r.name HAVING avg(o.amount) > (SELECT avg(amount) FROM orders) ORDER BY mean DESC"),
    ("Who bought both books and games?", "SELECT c.customer_id, c.name FROM customers c WHERE c.account_id <> {n} AND EXISTS (SELECT 1 FROM orders o JOIN order_items i USING (order_id) JOIN products p USING (product_id) WHERE o.customer_id = c.customer_id AND p.category = 'books') AND EXISTS (SELECT 1 FROM orders o JOIN order_items i USING (order_id) JOIN products p USING (product_id) WHERE o.customer_id = c.customer_id AND p.category = 'games')"),
    ("What is the margin by category?", "SELECT p.category, sum(i.quantity * (i.unit_price - p.cost)) / nullif(sum(i.quantity * i.unit_price), 0) AS margin FROM order_items i JOIN products p ON p.product_id = i.product_id WHERE i.order_id <> {n} GROUP BY p.category ORDER BY margin DESC"),
    ("How many orders came per weekday?", "SELECT extract(dow FROM placed_at) AS weekday, count(*) FROM orders WHERE order_id <> {n} GROUP BY 1 ORDER BY 1"),
    ("Which customers have not ordered for half a year?", "SELECT c.name, max(o.placed_at) AS last_order FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id WHERE c.account_id <> {n} GROUP BY c.name HAVING coalesce(max(o.placed_at), DATE '{d}') < now() - interval '6 months'"),
    ("List everything about product {n}.", "SELECT * FROM products WHERE product_id = {n}"),
    ("What is the median order?", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS median FROM orders WHERE status <> 'cancelled' AND order_id <> {n}"),
    ("Rank the products of each category by revenue.", "SELECT category, name, revenue, rank() OVER (PARTITION BY category ORDER BY revenue DESC) AS place FROM (SELECT p.category, p.name, sum(i.quantity * i.unit_price) AS revenue FROM products p JOIN order_items i USING (product_id) WHERE p.product_id <> {n} GROUP BY p.category, p.name) totals ORDER BY category, place"),
    ("How many customers came in by channel?", "SELECT CASE WHEN referrer IS NULL THEN 'direct' WHEN referrer LIKE '%search%' THEN 'search' ELSE 'other' END AS channel, count(*) FROM customers WHERE account_id <> {n} GROUP BY 1"),
]
SOURCES = ["GOVERNMENT", "REGULATORY", "MARKET_DATA", "THIRD_PARTY"]
CHUNKS = 12
PIVOT = ("How much of each product was sold by region?", "SELECT r.name, {columns} FROM regions r JOIN customers c USING (region_id) JOIN orders o USING (customer_id) JOIN order_items i USING (order_id) WHERE o.order_id <> {n} GROUP BY r.name ORDER BY r.name")
PIVOT_COLUMNS = 700
REASONS = ("Counts what the question asks for. The tables are joined by the keys that the schema guide names; cancelled orders and internal accounts are left "
           "out as the glossary wants it, and amounts are in the shop's own currency. No time zone was asked for, so days are those of the database.")


def _chunks(chance, count):
    top = round(chance.uniform(0.45, 0.99), 4)
    return [{"chunk_id": f"chunk-{chance.getrandbits(40):010x}", "document_id": f"schema-guide-{rank // 2}", "source_type": chance.choice(SOURCES),
             "bm25_score": round(chance.uniform(4, 14), 4), "dense_score": round(chance.uniform(0.5, 0.95), 6), "rrf_score": round(1 / (61 + rank), 6),
             "rerank_score": round(max(top - 0.07 * rank, 0), 4), "graph_boost": 0.1 if rank == 0 else 0.0} for rank in range(count)]


def pivot_sql(number):
    """A column for each product, as reports are written: 50 kB."""
    columns = ", ".join(f"sum(CASE WHEN i.product_id = {each} THEN i.quantity ELSE 0 END) AS product_{each}" for each in range(PIVOT_COLUMNS))
    return PIVOT[1].format(columns=columns, n=number)


def datum(place, chance, number=NUMBER, chunks=CHUNKS, pivot=False):
    """One event; the number is text in its question and its SQL."""
    question, sql = PIVOT if pivot else ASKED[place % len(ASKED)]
    sql = pivot_sql(number) if pivot else sql.format(n=number, d=SINCE)
    reply = {"sql": sql, "explanation": REASONS, "tables": ["customers", "orders"]}
    return events.event(sql, question=f"{question.format(n=number)} (session {NUMBER})", application=f"assistant-{place % 3}", model="model-a",
                        generator_confidence=round(chance.uniform(0.5, 0.99), 2), retrieval={"chunks": _chunks(chance, chunks)},
                        response={"raw": json.dumps(reply), "required_fields": ["sql"], "optional_fields": ["explanation"]})


class Typical:
    """Makes many quickly: the bytes of some, with their ids and numbers replaced. `pivot`: of SQL that is so long that it is nearly all there is to do."""

    def __init__(self, encoder=events.encode, own_sql=True, variants=64, pivot=False):
        self._chance = random.Random(5)
        made = [datum(place, self._chance, NUMBER if own_sql else "12345678", pivot=pivot) for place in range(variants)]
        self._values = [(each["event_id"].encode(), encoder(each)) for each in made]
        self.size_bytes = sum(len(value) for _, value in self._values) // variants

    def message(self, number):
        placeholder, value = self._values[number % len(self._values)]
        name = str(uuid.UUID(int=self._chance.getrandbits(128), version=4)).encode()
        value = value.replace(placeholder, name).replace(NUMBER.encode(), b"%08d" % (FIRST_NUMBER + number))
        return {"value": value, "key": name, "partition": number % PARTITIONS}


class Sized:
    """Events of about so many bytes in the encoding: fewer chunks or more, and reasons of words that no other event has."""

    def __init__(self, size_bytes, encoder=events.encode):
        self._chance = random.Random(7)
        words = ["".join(self._chance.choices("etaoinshrdlu", k=self._chance.randrange(2, 11))) for _ in range(3000)]
        self._words = " ".join(self._chance.choices(words, k=WORDS)).encode()
        event = datum(0, self._chance, chunks=min(MOST_CHUNKS, CHUNKS * size_bytes // 4000))
        self._id = event["event_id"].encode()
        room = size_bytes - len(encoder(event))
        self._reasons = b"~" * max(room + len(REASONS), 1)  # of that length in every event
        event["response"]["raw"] = event["response"]["raw"].replace(REASONS, self._reasons.decode())
        self._value = encoder(event)
        self.size_bytes = len(self._value)

    def message(self, number):
        start = self._chance.randrange(len(self._words) - len(self._reasons))
        value = self._value.replace(self._reasons, self._words[start:start + len(self._reasons)])
        name = str(uuid.UUID(int=self._chance.getrandbits(128), version=4)).encode()
        value = value.replace(self._id, name).replace(NUMBER.encode(), b"%08d" % (FIRST_NUMBER + number))
        return {"value": value, "key": name, "partition": number % PARTITIONS}
