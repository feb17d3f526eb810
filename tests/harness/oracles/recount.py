"""Calibration counted again from the scored records, in exact decimals, by nothing but the definition of its table."""

import decimal
import math

WIDTHS_S = (60, 3600, 86400)

TABLE = """
SELECT width_s, extract(epoch FROM bucket_start)::bigint, application, model, prompt_version, label_source, level, bin,
       cases, weight, weight_squared, weight_correct, weight_confidence, weight_squared_error
FROM calibration_sums"""


def cells(records):
    """{key columns: sums} as the table has to hold them."""
    found = {}
    with decimal.localcontext() as context:
        context.prec = 200
        for record in records:
            label, confidence = record["label"], record["confidence"]
            if not label or confidence["overall"] is None:
                continue
            weight, value = (decimal.Decimal(repr(number)) for number in (label["weight"], confidence["overall"]))
            correct = decimal.Decimal(int(label["correct"]))
            terms = (1, weight, weight * weight, weight * correct, weight * value, weight * (value - correct) ** 2)
            seconds = round(record["scored_at"].timestamp() * 1000) // 1000
            for width in WIDTHS_S:
                key = (width, seconds // width * width, record["application"], record["model"] or "",
                       record["prompt_version"] or "", label["source"], confidence["level"],
                       min(math.floor(value * 10), 9))
                found[key] = tuple(map(sum, zip(found.get(key, (0,) * 6), terms)))
    return found


def stored(rows):
    """The rows of TABLE in the same shape."""
    return {row[:8]: row[8:] for row in rows}
