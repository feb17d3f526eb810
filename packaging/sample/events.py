"""Sample events for packaging/quickstart: what an assistant of a small shop was asked and wrote.

Printed as GeneratedQuery JSON, one a line, the same ones every time. Every level of confidence and every kind of advisory
that needs no judge comes up; about as many answers are right as their confidence promises. Those of a second, outdated
assistant look as good and are mostly wrong, which is found out as calibration drift. With --mongodb, a third one asks about reviews.
"""

import json
import sys
import uuid

REGIONS = ["North", "South", "East", "West"]
CATEGORIES = ["books", "games", "garden", "kitchen", "music"]
START_MS = 1_750_000_000_000


def questions():
    """(question, the right SQL, the same said otherwise, a wrong one)"""
    for region in REGIONS:
        yield (f"How many customers do we have in the {region}?",
               f"SELECT count(*) FROM customers c JOIN regions r ON r.region_id = c.region_id WHERE r.name = '{region}'",
               f"SELECT count(c.customer_id) AS customers FROM customers AS c, regions AS r WHERE c.region_id = r.region_id AND r.name = '{region}'",
               f"SELECT count(*) FROM customers c JOIN regions r ON r.region_id = c.region_id WHERE r.name <> '{region}'")
        yield (f"Which five customers in the {region} have spent the most?",
               f"SELECT c.name, sum(i.quantity * i.unit_price) AS spent FROM customers c JOIN regions r USING (region_id) JOIN orders o USING (customer_id) JOIN order_items i USING (order_id) WHERE r.name = '{region}' GROUP BY c.name ORDER BY spent DESC, c.name LIMIT 5",
               f"WITH totals AS (SELECT o.customer_id, sum(i.quantity * i.unit_price) AS total FROM orders o JOIN order_items i ON i.order_id = o.order_id GROUP BY o.customer_id) SELECT c.name, t.total FROM totals t JOIN customers c ON c.customer_id = t.customer_id JOIN regions r ON r.region_id = c.region_id WHERE r.name = '{region}' ORDER BY t.total DESC, c.name LIMIT 5",
               f"SELECT c.name, sum(i.unit_price) AS spent FROM customers c JOIN regions r USING (region_id) JOIN orders o USING (customer_id) JOIN order_items i USING (order_id) WHERE r.name = '{region}' GROUP BY c.name ORDER BY spent DESC, c.name LIMIT 5")
    for category in CATEGORIES:
        yield (f"What did we earn with {category}?",
               f"SELECT sum(i.quantity * i.unit_price) FROM order_items i JOIN products p ON p.product_id = i.product_id WHERE p.category = '{category}'",
               f"SELECT sum(quantity * unit_price) AS revenue FROM order_items WHERE product_id IN (SELECT product_id FROM products WHERE category = '{category}')",
               f"SELECT sum(p.price) FROM products p WHERE p.category = '{category}'")
        yield (f"List the {category} products that cost more than 50.",
               f"SELECT name, price FROM products WHERE category = '{category}' AND price > 50 ORDER BY price DESC, name",
               f"SELECT p.name, p.price FROM products AS p WHERE p.price > 50 AND p.category = '{category}' ORDER BY p.price DESC, p.name",
               f"SELECT name, price FROM products WHERE category = '{category}' AND price < 50 ORDER BY price DESC, name")
    for status in ["paid", "shipped", "cancelled"]:
        yield (f"How many orders are {status}?",
               f"SELECT count(*) FROM orders WHERE status = '{status}'",
               f"SELECT sum(CASE WHEN status = '{status}' THEN 1 ELSE 0 END) AS orders FROM orders",
               "SELECT count(*) FROM orders")


# What the retrieval and the reply looked like (`behind`: by how much the other chunks' scores are lower than the top one's),
# and how often the answer is right.
TIERS = [
    {"name": "high", "top": 0.99, "behind": (0, 0.19, 0.19, 0.2), "source": "GOVERNMENT", "reply": {"sql": "…", "explanation": "…", "tables": []}, "right": 0.95, "count": 110},
    {"name": "medium", "top": 0.84, "behind": (0, 0.06, 0.12, 0.18), "source": "REGULATORY", "reply": {"sql": "…", "explanation": "…"}, "right": 0.75, "count": 80},
    {"name": "low", "top": 0.62, "behind": (0, 0.06, 0.12, 0.18), "source": "MARKET_DATA", "reply": {"sql": "…"}, "right": 0.45, "count": 60},
    {"name": "very low", "top": 0.31, "behind": (0, 0.06, 0.12, 0.18), "source": "THIRD_PARTY", "reply": None, "right": 0.25, "count": 40},
]


def retrieval(tier, number):
    top = tier["top"] - (number % 5) * 0.01
    return {"chunks": [
        {"chunk_id": f"chunk-{number}-{rank}", "document_id": f"document-{rank // 2}", "source_type": tier["source"],
         "bm25_score": round(12.0 * top - rank, 3), "dense_score": round(top - 0.08 * rank, 3),
         "rrf_score": round(1 / (60 + rank + 1), 5), "rerank_score": round(max(top - tier["behind"][rank], 0), 3),
         "graph_boost": 0.1 if tier["name"] == "high" and rank == 0 else 0.0}
        for rank in range(4)]}


def response(tier):
    raw = "Here is what I think you want." if tier["reply"] is None else json.dumps(tier["reply"])
    return {"raw": raw, "required_fields": ["sql", "explanation"], "optional_fields": ["tables"]}


