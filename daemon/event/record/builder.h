/*
 * Parts of a scored record. They belong to record_build, which calls them in their order, on its thread; all
 * memory is of the facts' arena.
 */
#pragma once

#include "event/record/conclude.h"
#include "event/record/record.h"
#include "score/match.h"
#include "sql/redact.h"

/* What is worked out on the way and several parts of the record need. */
struct record_builder {
	struct record_facts *facts;
	const struct record_sources *sources;
	struct scored_query *scored;
	bool has_truth;
	size_t truth_index;
	struct match_truth match;
	struct record_reading reading;	/* from when the parts that it is of are there */
	struct disposition_input known; /* all of it but whether the evaluation was passed */
	enum disposition_finding wrong; /* why the answer is known to be wrong, or FINDING_COUNT_ */
	str_t prompt_digest;		/* of the judge's prompts; absent: there is no judge */
	struct sql_redaction redaction; /* of the generated SQL, where the record hides literals; likewise */
	const struct sql_redaction *redactions; /* of all texts of the event, that one first */
	size_t redactions_count;		/* 0: the record hides nothing */
	struct record_recommendation *recommendations;
	size_t recommendations_count, recommendations_capacity;
};

/* Confidence and safety: what was known before any answer. */
void record_build_confidence(struct record_builder *builder);
void record_build_safety(struct record_builder *builder);

/* All findings of the analysis, as the record may show them. */
struct record_diagnostic *record_diagnostics(const struct record_builder *builder);

/* Result validation. */
void record_build_result(struct record_builder *builder);

/* Verdicts, their errors, what they cost. Sets `prompt_digest`. */
void record_build_judge(struct record_builder *builder);

/* Structure and tables, compared with the truth's. */
void record_build_structure(struct record_builder *builder);

/* What a result has to explain, as the record may show it, or NULL. */
struct record_explanation *record_build_explanation(const struct record_builder *builder,
						    const struct validation_result *result);

/* What the conclusion is drawn from, and whether the answer is known to be wrong by it. Sets `known` and
 * `wrong`, which the evaluation reads. */
void record_build_known_wrong(struct record_builder *builder);

/* What the metrics come to. They read what those above have set. */
void record_build_grading(struct record_builder *builder);
void record_build_evaluation(struct record_builder *builder);
void record_build_label(struct record_builder *builder);

/* The conclusion from all of the above. */
void record_build_disposition(struct record_builder *builder);

/* What of the settings the numbers follow from; after result and judge. */
void record_build_rules(struct record_builder *builder);

/* The event as the record repeats it: without literals, or not at all, where records are configured so. */
void record_build_input(struct record_builder *builder);

/* Whether the record hides literals. */
bool record_hides_literals(const struct record_builder *builder);

/* An offset into the generated SQL, and a message about it, as the record may show them. */
int64_t record_offset(const struct record_builder *builder, int64_t offset);
str_t record_message(const struct record_builder *builder, str_t message);

/* Finds the literals of all texts of the event, for what is below; where the record hides them. */
void record_redact_texts(struct record_builder *builder);

/* What others than our analysis have said (judges, validators) without the literals of any of the event's
 * texts, where the record hides them. */
str_t record_foreign_message(const struct record_builder *builder, str_t message);

/* A server's message likewise, and without what it quotes. */
str_t record_server_message(const struct record_builder *builder, str_t message);

/* Takes literals out of what the members of the judge have said, where the record hides them; before
 * record_build_judge. */
void record_redact_verdicts(struct record_builder *builder);

/* Takes literals out of the messages of all errors, where the record hides them, and gives each the SQL that
 * it is about, as far as the record shows it. To be called when all errors are there, before anything repeats
 * them. */
void record_finish_errors(struct record_builder *builder);
