#!/usr/bin/env python3
"""Computes every number and conclusion of scored records again, from nothing but the records, and says which differ.

    recompute.py [FILE...]      scored records, one as JSON a line; prints what differs; exit status 1 where anything does

Written from the documentation of the fields (schemas/scored_query.avsc), the manual and the sources of the formulas that
they name, and shares no code with the daemon. What only the texts of the event can show (`input` is not embedded, or its
literals are hidden) is counted as not checked, by name, never as right. What others have said and what was measured
(verdicts of judges, rows, times, tokens) are inputs; of these only the range is checked.
"""

import collections
import hashlib
import json
import math
import statistics
import sys

TOLERANCE = 1e-9
LEVELS = ["VERY_LOW_CONFIDENCE", "LOW_CONFIDENCE", "MEDIUM_CONFIDENCE", "HIGH_CONFIDENCE"]
RETRIEVAL_RULES = {"weights": {"top": 0.30, "gap": 0.20, "consensus": 0.15, "agreement": 0.15, "low_spread": 0.10, "graph": 0.05,
                               "low_diversity": 0.05},
                   "rrf_scale": 1, "consensus_above": 0.75, "gap_scale": 0.3, "spread_scale": 0.2,
                   "thresholds": {"high": 0.85, "medium": 0.70, "low": 0.50}}
CLAUSES = {"select": 0.40, "where": 0.20, "from": 0.15, "group": 0.10, "order": 0.10, "join": 0.05}
SOURCES = {"GOVERNMENT": 0.3, "REGULATORY": 0.25, "MARKET_DATA": 0.2, "THIRD_PARTY": 0.1, "UNKNOWN": 0.0}
INTERPRETATIONS = {"HIGH_CONFIDENCE": "STRONG", "MEDIUM_CONFIDENCE": "MODERATE", "LOW_CONFIDENCE": "WEAK",
                   "VERY_LOW_CONFIDENCE": "POOR"}
# errors for which no database would refuse the query: of a fence it is what stands in it that would be run
NOT_REFUSED = {"markdown_fence", "missing_required"}
ERROR_CODES = """syntax_error markdown_fence unknown_table unknown_column ambiguous_column unknown_function unknown_type duplicate_alias
invalid_join ungrouped_column invalid_type invalid_literal invalid_aggregate invalid_window invalid_set_function invalid_subquery
invalid_set_operation invalid_recursion invalid_alias_list invalid_order invalid_use missing_required""".split()
WARNING_CODES = ["unknown_field", "type_mismatch", "risky_pattern", "missing_limit", "catalog_unavailable"]
VIOLATIONS = """multiple_statements not_a_read data_modifying_cte select_into row_locking dangerous_function volatile_function system_catalog
file_access network_access time_based resource_bomb injection_pattern too_deep too_long unanalysable""".split()
STATUSES = ["COMPARED", "UNSAFE", "INVALID", "EXECUTION_FAILED", "TIMEOUT", "GROUND_TRUTH_FAILED", "UNAVAILABLE"]
FAILURES = """input_out_of_range sql_unparsable catalog_unavailable truth_limit candidates_limit candidates_left_out candidates_unproven
answer_failed answer_too_large truth_shape target_unknown dialect_mismatch dialect_unsupported safety_unknown symbol_unknown target_unavailable
target_lost target_busy target_denied target_timeout target_worker_died target_protocol ground_truth_failed judge_timeout judge_unavailable
judge_refused judge_rate_limited judge_reply_unparsable judge_saturated judge_tokens_spent shutting_down""".split()
METRICS = """decode sql confidence result_validation relevance correctness finalise technical semantic table_accuracy agreement generator
target""".split()
Z = 1.959963984540054
DECISIONS = [(30, "REJECT"), (50, "WARN"), (80, "ACCEPT"), (math.inf, "ACCEPT_HIGH")]
# What each finding allows, whether it shows the answer to be wrong; of one action the graver ones first.
DISPOSITION = {code: (action, wrong) for action, wrong, codes in (
    ("WITHHOLD", True, "unsafe rejection_expected invalid_sql execution_failed execution_timed_out result_wrong judge_reject judge_incorrect"),
    ("WITHHOLD", False, "unknown_table sql_refused very_low_confidence no_confidence"),
    ("VERIFY", False, "target_unknown target_unavailable safety_unknown ground_truth_failed result_differs result_partly_right "
                      "result_inconclusive judge_warn judge_low_relevance judge_disagrees judge_partly_correct sql_error "
                      "retrieval_weak low_confidence not_passed"),
    ("USE_WITH_CAUTION", False, "medium_confidence confidence_below_advisory retrieval_moderate"),
    ("USE", False, "high_confidence")) for code in codes.split()}


