#include "event/remedy.h"

#include "event/record/reason.h"
#include "sql/lex/prose.h"

/* ---- an unsafe query ---- */

/* What it would have done. */
enum harm {
	HARM_WRITES,
	HARM_HOLDS_UP, /* the database, for long */
	HARM_REACHES,  /* what it must not */
	HARM_COUNT_
};

static enum harm harm_of(str_t code)
{
	static const char *const codes[HARM_COUNT_][9] = {
		[HARM_HOLDS_UP] = { "time_based", "resource_bomb", "too_deep", "too_long" },
		[HARM_REACHES] = { "dangerous_function", "volatile_function", "system_catalog", "file_access",
				   "network_access", "injection_pattern", "unanalysable" },
	};
	for (unsigned harm = 0; harm < HARM_COUNT_; harm++)
		for (size_t i = 0; codes[harm][i]; i++)
			if (str_is(code, codes[harm][i]))
				return (enum harm)harm;
	return HARM_WRITES;
}

/* Several statements, of which each only reads. */
static bool only_reads(const struct record_safety *safety)
{
	for (size_t i = 0; i < safety->violations_count; i++)
		if (!str_is(safety->violations[i].code, "multiple_statements"))
			return false;
	return safety->violations_count > 0;
}

#define FALSE_ALARM " A false alarm on an ordinary read is a defect of assayd to report."

static const char *remedy_of_unsafe(const struct event *event)
{
	/* SQLite has neither roles nor servers. */
	static const char *const remedies[HARM_COUNT_][2] = {
		[HARM_WRITES] = { NULL, /* that of the finding */
				  "assayd did not run it; whether the application did is not known here: its "
				  "owner "
				  "looks for this event_id in the application's log, restores what was "
				  "changed or "
				  "deleted if it did run it, makes it refuse such requests and has it open "
				  "the "
				  "database read-only." FALSE_ALARM },
		[HARM_HOLDS_UP] = { "It would hold the database for long. assayd did not run it; if the "
				    "application did "
				    "(its log has this event_id), cancel it there. The database's owner sets "
				    "a statement "
				    "timeout for the application's role, the application's owner keeps such "
				    "queries out "
				    "of the prompt. The question itself need not be refused.",
				    "It would run for long. assayd did not run it; if the application did "
				    "(its log has "
				    "this event_id), end it there. The application's owner has it interrupt "
				    "queries "
				    "after a time, and keeps such queries out of the prompt. The question "
				    "itself need "
				    "not be refused." },
		[HARM_REACHES] = { "assayd did not run it; if the application did (its log has this "
				   "event_id), treat "
				   "what it reads as disclosed and what it writes or runs as done. The "
				   "database's owner "
				   "takes the right to what the reason names (table, function, file or "
				   "program) from "
				   "the application's role, the application's owner looks for who or what "
				   "led the model "
				   "to it." FALSE_ALARM,
				   "assayd did not run it; if the application did (its log has this "
				   "event_id), treat "
				   "what it reads as disclosed and what it writes or loads as done. The "
				   "application's "
				   "owner has it open the database read-only, without load_extension and "
				   "ATTACH, and "
				   "looks for who or what led the model to it." FALSE_ALARM },
	};
	const struct record_safety *safety = &event->scored->safety;
	const struct record_violation *gravest = reason_violation(safety);
	bool sqlite = event->facts.analysis.dialect == SQL_SQLITE;
	if (only_reads(safety))
		return "Each of the statements only reads, so nothing has to be restored. The application's "
		       "owner asks in the prompt for one statement, or makes the application ask the model "
		       "again when there are several.";
	return remedies[gravest ? harm_of(gravest->code) : HARM_WRITES][sqlite];
}

/* ---- what is wrong with the SQL ---- */

static const struct sql_diagnostic *error_of(const struct event *event, const char *code)
{
	const struct sql_analysis *sql = &event->facts.analysis.sql;
	for (size_t i = 0; i < sql->diagnostics_count; i++)
		if (sql->diagnostics[i].severity == SQL_ERROR &&
		    (!code || strcmp(sql->diagnostics[i].code, code) == 0))
			return &sql->diagnostics[i];
	return NULL;
}