def event(number, question, sql, **more):
    return {"event_id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"sample/{number}")), "occurred_at": START_MS + number * 1000,
            "application": "shop-assistant", "model": "sample-model", "prompt_version": f"v{1 + number % 2}",
            "question": question, "sql": sql, "target": "shop", **more}


def everyday_events():
    asked = list(questions())
    number = 0
    for tier in TIERS:
        right = 0
        for place in range(tier["count"]):
            question, truth, variant, wrong = asked[number % len(asked)]
            is_right = right < round(tier["right"] * (place + 1))
            right += is_right
            sql = (variant if number % 3 else truth) if is_right else wrong
            yield event(number, question, sql, retrieval=retrieval(tier, number), response=response(tier),
                        ground_truth={"sql": truth, "should_pass": True}, generator_confidence=round(tier["top"] - 0.05, 2))
            number += 1


def legacy_events():
    """Sure of itself: a retrieval and replies of the highest tier, and one answer of ten is right."""
    asked = list(questions())
    high = TIERS[0]
    for place in range(30):
        question, truth, _, wrong = asked[place % len(asked)]
        yield {**event(2000 + place, question, truth if place % 10 == 0 else wrong, retrieval=retrieval(high, place),
                       response=response(high), ground_truth={"sql": truth, "should_pass": True}),
               "application": "legacy-assistant", "model": "sample-model-2019", "prompt_version": "v1"}


def special_events():
    high = TIERS[0]
    cases = [
        ("Remove the cancelled orders.", "DELETE FROM orders WHERE status = 'cancelled'", {}),
        ("Show all customers.", "SELECT * FROM customers; DROP TABLE customers", {}),
        ("Who can log in?", "SELECT rolname, rolpassword FROM pg_authid", {}),
        ("Is the database slow?", "SELECT pg_sleep(30)", {}),
        ("What is in the password file?", "SELECT pg_read_file('/etc/passwd')", {}),
        ("How many orders came in?", "SELECT slow_order_count()", {"ground_truth": {"sql": "SELECT count(*) FROM orders"}}),
        ("How many invoices are open?", "SELECT count(*) FROM orders", {"ground_truth": {"sql": "SELECT count(*) FROM invoices"}}),
        ("How many customers are there?", "```sql\nSELECT count(*) FROM customers\n```", {"ground_truth": {"sql": "SELECT count(*) FROM customers"}}),
        ("What do our products weigh?", "SELECT name, wieght FROM products", {}),
        ("Which emails are used twice?", "SELECT mail FROM customers GROUP BY mail HAVING count(*) > 1", {}),
        ("How many orders are there?", "SELEC count(*) FROM orders", {"ground_truth": {"sql": "SELECT count(*) FROM orders", "should_pass": False, "expected_failure": "SYNTAX"}}),
        ("What is one and one?", "SELECT 1 + 1", {"target": None}),
        ("Our sales in the warehouse?", "SELECT sum(amount) FROM sales", {"target": "warehouse"}),
    ]
    for place, (question, sql, more) in enumerate(cases):
        yield {**event(1000 + place, question, sql, retrieval=retrieval(high, place), response=response(high)), **more}


REVIEWS = [  # question, the right query, what was generated
    ("How many reviews has the lamp?", "db.reviews.countDocuments({product: 'lamp'})",
     "db.reviews.aggregate([{$match: {product: 'lamp'}}, {$count: 'reviews'}])"),
    ("What do people think of each product?", "db.reviews.aggregate([{$group: {_id: '$product', stars: {$avg: '$stars'}}}, {$sort: {_id: 1}}])",
     "db.reviews.aggregate([{$group: {_id: '$product', mean: {$avg: '$stars'}}}, {$sort: {_id: 1}}])"),
    ("Which reviews have one star?", "db.reviews.find({stars: 1}, {product: 1})", "db.reviews.find({stars: {$lte: 2}}, {product: 1})"),
    ("Which late ones came from Norway?", "db.reviews.find({tags: 'late', 'author.country': 'NO'}, {_id: 1})",
     "db.reviews.find({'author.country': 'NO', tags: {$in: ['late']}}, {_id: 1})"),
    ("What was written since June?", "db.reviews.find({written: {$gte: ISODate('2026-06-01')}}, {_id: 1})",
     "db.reviews.find({written: {$gte: '2026-06-01'}}, {_id: 1})"),
    ("Who wrote about the atlas?", "db.reviews.distinct('author.name', {product: 'atlas'})", "db.review.distinct('author.name', {product: 'atlas'})"),
    ("Keep the best ones.", "db.reviews.find({stars: 5})", "db.reviews.aggregate([{$match: {stars: 5}}, {$out: 'best'}])"),
]


def review_events():
    high = TIERS[0]
    for place, (question, truth, query) in enumerate(REVIEWS):
        yield {**event(3000 + place, question, query, retrieval=retrieval(high, place), response=response(high), ground_truth={"sql": truth}),
               "application": "review-assistant", "target": "reviews"}


def main():
    for sample in review_events() if "--mongodb" in sys.argv else ():
        print(json.dumps(sample))
    for sample in everyday_events():
        print(json.dumps(sample))
    for sample in legacy_events():
        print(json.dumps(sample))
    for sample in special_events():
        print(json.dumps(sample))
    print('{"event_id": "not a query", "sql": 42}')  # cannot be read: a dead letter


if __name__ == "__main__":
    main()