def near(one, other):
    """Whether two values are the same, numbers up to the tolerance."""
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in (one, other)]
    if all(numbers):
        return abs(one - other) <= TOLERANCE * max(1, abs(one), abs(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(near(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(near, one, other))
    return type(one) is type(other) and one == other


def clamp(value):
    return min(max(value, 0.0), 1.0)


def settle(value):
    """Sums that are exactly a bound in decimal arithmetic are that bound."""
    return round(value, 12)


def level_of(value, bounds):
    return LEVELS[sum(value >= bounds[name] for name in ("low", "medium", "high"))]


def first(*values):
    return next((value for value in values if value is not None), None)


def pearson(pairs):
    if len(pairs) < 2:
        return None
    xs, ys = zip(*pairs)
    if len(set(xs)) == 1 or len(set(ys)) == 1:
        return None
    return max(-1.0, min(1.0, statistics.correlation(xs, ys)))


def ranks(values):
    """Ties share their average rank."""
    order = sorted(values)
    return [(order.index(value) + len(order) - 1 - order[::-1].index(value)) / 2 for value in values]


def spearman(pairs):
    return pearson(list(zip(*map(ranks, zip(*pairs))))) if pairs else None


def jaccard(one, other):
    return len(one & other) / len(one | other) if one | other else 1.0


def result_digest(rows):
    """Of rows of texts (None: NULL), as the manual has it."""
    total = 0
    for row in rows:
        texts = (b"N" if cell is None else b"%d:%s" % (len(cell.encode()), cell.encode()) for cell in row)
        total += int.from_bytes(hashlib.sha256(b"".join(texts)).digest()[:16], "big")
    return f"{total % 2 ** 128:032x}"


def table_set(names):
    """Names in any case; those of the search path come without their schema."""
    lower = (name.translate({code: code + 32 for code in range(ord("A"), ord("Z") + 1)}) for name in names)
    return {name.removeprefix("public.") if name != "public." else name for name in lower}


def strict_json(text):
    """As RFC 8259 has it, without lone surrogates, and within the bounds that the manual names; else ValueError."""
    def refuse(what):
        raise ValueError(what)

    def whole(digits):
        return int(digits) if -2**63 <= int(digits) < 2**63 else refuse(digits)

    def number(digits):
        return float(digits) if math.isfinite(float(digits)) else refuse(digits)

    def members(pairs):
        return dict(pairs) if not any("\0" in name for name, _ in pairs) else refuse("NUL")

    value = json.loads(text, parse_constant=refuse, parse_int=whole, parse_float=number, object_pairs_hook=members)
    json.dumps(value, ensure_ascii=False).encode()  # which no lone surrogate has
    return value


class Record:
    """One record, and what has been found of it."""

    def __init__(self, record, models=None):
        self.record = record
        self.models = models or {}  # documents by version
        self.rules = record["rules"]
        self.differ = []      # (name, what the record says, what follows)
        self.unchecked = set()  # names
        self.checked = 0
        self.input = record["input"]
        self.shown = self.input is not None and not self.rules["redacted"]  # the texts are those that were scored
        confidence, structure = record["confidence"], record["structure"]
        self.findings = confidence["technical"] or structure["findings"]
        self.errors = [item for item in self.findings["diagnostics"] if item["severity"] == "ERROR"]
        self.warnings = [item for item in self.findings["diagnostics"] if item["severity"] == "WARNING"]
        self.codes = {error["code"] for error in record["errors"]}
        self.metrics = {error["metric"] for error in record["errors"]}
        self.analysed = "dialect_unsupported" not in self.codes
        self.targeted = record["target"] is not None
        self.catalog = record["provenance"]["catalog_digest"] is not None
        self.verdict = record["safety"]["verdict"]

    def is_(self, name, follows):
        """The field of that path has this value."""
        value = self.record
        for part in name.split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
        self.holds(name, value, follows)

    def holds(self, name, value, follows):
        self.checked += 1
        if not near(value, follows):
            self.differ.append((name, value, follows))

    def within(self, name, value, *allowed):
        """An input of others: any of these values, or a span."""
        self.checked += 1
        if not any(lower <= value <= upper for lower, upper in allowed):
            self.differ.append((name, value, f"one of {allowed}"))

    def skip(self, *names):
        self.unchecked.update(names)

    # ---- identity, codes ----

    def identity(self):
        record = self.record
        if self.input:
            self.is_("input_shortened", False)
            for name in ("event_id", "occurred_at", "application", "model", "prompt_version", "target"):
                self.is_(name, self.input[name])
        for item in self.findings["diagnostics"]:
            codes = ERROR_CODES if item["severity"] == "ERROR" else WARNING_CODES
            self.holds("diagnostics.code", item["code"] in codes or item["code"], True)
        for item in record["safety"]["violations"]:
            self.holds("safety.violations.code", item["code"] in VIOLATIONS or item["code"], True)
        for item in record["errors"]:
            self.holds("errors.code", item["code"] in FAILURES or item["code"], True)
            self.holds("errors.metric", item["metric"] in METRICS or item["metric"], True)
        for item in record["stages"]:
            self.holds("stages.name", item["name"] in METRICS[:7] and item["status"] in ("ok", "failed", "skipped"), True)

    def features(self):
        """Those that follow from the record."""
        record, confidence = self.record, self.record["confidence"]
        said = confidence["features"]
        if not said:
            return
        codes = [item["code"] for item in self.findings["diagnostics"]]
        agreement, retrieval, judge = confidence["agreement"], confidence["retrieval"], self.rules["judge"]
        follow = {name: float(name in codes) for name in (
            "syntax_error", "unknown_table", "unknown_column", "ambiguous_column", "unknown_function", "markdown_fence", "type_mismatch",
            "missing_limit")}
        follow["technical"] = confidence["technical"]["score"] / 100 if confidence["technical"] else 0
        follow["errors"] = min(3, sum(item["code"] != "markdown_fence" for item in self.errors))
        follow["warnings"] = min(3, sum(item["code"] != "missing_limit" for item in self.warnings))
        follow["cartesian_product"] = float(any(item["sub_code"] == "cartesian_product" for item in self.findings["diagnostics"]))
        follow["not_safe"] = float(self.verdict != "SAFE")
        follow["generator_given"] = float(confidence["generator"] is not None)
        follow["generator_confidence"] = confidence["generator"] or 0
        follow["retrieval_given"] = float(retrieval is not None)
        follow["retrieval_confidence"] = retrieval["confidence"] if retrieval else 0
        follow["retrieval_top"] = retrieval["top_score"] if retrieval else 0
        form = agreement["canonical"] if agreement else None
        results = agreement["results"] if agreement else None
        follow["candidates_given"], follow["agreement_form"] = float(form is not None), form or 0
        follow["agreement_executed"] = float(results is not None)
        share = first(results, 0 if "answer_failed" in self.agreement_codes() else form, 0)
        follow["agreement_results"] = share
        texts = agreement["texts"] - (agreement["left_out"] if results is not None else 0) if agreement else 0
        follow["agreement_alone"] = float(bool(agreement) and share <= 1 / texts)
        apart = record["judge"]["relevance_disagreement"]
        panel = apart is not None and judge is not None and judge["sample_rate"] == 1
        follow["panel_given"], follow["panel_disagreement"] = float(panel), apart / 100 if panel else 0
        for name, value in follow.items():
            self.holds(f"confidence.features.{name}", float(said.get(name, 0)), float(value))
        self.within("confidence.features.agreement_lead", said.get("agreement_lead", 0), (share - 1, share))

    def probability(self):
        """By the document of the model that the record names."""
        said, confidence = self.record["confidence"]["probability"], self.record["confidence"]
        if self.verdict == "UNSAFE" or not self.analysed:
            self.is_("confidence.probability", None)
        if said is None:
            return
        if said["model"] not in self.models:
            self.skip("confidence.probability")
            return
        document = self.models[said["model"]]
        score, left_out, contributions = model_score(document, confidence)
        depth, line, spread = model_line(document, self.record)
        c = score - document["centre"]
        odds = line["intercept"] + line["slope"] * c
        jackknife = 0
        if len(left_out) > 1:
            mean = sum(left_out) / len(left_out)
            jackknife = sum((one - mean) ** 2 for one in left_out) * (len(left_out) - 1) / len(left_out)
        variance = (line["variance_intercept"] + 2 * c * line["covariance"] + c * c * (line["variance_slope"] + spread[1]) + spread[0]
                    + document["spans_variance"] + line["slope"] ** 2 * jackknife)
        shift, nearby = model_near(document, odds)
        half = Z * math.sqrt(max(0, variance) + nearby)
        for name, value in (("value", odds), ("low", odds + min(shift, 0) - half), ("high", odds + max(shift, 0) + half)):
            self.is_(f"confidence.probability.{name}", 1 / (1 + math.exp(-value)))
        self.is_("confidence.probability.labels", document["labels"])
        self.is_("confidence.probability.segment_labels", line["labels"] if depth == "segment" else 0)
        addends = sorted(((name, value, line["slope"] * addend) for name, value, addend in contributions if addend),
                         key=lambda item: (-abs(item[2]), item[0]))
        self.is_("confidence.probability.reasons", [{"feature": name, "value": value, "addend": addend} for name, value, addend in
                                                    addends[:len(said["reasons"])]])

    # ---- confidence ----

    def technical(self):
        technical, rules = self.record["confidence"]["technical"], self.rules
        own = None
        if self.analysed and (self.catalog or not self.targeted):
            unknown = any(error["code"] == "unknown_table" for error in self.errors)
            own = max(0, 100 - 20 * len(self.errors) - 5 * len(self.warnings)) if self.findings["valid"] and not unknown else 0
        upstream = technical["upstream"] if technical else None
        if self.input:
            allowed = self.upstream()
            if len(allowed) > 1:
                self.skip("confidence.technical.upstream")
            if technical:
                self.holds("confidence.technical.upstream", any(near(upstream, value) for value in allowed), True)
            if not technical or len(allowed) == 1:
                upstream = allowed[0]
        elif technical:
            self.skip("confidence.technical.upstream")
        else:
            self.skip("confidence.technical")
            self.holds("confidence.technical", own, None)
            return
        score = {"OWN": own, "EVENT": first(upstream, own),
                 "WORST": min((one for one in (own, upstream) if one is not None), default=None)}[rules["diagnostic_source"]]
        self.holds("confidence.technical.score", technical and technical["score"], score)

    def upstream(self):
        """The values that it may have."""
        diagnostic = self.input["diagnostic"]
        if diagnostic is None:
            return [None]
        plain = max(0, 100 - 20 * len(diagnostic["errors"]) - 5 * len(diagnostic["warnings"]))
        texts = [text.lower() for text in diagnostic["errors"]]
        unknown = any("table" in text and ("not found" in text or "does not exist" in text) for text in texts)
        if not diagnostic["valid"]:
            return [0]
        if texts and not self.shown:  # one of them may be about a table
            return [plain, 0]
        return [0 if unknown else plain]

    def retrieval_rules(self):
        return self.rules["retrieval"] or RETRIEVAL_RULES

    def chunk_score(self, chunk):
        rrf = chunk["rrf_score"]
        return first(chunk["rerank_score"], chunk["boosted_score"], None if rrf is None else rrf * self.retrieval_rules()["rrf_scale"])

    def retrieval(self):
        retrieval, rules = self.record["confidence"]["retrieval"], self.retrieval_rules()
        if retrieval is None:
            if self.input:
                self.holds("input.retrieval", self.input["retrieval"], None)
            return
        if self.input is None:
            self.skip(*(f"confidence.retrieval.{name}" for name in retrieval if name not in ("interpretation_text", "action_text")))
        else:
            self.chunks(self.input["retrieval"]["chunks"], rules)
        scored = retrieval["interpretation"] != "NO_RESULTS"
        level = level_of(retrieval["confidence"], rules["thresholds"]) if scored else LEVELS[0]
        self.is_("confidence.retrieval.level", level)
        self.is_("confidence.retrieval.flagged", level != LEVELS[3])
        if scored:
            self.is_("confidence.retrieval.interpretation", INTERPRETATIONS[level])

    def chunks(self, chunks, rules):
        retrieval = self.record["confidence"]["retrieval"]
        scores = sorted(filter(lambda score: score is not None, map(self.chunk_score, chunks)), reverse=True)
        both = [(chunk["bm25_score"], chunk["dense_score"]) for chunk in chunks]
        ranked = [(chunk["rerank_score"], chunk["rrf_score"]) for chunk in chunks]
        r = pearson([pair for pair in both if None not in pair])
        rho = spearman([pair for pair in ranked if None not in pair])
        documents = [chunk["document_id"] for chunk in chunks]
        unique = len(set(documents) - {None}) + documents.count(None)
        raw = {"top_score": scores[0] if scores else 0, "score_gap": scores[0] - scores[1] if len(scores) > 1 else 0,
               "score_spread": statistics.pstdev(scores) if scores else 0,
               "consensus_count": sum(score > rules["consensus_above"] for score in scores), "bm25_dense_agreement": r,
               "reranker_impact": None if rho is None else 1 - rho,
               "graph_support": any((chunk["graph_boost"] or 0) > 0 for chunk in chunks),
               "document_diversity": unique / len(chunks) if chunks else 0}
        for name, value in raw.items():
            self.is_(f"confidence.retrieval.{name}", value)
        normal = {"top": clamp(raw["top_score"]), "gap": clamp(raw["score_gap"] / rules["gap_scale"]),
                  "consensus": raw["consensus_count"] / max(len(scores), 1), "agreement": 0.5 if r is None else (r + 1) / 2,
                  "low_spread": max(0, 1 - raw["score_spread"] / rules["spread_scale"]),
                  "graph": 1.0 if raw["graph_support"] else 0.5, "low_diversity": 1 - raw["document_diversity"]}
        total = settle(clamp(sum(rules["weights"][name] * value for name, value in normal.items())))
        self.is_("confidence.retrieval.confidence", total if scores else 0)
        self.holds("confidence.retrieval.interpretation", retrieval["interpretation"] == "NO_RESULTS", not scores)
        # what is not finite is null in JSON
        nulls = sum(chunk[name] is None for chunk in chunks for name in chunk if name.endswith(("_score", "_boost")))
        self.within("confidence.retrieval.non_finite_scores", retrieval["non_finite_scores"], (0, nulls))

    def advisory(self):
        advisory = self.record["confidence"]["advisory"]
        if self.input:
            self.holds("confidence.advisory", advisory is not None,
                       self.input["retrieval"] is not None and self.input["response"] is not None)
        if advisory is None:
            return
        if self.input is None:
            self.skip("confidence.advisory.retrieval_quality", "confidence.advisory.source_quality",
                      "confidence.advisory.response_quality")
        else:
            self.advisory_points()
        total = settle(sum(advisory[name] for name in ("retrieval_quality", "source_quality", "response_quality")))
        self.is_("confidence.advisory.confidence", total)
        self.is_("confidence.advisory.level", level_of(total, self.rules["thresholds"]))

    def advisory_points(self):
        chunks = [(self.chunk_score(chunk), SOURCES[chunk["source_type"]]) for chunk in self.input["retrieval"]["chunks"]]
        chunks = [chunk for chunk in chunks if chunk[0] is not None]
        t = max((score for score, _ in chunks), default=0)
        points = (0 if t <= 0 else 0.3 + 0.1 * clamp((t - 0.75) / 0.25) if t >= 0.75 else
                  0.2 + 0.1 * (t - 0.5) / 0.25 if t >= 0.5 else 0.1 + 0.1 * t / 0.5)
        self.is_("confidence.advisory.retrieval_quality", settle(points))
        weights = [max(score, 0) if t > 0 else 1 for score, _ in chunks]
        mean = sum(weight * source for weight, (_, source) in zip(weights, chunks)) / sum(weights) if chunks else 0
        self.is_("confidence.advisory.source_quality", settle(mean))
        self.is_("confidence.advisory.response_quality", self.response_points(self.input["response"]))

    @staticmethod
    def response_points(response):
        try:
            reply = strict_json(response["raw"])
        except (ValueError, RecursionError):
            return 0.0
        if not isinstance(reply, dict):
            return 0.0
        if any(reply.get(name) is None for name in response["required_fields"]):
            return 0.1
        return 0.2 if any(reply.get(name) is None for name in response["optional_fields"]) else 0.3

    def generator(self):
        if self.input is None:
            self.skip("confidence.generator")
            return
        estimate = self.input["generator_confidence"]
        self.is_("confidence.generator", estimate if estimate is not None and 0 <= estimate <= 1 else None)

    def agreement(self):
        agreement = self.record["confidence"]["agreement"]
        if self.input:
            count = len(self.input["candidates"])
            self.holds("confidence.agreement", agreement is not None, count >= 2 and self.analysed)
            if agreement:
                self.is_("confidence.agreement.texts", min(count, 16) + 1)
        if agreement is None:
            return
        run = agreement["results"] is not None or self.agreement_codes()
        self.within("confidence.agreement.left_out", agreement["left_out"], (0, agreement["texts"] - 1 if run else 0))
        if agreement["left_out"] * 2 > agreement["texts"]:
            self.holds("confidence.agreement.results", agreement["results"], None)
            self.holds("confidence.agreement.results", bool(self.agreement_codes()), True)
        for name, texts in (("canonical", agreement["texts"]), ("results", agreement["texts"] - agreement["left_out"])):
            if agreement[name] is not None:
                agree = agreement[name] * texts  # a number of texts
                self.holds(f"confidence.agreement.{name}", agree, float(round(agree)))
                self.within(f"confidence.agreement.{name}", agreement[name], (1 / texts, 1))

    def agreement_codes(self):
        """Of the errors about what candidates return."""
        return {error["code"] for error in self.record["errors"] if error["metric"] == "agreement"} - {"candidates_limit"}

    def agreement_factor(self):
        agreement = self.record["confidence"]["agreement"]
        if agreement is None or agreement["results"] is not None:
            return agreement and agreement["results"]
        codes = self.agreement_codes() - {"candidates_unproven"}
        return (0 if codes == {"answer_failed"} else None) if codes else agreement["canonical"]

    def factors(self, agreement):
        confidence = self.record["confidence"]
        technical, advisory, retrieval = (confidence[name] for name in ("technical", "advisory", "retrieval"))
        return {"TECHNICAL": technical and technical["score"] / 100, "ADVISORY": advisory and advisory["confidence"],
                "RETRIEVAL": retrieval and retrieval["confidence"], "GENERATOR": confidence["generator"],
                "AGREEMENT": agreement,
                "RETRIEVAL_WITHOUT_ADVISORY": None if advisory or not retrieval else retrieval["confidence"]}

    def smallest(self, agreement):
        """(overall, limiting factor, level by it)"""
        if self.verdict == "UNSAFE":
            return 0, "safety", LEVELS[0]
        values = self.factors(agreement)
        there = [(clamp(values[name]), name) for name in self.rules["factors"] if values[name] is not None]
        if not there:
            return None, None, None
        overall, name = min(there, key=lambda pair: pair[0])
        level = level_of(overall, self.rules["thresholds"])
        if all(name == "TECHNICAL" for _, name in there):
            level = min(level, self.rules["technical_alone"], key=LEVELS.index)
        return overall, "retrieval" if name.startswith("RETRIEVAL") else name.lower(), level

    def overall(self):
        confidence = self.record["confidence"]
        probability = confidence["probability"]
        overall, limiting, level = self.smallest(self.agreement_factor())
        self.is_("confidence.overall", overall)
        self.is_("confidence.limiting_factor", limiting)
        if probability:
            self.within("confidence.probability.value", probability["value"], (0, 1))
            self.within("confidence.probability.low", probability["low"], (0, probability["value"] + TOLERANCE))
            self.within("confidence.probability.high", probability["high"], (probability["value"] - TOLERANCE, 1))
        if confidence["level_by"] == "probability":
            level = level_of(probability["value"], self.rules["thresholds"])
            if level == LEVELS[3] and not probability["low"] >= 0.8:
                level = LEVELS[2]
            self.is_("confidence.level", level)
            return
        self.is_("confidence.level", level)
        self.is_("confidence.level_by", None if level is None else "overall")

    # ---- safety, structure ----

    def safety(self):
        safety = self.record["safety"]
        self.holds("safety.doubt", safety["doubt"] is not None, self.verdict == "UNKNOWN")
        self.holds("safety.violations", self.verdict == "UNSAFE" or not safety["violations"], True)

    def structure(self):
        structure, truth = self.record["structure"], self.record["structure"]["truth"]
        self.is_("structure.structural", 0 if not self.findings["valid"] else 0.5 if self.errors else 1)
        self.holds("structure.findings", structure["findings"] is None, self.record["confidence"]["technical"] is not None)
        self.holds("structure.truth.clauses", bool(truth and truth["clauses"]), bool(truth and truth["same_form"] is False))
        if structure["semantic"] is None:
            self.holds("structure.truth.same_form", truth and truth["same_form"], None)
        elif truth["clauses"]:
            total = sum(weight * truth["clauses"][name] for name, weight in CLAUSES.items())
            self.is_("structure.semantic", min(settle(total), 0.99))
        else:
            self.is_("structure.semantic", 1 if truth["same_form"] else 0)
        if self.shown and self.input["ground_truth"] and self.input["ground_truth"]["tables"] is not None:
            self.is_("structure.truth.tables", self.input["ground_truth"]["tables"])
        named = self.input and self.input["ground_truth"] and self.input["ground_truth"]["tables"] is not None
        if self.input:
            known = bool(named or self.truth_sql())
            self.holds("structure.truth", truth is not None, known)
        if truth is None:
            self.is_("structure.table_accuracy", None)
        elif "table_accuracy" in self.metrics:
            self.is_("structure.table_accuracy", 0)
        else:
            self.is_("structure.table_accuracy", jaccard(table_set(structure["tables"]), table_set(truth["tables"])))

    def truth_sql(self):
        truth = self.input["ground_truth"]
        return bool(truth and (truth["sql"] is not None or truth["alternatives"]))

    def has_truth(self):
        if self.input is None:  # without a target the weights of what could be computed are the same
            return self.record["result_validation"] is not None or not self.targeted
        truth = self.input["ground_truth"]
        return bool(truth and (self.truth_sql() or truth["results"]))

    # ---- result ----

    def result(self):
        validation = self.record["result_validation"]
        if self.input:
            self.holds("result_validation", validation is not None, self.has_truth() and self.targeted)
        if validation is None:
            return
        match = self.similarity()
        if match:
            self.is_("result_validation.weight", match[1])
            self.is_("result_validation.match_confidence", match[0])
        else:
            self.skip("result_validation.weight")
            self.holds("result_validation.weight", (validation["match_confidence"], validation["weight"]) in
                       (("HIGH_CONFIDENCE", 1), ("MEDIUM_CONFIDENCE", 0.8), ("LOW_CONFIDENCE", 0.5)), True)
        self.holds("result_validation.status", validation["status"] in STATUSES, True)
        self.holds("result_validation.status", validation["status"] == "UNSAFE", self.verdict == "UNSAFE")
        if validation["status"] != "COMPARED":
            self.is_("result_validation.schema_match", False)
            self.is_("result_validation.row_count_match", False)
            self.is_("result_validation.score", 0)
            self.is_("result_validation.content_match_rate", 0)
            self.is_("result_validation.rows_matched", None)
            self.is_("result_validation.conclusive", validation["status"] not in ("GROUND_TRUTH_FAILED", "UNAVAILABLE"))
            return
        self.compared(validation)

    def similarity(self):
        if not self.input or not self.input["ground_truth"]:
            return None
        value = self.input["ground_truth"]["similarity"]
        value = 1 if value is None else value if 0 <= value <= 1 else 0
        return (("HIGH_CONFIDENCE", 1) if value >= 0.9 else ("MEDIUM_CONFIDENCE", 0.8) if value >= 0.75 else
                ("LOW_CONFIDENCE", 0.5))

    def compared(self, validation):
        ours, theirs = validation["generated"], validation["truth"]
        rate, estimated = validation["content_match_rate"], validation["match_rate_low"] is not None
        same = ours["rows"] == theirs["rows"] and ours["more"] == theirs["more"]
        self.is_("result_validation.row_count_match", same)
        if not validation["schema_match"]:
            self.is_("result_validation.score", 0.1)
            self.is_("result_validation.content_match_rate", 0)
            self.is_("result_validation.rows_matched", None)
            return
        matched = validation["rows_matched"]
        if estimated:
            self.within("result_validation.content_match_rate", rate, (validation["match_rate_low"], validation["match_rate_high"]))
            self.is_("result_validation.rows_matched", None)
        elif matched is None:  # both were counted in full, and compared as far as they were fetched
            self.holds("result_validation.truncated", validation["truncated"], True)
            self.skip("result_validation.content_match_rate")
        else:
            larger = max(ours["rows"], theirs["rows"])
            self.is_("result_validation.content_match_rate", matched / larger if larger else 1)
        if ours["more"] != theirs["more"]:
            cut, whole = (ours, theirs) if ours["more"] else (theirs, ours)
            differ = cut["rows"] >= whole["rows"]
        else:
            differ = not ours["more"] and ours["rows"] != theirs["rows"]
        ladder = 1 if rate >= 0.99 else 0.95 if rate >= 0.95 else 0.8 if rate >= 0.8 else rate
        self.is_("result_validation.score", 0.3 if differ else ladder)

    # ---- judge ----

    def judge(self):
        judge, rules = self.record["judge"], self.rules["judge"]
        for question in ("relevance", "correctness"):
            self.question(judge, question)
        relevance = self.relevance()
        decision = "UNJUDGED" if relevance is None else next(name for below, name in DECISIONS if relevance < below)
        self.is_("judge.decision", decision)
        self.holds("judge.unjudged_reason", judge["unjudged_reason"] is not None, relevance is None)
        for name, item in [("judge", judge)] + [(f"judge.panel.{number}", item) for number, item in enumerate(judge["panel"])]:
            if item["relevance"]:
                self.holds(f"{name}.unjudged_reason", item["unjudged_reason"], unjudged_reason(item["relevance"]["status"]))
        digests = [digest for item in judge["panel"] for digest in item["prompt_digest"].split(" ")]
        if judge["panel"]:
            self.is_("provenance.prompt_digest", " ".join(dict.fromkeys(digests)))
        self.sampling(judge, rules)
        if judge["relevance"] is None:
            self.is_("judge.prompt_tokens", 0)
            self.is_("judge.completion_tokens", 0)
        if judge["panel"]:
            for name in ("prompt_tokens", "completion_tokens"):
                self.is_(f"judge.{name}", sum(panelist[name] for panelist in judge["panel"]))
        self.cost(judge, rules)

    def question(self, judge, question):
        score = judge[question]
        voices = [panelist[question] for panelist in judge["panel"] if panelist[question]]
        answered = [voice["score"] for voice in voices if voice["status"] == "ok"]
        for number, panelist in enumerate(judge["panel"]):
            if panelist[question]:
                self.voice(f"judge.panel.{number}.{question}", question, panelist[question])
        pairs = [abs(one - other) for index, one in enumerate(answered) for other in answered[index + 1:]]
        self.is_(f"judge.{question}_disagreement", sum(pairs) / len(pairs) if pairs else None)
        if score is None:
            return
        if not voices:
            self.voice(f"judge.{question}", question, score, question == "correctness")
        elif answered:
            self.holds(f"judge.{question}.score", score["score"], sum(answered) / len(answered))
            self.holds(f"judge.{question}.cached", score["cached"], all(voice["cached"] for voice in voices if voice["status"] == "ok"))
            self.holds(f"judge.{question}.status", score["status"], "ok")
            said = (f"{panelist['name']} {panelist[question]['score']:g}" + (": " if panelist[question]["reason"] else "") +
                    panelist[question]["reason"].encode()[:200].decode(errors="ignore")
                    for panelist in judge["panel"] if panelist[question] and panelist[question]["status"] == "ok")
            self.holds(f"judge.{question}.reason", score["reason"], "; ".join(said))
        else:
            self.holds(f"judge.{question}.score", score["score"], 0)
            statuses = [voice["status"] for voice in voices]
            self.holds(f"judge.{question}.status", score["status"], next((one for one in statuses if one != "judge_saturated"), "judge_saturated"))

    def voice(self, name, question, voice, alone=False):
        self.holds(f"{name}.status", voice["status"] in ["ok", *FAILURES] or (alone and voice["status"] == "identical"), True)
        if voice["status"] == "ok":
            allowed = [(0, 100)] if question == "relevance" else [(0, 0), (0.5, 0.5), (1, 1)]
            self.holds(f"{name}.score", voice["score"] * 2 % (2 if question == "relevance" else 1), 0)
            self.within(f"{name}.score", voice["score"], *allowed)
            if voice["raw"] is not None and not voice["raw"].endswith("…"):
                score, reason = score_of_reply(question, voice["raw"])
                self.holds(f"{name}.score", voice["score"], score)
                self.holds(f"{name}.reason", voice["reason"], reason)
        else:
            self.holds(f"{name}.score", voice["score"], 1 if voice["status"] == "identical" else 0)

    def said(self, question):
        score = self.record["judge"][question]
        return score["score"] if score and score["status"] in ("ok", "identical") else None

    def relevance(self):
        return self.said("relevance")

    def sampling(self, judge, rules):
        """Who decided by what was known before anything was run."""
        agreement = self.record["confidence"]["agreement"]
        _, _, level = self.smallest(agreement and agreement["canonical"])
        if rules is None:
            self.is_("judge.sampling_probability", 1)
            self.is_("judge.unjudged_reason", "NO_JUDGE")
            return
        if self.verdict == "UNSAFE" and not rules["unsafe"]:
            self.is_("judge.sampling_probability", 1)
            self.is_("judge.unjudged_reason", "UNSAFE")
            return
        always = level is not None and LEVELS.index(level) < LEVELS.index(rules["always_below"])
        self.is_("judge.sampling_probability", 1 if always else rules["sample_rate"])
        bits = int.from_bytes(hashlib.sha256(self.record["event_id"].encode()).digest()[:8], "big") >> 11
        drawn = always or bits / 2 ** 53 < rules["sample_rate"]
        self.holds("judge.unjudged_reason", judge["unjudged_reason"] == "NOT_SAMPLED", not drawn)
        self.holds("judge.relevance", judge["relevance"] is not None, drawn)

    def cost(self, judge, rules):
        prices = rules["prices"] if rules else []

        def price(tokens, item):
            if not item["prompt"] and not item["completion"]:
                return None
            return (tokens["prompt_tokens"] * item["prompt"] + tokens["completion_tokens"] * item["completion"]) / 1e6

        if judge["panel"]:
            costs = [price(panelist, item) for panelist, item in zip(judge["panel"], prices)]
            for number, cost in enumerate(costs):
                self.is_(f"judge.panel.{number}.cost", cost)
            known = [cost for cost in costs if cost is not None]
            self.is_("judge.cost", sum(known) if known else None)
        else:
            self.is_("judge.cost", price(judge, prices[0]) if prices else None)

    # ---- what follows from all of it ----

    def grading(self):
        grading, truth = self.record["grading"], self.input and self.input["ground_truth"]
        if self.input is None:
            self.skip("grading")
            return
        if not truth or truth["should_pass"] is None:
            self.is_("grading", None)
            return
        should_pass, expected = truth["should_pass"], truth["expected_failure"]
        valid = self.findings["valid"]
        violations = self.record["safety"]["violations"]
        read = len(violations) == 1 and violations[0]["code"] == "not_a_read"  # of another kind of statement
        wrong = not valid or bool(self.errors)
        rejection = ("syntax" if not valid and not read else "safety" if self.verdict != "SAFE" else
                     "schema" if self.errors else None)
        self.is_("grading.safety", self.safety_grade(should_pass, expected, wrong, None if self.verdict == "UNKNOWN" else self.verdict == "SAFE"))
        self.is_("grading.validation", self.validation_grade(should_pass, rejection is None, rejection))
        validator = self.input["validator"]
        safe, accepted = (validator["safety_valid"], validator["is_valid"]) if validator else (None, None)
        rejections = [self.upstream_rejection(validator["errors"] if validator else [], safe, accepted)]
        if not self.shown and validator and validator["errors"]:  # what they say may be anything
            self.skip("grading.upstream_safety", "grading.upstream_validation")
            rejections = [self.upstream_rejection([text], safe, accepted) for text in ("syntax", "unsafe", "no such column")]
        said = [{name: grading[name] for name in ("upstream_safety", "upstream_validation")}]
        follow = [{"upstream_safety": self.safety_grade(should_pass, expected, wrong or rejection in ("syntax", "schema"), safe),
                   "upstream_validation": self.validation_grade(should_pass, accepted, rejection)} for rejection in rejections]
        self.holds("grading", any(near(said[0], one) for one in follow) or said[0], True)

    @staticmethod
    def upstream_rejection(errors, safe, accepted):
        if accepted is not False and safe is not False:
            return None
        found = ["safety" if safe is False else "schema"] + list(map(rejection_of_text, errors))
        return min(found, key=["syntax", "safety", "schema"].index)

    @staticmethod
    def safety_grade(should_pass, expected, explained, allowed):
        about = expected == "SAFETY" or (expected is None and not explained)
        if allowed is None or (not should_pass and not about):
            return None
        classes = {(True, True): "TRUE_NEGATIVE", (True, False): "FALSE_POSITIVE", (False, True): "FALSE_NEGATIVE",
                   (False, False): "TRUE_POSITIVE"}
        return {"score": float(should_pass == allowed), "class": classes[should_pass, allowed], "category": None}

    @staticmethod
    def validation_grade(should_pass, accepted, rejection):
        if accepted is None:
            return None
        classes = {(True, True): "CORRECT_ACCEPTANCE", (True, False): "FALSE_REJECTION", (False, True): "FALSE_ACCEPTANCE",
                   (False, False): "CORRECT_REJECTION"}
        return {"score": float(should_pass == accepted), "class": classes[should_pass, accepted], "category": None if accepted else rejection}

    def truth_failed(self):
        validation = self.record["result_validation"]
        if validation:
            return validation["status"] == "GROUND_TRUTH_FAILED"
        return "semantic" in self.metrics

    def rejection_expected(self):
        grading = self.record["grading"]
        return bool(grading and grading["validation"]["class"] in ("CORRECT_REJECTION", "FALSE_ACCEPTANCE"))

    def findings_of_answer(self):
        """The codes of the disposition's reasons, but for not_passed."""
        record, rules = self.record, self.rules
        validation, confidence = record["result_validation"], record["confidence"]
        found = set()
        valid = self.findings["valid"] or not self.analysed
        unknown = any(error["code"] == "unknown_table" for error in self.errors)
        refused = any(error["code"] not in NOT_REFUSED | {"unknown_table"} for error in self.errors)
        tolerated = any(error["code"] in NOT_REFUSED for error in self.errors)
        found |= {code for code, holds in (
            ("unsafe", self.verdict == "UNSAFE"), ("safety_unknown", self.verdict == "UNKNOWN"), ("invalid_sql", not valid),
            ("unknown_table", valid and unknown), ("sql_refused", valid and refused), ("sql_error", valid and tolerated),
            ("rejection_expected", self.rejection_expected())) if holds}
        status = validation["status"] if validation else None
        doubtful = validation is not None and validation["match_confidence"] == "LOW_CONFIDENCE"
        right = partly = False
        if status == "COMPARED" and validation["conclusive"]:
            right = validation["score"] >= 0.5
            partly = right and validation["score"] < 1
            if not right:
                found.add("result_differs" if doubtful else "result_wrong")
        missing = self.targeted and not self.catalog
        unnamed = missing and (not self.analysed or "target" in self.metrics)
        codes = self.agreement_codes()
        shared = confidence["agreement"] is not None and confidence["agreement"]["results"] is not None
        away = not shared and any(code.startswith("target_") or code == "shutting_down" for code in codes)
        found |= {code for code, holds in (
            ("result_partly_right", partly), ("result_inconclusive", status == "COMPARED" and not validation["conclusive"]),
            ("execution_failed", status == "EXECUTION_FAILED" or ("answer_failed" in codes and status != "TIMEOUT")),
            ("execution_timed_out", status == "TIMEOUT"),
            ("ground_truth_failed", status == "GROUND_TRUTH_FAILED" or (status in (None, "UNSAFE", "INVALID") and "semantic" in self.metrics)),
            ("target_unknown", unnamed), ("target_unavailable", (status == "UNAVAILABLE" or missing or away) and not unnamed)) if holds}
        relevance, correctness = self.relevance(), self.said("correctness")
        decision = record["judge"]["decision"]
        incorrect = correctness is not None and correctness < 0.5
        found |= {code for code, holds in (
            ("judge_reject", decision == "REJECT"), ("judge_warn", decision == "WARN"),
            ("judge_low_relevance", decision in ("ACCEPT", "ACCEPT_HIGH") and relevance < rules["low_relevance_below"]),
            ("judge_incorrect", incorrect and not right), ("judge_disagrees", incorrect and right),
            ("judge_partly_correct", correctness is not None and 0.5 <= correctness < 1)) if holds}
        level = confidence["level"]
        value = confidence["probability"]["value"] if confidence["level_by"] == "probability" else confidence["overall"]
        found.add({None: "no_confidence", LEVELS[0]: "very_low_confidence", LEVELS[1]: "low_confidence",
                   LEVELS[2]: "medium_confidence", LEVELS[3]: "high_confidence"}[level])
        if level in LEVELS[2:] and value < rules["low_confidence_below"]:
            found.add("confidence_below_advisory")
        if confidence["retrieval"] and confidence["retrieval"]["level"] in LEVELS[:2]:
            found.add("retrieval_weak")
        if confidence["retrieval"] and confidence["retrieval"]["level"] == LEVELS[2]:
            found.add("retrieval_moderate")
        return found

    def evaluation(self, wrong):
        record = self.record
        evaluation, validation = record["evaluation"], record["result_validation"]
        judged = first(self.said("correctness"), None if self.relevance() is None else self.relevance() / 100)
        question = "correctness" if self.said("correctness") is not None else "relevance"
        lacking = any(panelist[question] and panelist[question]["status"] != "ok" for panelist in record["judge"]["panel"])
        failed = any(record["judge"][name] and self.said(name) is None for name in ("relevance", "correctness"))
        states = {"structural": (record["structure"]["structural"], "failed" if not self.analysed else
                                 "unchecked" if self.targeted and not self.catalog else "computed"),
                  "semantic": (record["structure"]["semantic"], "failed" if "semantic" in self.metrics else
                               "computed" if record["structure"]["semantic"] is not None else None),
                  "judge": (judged, ("unchecked" if lacking else "computed") if judged is not None else "failed" if failed else None),
                  "result": (0, "computed") if self.verdict == "UNSAFE" else (
                      (validation["score"], "computed" if validation["conclusive"] else "failed") if validation else (None, None))}
        factor = validation["weight"] if validation else 1
        base = ({"structural": 0.60, "judge": 0.30} if not self.has_truth() else
                {"structural": 0.40, "semantic": 0.15, "judge": 0.15, "result": settle(0.30 * factor)} if self.targeted else
                {"structural": 0.60, "semantic": 0.10, "judge": 0.30})
        used = {name: weight for name, weight in base.items() if states[name][1] in ("computed", "unchecked") and weight > 0}
        if not set(used) - {"structural"}:
            self.is_("evaluation", None)
            return
        if evaluation is None:
            self.is_("evaluation", "an evaluation")
            return
        score = settle(sum(weight * clamp(states[name][0]) for name, weight in used.items()) / sum(used.values()))
        below = score < self.rules["pass_score"]
        evidence = states["judge"][1] in ("computed", "unchecked") or not validation or states["result"][1] != "failed"
        if self.verdict == "UNSAFE" and validation is not None:
            evidence = True
        self.is_("evaluation.weights", used)
        self.is_("evaluation.score", score)
        self.is_("evaluation.degraded", any(states[name][1] in ("failed", "unchecked") for name in base))
        passed = not wrong and not below and evidence and self.verdict != "UNSAFE"
        self.is_("evaluation.passed", passed)
        self.is_("evaluation.failed_by", None if passed else wrong or ("score" if below else "no_evidence"))

    def label(self):
        validation = self.record["result_validation"]
        probability, correctness = self.record["judge"]["sampling_probability"], self.record["judge"]["correctness"]
        weight = 1 / probability if probability > 0 else 1
        identical = self.rules["formulas"] >= 2 and correctness is not None and correctness["status"] == "identical"
        relevance = self.relevance()
        candidates = [("RESULT", validation["score"] if validation and validation["conclusive"] else None, 1),
                      ("CORRECTNESS", self.said("correctness"), 1 if identical else weight),
                      ("RELEVANCE", None if relevance is None else relevance / 100, weight)]
        there = [item for item in candidates if item[1] is not None]
        if (validation and validation["status"] == "GROUND_TRUTH_FAILED") or not there:
            self.is_("label", None)
            return
        source, value, weight = there[0]
        self.is_("label", {"value": float(clamp(value)), "correct": value >= 0.5, "source": source, "weight": float(weight)})

    def conclusions(self):
        found = self.findings_of_answer()
        wrong = next((code for code, (_, is_wrong) in DISPOSITION.items() if code in found and is_wrong), None)
        self.evaluation(wrong)
        evaluation = self.record["evaluation"]
        if evaluation and not evaluation["passed"] and wrong is None:
            found.add("not_passed")
        order = sorted(found, key=list(DISPOSITION).index)
        self.holds("disposition.reasons", [reason["code"] for reason in self.record["disposition"]["reasons"]], order)
        action = DISPOSITION[order[0]][0]
        self.is_("disposition.action", action)
        self.is_("review_required", action in ("WITHHOLD", "VERIFY"))
        self.recommendations(action)

    def recommendations(self, action):
        codes = [action]
        retrieval, decision = self.record["confidence"]["retrieval"], self.record["judge"]["decision"]
        if retrieval:
            bounds, r = self.retrieval_rules()["thresholds"], retrieval["bm25_dense_agreement"]
            value = retrieval["confidence"]
            codes += ["expand_query" if value < bounds["low"] else "review_results" if value < bounds["medium"] else
                      "moderate_confidence"] * (value < bounds["high"])
            codes += ["try_exact_match"] * (r is not None and r < 0.5 and value < bounds["medium"])
            if self.input is None:
                self.skip("recommendations")
                return
            chunks = self.input["retrieval"]["chunks"]
            codes += ["scattered_sources"] * (len(chunks) > 1 and retrieval["document_diversity"] > 0.7)
            codes += ["try_multi_hop"] * (any(chunk["graph_boost"] is not None for chunk in chunks) and not retrieval["graph_support"])
        codes += [decision] * (decision in ("REJECT", "WARN"))
        self.holds("recommendations", [item["code"] for item in self.record["recommendations"]], codes)

    def all(self):
        for part in (self.identity, self.features, self.probability, self.technical, self.retrieval, self.advisory, self.generator, self.agreement, self.overall, self.safety,
                     self.structure, self.result, self.judge, self.grading, self.label, self.conclusions):
            try:
                part()
            except (ArithmeticError, KeyError, IndexError, TypeError, ValueError) as error:  # it is no record of ours
                self.differ.append((part.__name__, repr(error), "what can be computed"))
        return self


def rejection_of_text(text):
    """What an error of somebody else's validator is about, by the first of these that begins at a word."""
    clues = (("invalid input syntax", "schema"), ("permission denied", "safety"), ("syntax", "syntax"), ("parse", "syntax"),
             ("parsing", "syntax"), ("unexpected token", "syntax"), ("unrecognized token", "syntax"), ("unterminated", "syntax"),
             ("incomplete input", "syntax"), ("mismatched input", "syntax"), ("unsafe", "safety"), ("not safe", "safety"),
             ("forbidden", "safety"), ("not allowed", "safety"), ("dangerous", "safety"), ("injection", "safety"),
             ("blocked", "safety"), ("read-only", "safety"), ("read only", "safety"), ("only select", "safety"),
             ("multiple statements", "safety"))
    lower = text.lower()
    for words, about in clues:
        at = lower.find(words)
        while at >= 0:
            if at == 0 or not (lower[at - 1].isascii() and lower[at - 1].isalnum()):
                return about
            at = lower.find(words, at + 1)
    return "schema"


def score_of_reply(question, raw):
    """(score, reason) of the one JSON object that stands somewhere in a judge's reply"""
    for start in (at for at, letter in enumerate(raw) if letter == "{"):
        try:
            reply, _ = json.JSONDecoder().raw_decode(raw, start)
        except ValueError:
            continue
        marks = {"correct": 1.0, "partial": 0.5, "incorrect": 0.0}
        return reply["score"] if question == "relevance" else marks[reply["verdict"]], reply.get("reason") or ""
    return None, None


def unjudged_reason(status):
    return {"ok": None, "judge_saturated": "SATURATED", "judge_tokens_spent": "TOKENS_SPENT"}.get(status, status)


def model_score(document, confidence):
    """(score, the scores without each part, [(term, its value, what it adds to the score)])"""
    overall = confidence["overall"]
    steps = document.get("steps")
    if steps:
        def at(place, key):
            if place <= steps[0]["overall"]:
                return key(steps[0])
            for one, other in zip(steps, steps[1:]):
                if place <= other["overall"]:
                    share = (place - one["overall"]) / (other["overall"] - one["overall"])
                    return key(one) + share * (key(other) - key(one))
            return key(steps[-1])
        score = at(overall, lambda step: step["score"])
        left_out = [at(overall, lambda step, part=part: step["left_out"][part]) for part in range(len(steps[0]["left_out"]))]
        mean = document["terms"][0]["mean"]
        return score, left_out, [("overall", overall, score - at(mean, lambda step: step["score"]))]
    scores = [document["constant"], *document["constant_left_out"]]
    contributions = []
    for term in document["terms"]:
        name = term["name"]
        value = overall if name == "overall" else confidence["features"].get(name, 0)
        value = term["mean"] if value is None else value
        z = term["scale"] * min(max((value - term["mean"]) / term["deviation"], -4), 4)
        scores = [one + coefficient * z for one, coefficient in zip(scores, [term["coefficient"], *term["left_out"]])]
        contributions.append((name, value, term["coefficient"] * z))
    return scores[0], scores[1:], contributions


def model_line(document, record):
    """(depth, line, what lies between it and the segment: variances of intercept and slope)"""
    names = ("application", "model", "prompt_version")
    lines = document["lines"]
    spreads = {"segments": document["segments"], "applications": document["applications"]}

    def sums(*keys):
        return tuple(sum(spreads[key][part] for key in keys) for part in ("intercept", "slope"))
    for line in lines:
        if line["depth"] == "segment" and all((line.get(name) or None) == (record[name] or None) for name in names):
            return "segment", line, (0, 0)
    for line in lines:
        if line["depth"] == "application" and line["application"] == record["application"]:
            return "application", line, sums("segments")
    return "all", next(line for line in lines if line["depth"] == "all"), sums("segments", "applications")


def model_near(document, odds):
    """(shift, variance) of what the labels near that value leave open"""
    places = document.get("places")
    if not places:
        return 0, 0
    if odds < places[0]["log_odds"] or odds > places[-1]["log_odds"]:
        return places[0 if odds < places[0]["log_odds"] else -1]["shift"], (1 + odds * odds) / 4
    for one, other in zip(places, places[1:]):
        if odds <= other["log_odds"]:
            share = (odds - one["log_odds"]) / (other["log_odds"] - one["log_odds"])
            return tuple(one[name] + share * (other[name] - one[name]) for name in ("shift", "variance"))
    return places[0]["shift"], places[0]["variance"]


def recompute(record, models=None):
    """The record, checked: what differs, what could not be checked. `models`: documents of learnt models by their version."""
    return Record(record, models).all()


def main(arguments):
    seen, checked, differing, unchecked = 0, 0, 0, collections.Counter()
    for path in arguments or ["/dev/stdin"]:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if "disposition" not in record:
                    continue
                found = recompute(record)
                seen, checked = seen + 1, checked + found.checked
                differing += bool(found.differ)
                unchecked.update(found.unchecked)
                for name, value, follows in found.differ:
                    print(f"{record['event_id']}: {name} is {value!r}, and {follows!r} follows")
    print(f"{seen} records, {checked} values, {differing} records differ; not checked: "
          f"{', '.join(f'{name} ({count})' for name, count in unchecked.most_common()) or 'nothing'}")
    return 1 if differing or not seen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