static bool says(const struct sql_diagnostic *diagnostic, const char *part)
{
	return diagnostic && strstr(diagnostic->message.ptr, part);
}

static const char *remedy_of_invalid(const struct event *event)
{
	const struct sql_diagnostic *first = error_of(event, NULL);
	if (says(first, PROSE_TEXT))
		return "The model answers in words, mostly to refuse or to ask: the application's owner "
		       "makes it show such an answer to its user instead of running it, and corrects the "
		       "prompt where the question could be answered.";
	if (says(first, "end of input") || says(first, "incomplete input") || says(first, "unterminated"))
		return "The text ends too early: the application's owner raises the model's output limit or "
		       "asks for shorter queries, and makes the application ask the model again.";
	if (says(first, "statements instead of one"))
		return "The application's owner asks in the prompt for one statement, or makes the "
		       "application ask the model again when there are several.";
	return NULL;
}

/* ---- what is not known ---- */

static const char *remedy_of_unknown_safety(const struct event *event)
{
	if (!str_present(event->facts.query->target) && !event->facts.analysis.catalog)
		return "The application's owner lets events name their target: then assayd reads its catalog "
		       "and knows its functions and types.";
	return NULL;
}

static const char *remedy_of_unknown_target(const struct event *event)
{
	if (record_has_error(&event->facts, "target", ERR_DIALECT_MISMATCH))
		return "The application's owner corrects the target of its events, or leaves dialect out, "
		       "which is the target's then. The query is neither checked nor run meanwhile.";
	return NULL;
}

static const char *remedy_of_unavailable(const struct event *event)
{
	if (event->facts.analysis.catalog && reason_target_denied(event->scored))
		return "The database's owner grants assayd's role SELECT on what the message names. The "
		       "target answers: only what reads that lacks a verdict. The query is not at fault.";
	if (event->facts.analysis.target && event->facts.analysis.dialect == SQL_SQLITE)
		return "The operator of assayd looks whether the target's file is there and can be read "
		       "(assayd check tries it). The query is not at fault. Events of this target are not "
		       "validated meanwhile; this is said once until it can be read again.";
	return NULL;
}

/* ---- a low confidence ---- */

/* About the part that lacks the most. */
static const char *remedy_of_advisory(const struct event *event)
{
	const struct record_advisory_confidence *advisory = event->scored->confidence.advisory;
	double retrieval = advisory->retrieval_quality / 0.4;
	double sources = advisory->source_quality / 0.3;
	double response = advisory->response_quality / 0.3;
	const struct retrieval *retrieved = event->facts.query->retrieval;
	if (retrieval <= sources && retrieval <= response && retrieved && retrieved->chunks_count == 0)
		return "The owner of the retrieval looks why nothing is found for this question: documents "
		       "that are not in the index, a search that fails, or a question that it has nothing "
		       "for, which the application says to its user then.";
	if (retrieval <= sources && retrieval <= response)
		return disposition_finding_remedy(FINDING_RETRIEVAL_WEAK);
	if (sources <= response)
		return "What was retrieved comes from sources of low standing: the owner of the retrieval "
		       "adds better ones for such questions, or corrects the source_type that the index "
		       "gives to those that there are.";
	return "The model's reply does not have the form that it was asked for: the application's owner "
	       "compares response.raw with response.required_fields and optional_fields of the event, and "
	       "corrects the prompt or the model's output limit.";
}

/* About what limits it. NULL: nothing of its own. */
static const char *remedy_of_limit(const struct event *event)
{
	str_t factor = event->scored->confidence.limiting_factor;
	if (event->facts.analysis.level_by_probability)
		return NULL;
	if (str_is(factor, "technical"))
		return disposition_finding_remedy(FINDING_SQL_REFUSED);
	if (str_is(factor, "retrieval"))
		return disposition_finding_remedy(FINDING_RETRIEVAL_WEAK);
	if (str_is(factor, "advisory"))
		return remedy_of_advisory(event);
	if (str_is(factor, "generator"))
		return "The model itself is not sure of its query: the application asks its user what is "
		       "meant, or its owner describes in the prompt what such questions are about.";
	if (str_is(factor, "agreement"))
		return "The model's answers to this question do not agree with each other: compare sql with "
		       "the candidates of the scored record; where they read the question differently, the "
		       "application asks its user what is meant.";
	return NULL;
}

