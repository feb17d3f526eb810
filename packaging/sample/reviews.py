"""Fills the MongoDB database `reviews` for packaging/quickstart --mongodb: reviews of a small shop's products."""

import datetime
import sys

import pymongo

PRODUCTS = ["lamp", "kettle", "spade", "atlas"]
TAGS = [["gift"], ["repair", "late"], [], ["gift", "late"]]


def main():
    client = pymongo.MongoClient(sys.argv[1], serverSelectionTimeoutMS=30000)
    client.reviews.reviews.insert_many([
        {"_id": number, "product": PRODUCTS[number % 4], "stars": 1 + number * 7 % 5, "written": datetime.datetime(2026, 1 + number % 12, 1),
         "author": {"name": f"Author {number % 17}", "country": ("NO", "IT", "PE")[number % 3]}, "tags": TAGS[number % 4]}
        for number in range(1, 121)])
    client.close()


if __name__ == "__main__":
    main()