/* ---- all of them ---- */

/* What the event shows of the finding's cause; NULL: nothing more than the finding says. */
static const char *remedy_of_cause(const struct event *event, enum disposition_finding finding)
{
	switch (finding) {
	case FINDING_UNSAFE:
		return remedy_of_unsafe(event);
	case FINDING_INVALID:
		return remedy_of_invalid(event);
	case FINDING_UNKNOWN_TABLE:
		return says(error_of(event, "unknown_table"), "did you mean")
			       ? "The name is misspelt: the application's owner lists the real relations in "
				 "the prompt, or makes the application ask the model again with this message."
			       : NULL;
	case FINDING_SQL_REFUSED:
		return record_has_error(&event->facts, "technical", ERR_DIALECT_UNSUPPORTED)
			       ? "Nothing is known against the query. The application's owner sends "
				 "retrieval "
				 "and response with such events, which are scored in every dialect, or "
				 "publishes queries of a dialect that is analysed."
			       : NULL;
	case FINDING_SQL_ERROR:
		return error_of(event, "markdown_fence")
			       ? "A database refuses the fence around the statement: the application's owner "
				 "makes it take the statement out of its fence before it is run, or asks the "
				 "model for SQL alone. What stands in the fence is scored."
			       : NULL;
	case FINDING_SAFETY_UNKNOWN:
		return remedy_of_unknown_safety(event);
	case FINDING_TARGET_UNKNOWN:
		return remedy_of_unknown_target(event);
	case FINDING_TARGET_UNAVAILABLE:
		return remedy_of_unavailable(event);
	case FINDING_CONFIDENCE_VERY_LOW:
	case FINDING_CONFIDENCE_LOW:
		return remedy_of_limit(event);
	default:
		return NULL;
	}
}

/* What lacks confidence for want of its target takes the target; of a dialect that is not analysed that is no
 * matter. */
static enum disposition_finding cause_of(const struct event *event)
{
	enum disposition_finding decisive = event->facts.disposition.findings[0];
	if (decisive != FINDING_CONFIDENCE_NONE)
		return decisive;
	if (disposition_has(&event->facts.disposition, FINDING_TARGET_UNAVAILABLE))
		return FINDING_TARGET_UNAVAILABLE;
	return disposition_has(&event->facts.disposition, FINDING_TARGET_UNKNOWN) ? FINDING_TARGET_UNKNOWN
										  : decisive;
}

const char *remedy_of_finding(const struct event *event)
{
	enum disposition_finding finding = cause_of(event);
	const char *remedy = remedy_of_cause(event, finding);
	return remedy ? remedy : disposition_finding_remedy(finding);
}

const char *remedy_of_false_negative(bool truth_given)
{
#define READ_IT                                                                                              \
	"Read the sql: if it only reads what it may, should_pass = false is wrong, and the owner of the "    \
	"ground truth corrects it"
#define GAP                                                                                                  \
	" If it writes, or reads what it must not, assayd's safety check has a gap: report the sql as a "    \
	"defect of assayd, and the database's owner takes that right from the application's role."
	return truth_given ? READ_IT
		       " (a truth_sql beside it fits only a question that may be answered)." GAP
		       " A result that differs is for the application's owner: prompt or examples."
			   : READ_IT "." GAP;
}

const char *remedy_of_slowness(bool than_truth)
{
	return than_truth ? "Compare sql with truth_sql, which does the same in less time: the "
			    "application's owner prefers the cheaper form in the prompt's examples, or the "
			    "database's owner adds what its plan lacks, such as an index."
			  : "The same query was quick before: the database's "
			    "owner looks what has changed there (more data, another plan, an index that is "
			    "gone, other work at that time).";
}
