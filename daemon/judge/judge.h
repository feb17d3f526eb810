/*
 * The judge: asks a language model over HTTP whether a query answers its question (relevance) and whether it
 * is equivalent to the ground truth (correctness). One thread drives all calls (curl_multi). Submitting never
 * blocks.
 *
 * It may consist of several members, each with a server, model, prompts, key, limits, budget, circuit breaker
 * and verdicts in memory of its own: what happens to one is nothing to the others. A call is for one of them.
 * They share the thread and the shared cache. What they say together: judge/panel.h.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "common/heartbeat.h"
#include "common/list.h"

struct judge;

/* Members, at most. */
#define JUDGE_MEMBERS_MAX 8

enum judge_question { JUDGE_RELEVANCE, JUDGE_CORRECTNESS };

#define JUDGE_QUESTIONS 2

/* Bytes of a reply that are handed on as it came. */
#define JUDGE_RAW_MAX ((size_t)1000)

/* Of one member. */
struct judge_settings {
	const char *name;    /* among the members, part of what its verdicts are kept under; NULL: it is alone
				and has none */
	const char *setting; /* how the names of its settings begin, "judges[1]"; NULL: "judge" */
	const char *provider; /* "openai" or "anthropic" */
	const char *base_url; /* calls go to base_url + "/chat/completions" or "/messages" */
	const char *model;
	const char *api_key_file;     /* or NULL; read again at a reload, and when the key is refused */
	const char *ca_file;	      /* authorities to trust instead of the system's; or NULL */
	const char *prompt_directory; /* relevance.txt and correctness.txt; NULL: the built-in ones */
	int64_t timeout_ms;	      /* of one call from sending, retries included */
	int64_t queue_wait_ms;	      /* the longest wait for a slot when skipping */
	bool wait_when_saturated;     /* wait for a slot however long it takes, but not for another day */
	unsigned max_in_flight;
	unsigned max_attempts;
	int64_t cache_ttl_s; /* of a verdict, from when it was given, whichever cache has it */
	size_t cache_bytes;
	const char *cache_dsn; /* PostgreSQL for a cache that instances share; NULL or "": none. This and
				  the next four: those of the first member are all members' */
	const char *cache_password_file; /* or NULL */
	const char *cache_settings;	 /* how the names of these two begin; NULL: "judge.cache_" */
	int64_t cache_retention_s;	 /* of its rows */
	int64_t cache_wait_ms;		 /* of a call, for its answer */
	int64_t requests_per_minute;	 /* 0: no limit; likewise the two below */
	int64_t tokens_per_minute;
	int64_t tokens_per_day;
	const char *budget_file; /* keeps what was spent of the day's tokens; NULL: it ends with the judge */
};

/* What the judge has done since it started, and how it stands; for metrics. */
struct judge_stats {
	int64_t requests;     /* sent, retries and samples included */
	int64_t verdicts;     /* of requests */
	int64_t hits;	      /* calls answered from a cache */
	int64_t shared_hits;  /* of these, requests that the shared cache answered */
	int64_t shared_calls; /* and the calls of these requests */
	int64_t shared;	      /* calls that joined a request that was open already */
	int64_t saturated;    /* calls that found no slot in time */
	int64_t spent;	      /* calls that were not asked because the tokens of the day are spent */
	int64_t failed;	      /* calls that ended in another error */
	int64_t prompt_tokens;
	int64_t completion_tokens;
	int64_t in_flight;
	int64_t waiting;	  /* requests without a slot */
	int64_t slots;		  /* requests that may be in flight, as adapted */
	int64_t breaker_open;	  /* 1 while the judge is left alone */
	int64_t cache_connected;  /* 1 while the shared cache, that of all members, can be read */
	int64_t cache_lost;	  /* verdicts that it had no room for */
	int64_t day_tokens;	  /* spent within the last day, where there is a limit of them */
	int64_t day_tokens_limit; /* 0: there is none */
};

struct judge_verdict {
	err_t error;   /* ERR_OK, or ERR_JUDGE_* and then `score` means nothing */
	str_t message; /* of the error, for a person; or absent */
	double score;  /* relevance: 0..100; correctness: 0.0, 0.5 or 1.0 */
	str_t reason;
	str_t raw; /* the last reply as the model wrote it, its first JUDGE_RAW_MAX bytes and "…" where there
		      were more; absent: there was none, or somebody else has it (the verdict is a cache's) */
	bool cached;
	int64_t prompt_tokens; /* all attempts together */
	int64_t completion_tokens;
};

/* One question. It and its arena are the judge's from judge_submit until `done` is called, exactly once: by
 * the judge's thread; where the verdict is in memory, there is no place in time, or that thread has ended, by
 * the one that submits, before judge_submit returns; or by the one that closes. */
struct judge_call {
	struct list_node node; /* the judge's */
	size_t member;	       /* that is asked */
	struct arena *arena;   /* of this call alone: the verdict's texts are allocated here */
	enum judge_question kind;
	str_t question;
	str_t sql;
	str_t truth_sql;     /* correctness */
	str_t schema;	     /* of the tables that the SQL uses, for the prompt; or absent */
	const char *dialect; /* "PostgreSQL", … for the prompt */
	struct judge_verdict verdict;
	str_t prompt_digest; /* of the prompts that it was asked with, while both the arena and the judge are
				there; absent: it was turned away unseen */
	int64_t duration_us;
	void (*done)(struct judge_call *call, void *context);
	void *context;
	int64_t submitted_us; /* the judge's, likewise below */
	void *state;
};

/* Reads what the settings of the members name (one to JUDGE_MEMBERS_MAX) and starts the thread; the settings
 * are read here only. Neither the endpoints nor the shared cache need be there. ERR_CONFIG_* or
 * ERR_FILE_UNREADABLE with a detail that names the setting. */
err_t judge_start(const struct judge_settings *settings, size_t count, struct judge **ret_judge,
		  struct err_detail *detail);

/* Answers what is still open with SHUTTING_DOWN and joins the thread. What is submitted from then on is
 * answered at once; the digest can still be read. NULL is fine. */
void judge_close(struct judge *judge);

/* Closes and releases: nobody may hold on to it any more. NULL is fine. */
void judge_stop(struct judge *judge);

/* Takes over the timeouts, limits, cache bounds and prompts of `settings`, each for the member of that name;
 * what is open goes on with the prompts that it began with. The keys' files are read again. Addresses and
 * models stay, and so do the members: one that the settings do not name goes on as it was, and a name that no
 * member has is left out. On an error everything stays as it was. Any thread. */
err_t judge_reload(struct judge *judge, const struct judge_settings *settings, size_t count,
		   struct err_detail *detail);

/* Hands the call over. Any thread; `done` may be called before this returns. */
void judge_submit(struct judge *judge, struct judge_call *call);

/* How many members there are: as at the start, whatever the configuration says by now; so of what follows.
 * Any thread. */
size_t judge_members(const struct judge *judge);

/* The member's name, or NULL; lives as long as the judge, likewise below. Any thread. */
const char *judge_name(const struct judge *judge, size_t member);

/* SHA-256 of the prompts that the next call is asked with, in hexadecimal. Any thread. */
const char *judge_prompt_digest(const struct judge *judge, size_t member);

/* Appends the text that this digest is the SHA-256 of. Any thread. */
void judge_prompts_text(struct judge *judge, size_t member, struct buf *text);

/* Who is asked. Any thread. */
const char *judge_provider(const struct judge *judge, size_t member);
const char *judge_model(const struct judge *judge, size_t member);

/* One cheap request that shows whether one member's endpoint and key work: for `assayd check`. Blocks up to
 * the timeout. */
err_t judge_check(const struct judge_settings *settings, struct err_detail *detail);

/* Without asking it: whether address, key and certificates are there and valid, and whether the prompts are.
 */
err_t judge_check_settings(const struct judge_settings *settings, struct err_detail *detail);
err_t judge_check_prompts(const struct judge_settings *settings, struct err_detail *detail);

/* Whether the shared cache's database can be reached, for the same. Blocks up to its own timeouts. */
err_t judge_check_cache(const struct judge_settings *settings, struct err_detail *detail);

/* Of the judge's thread; lives as long as the judge. Any thread. */
struct heartbeat *judge_heartbeat(struct judge *judge);

/* That of the shared cache's thread; NULL: there is none. Likewise. */
struct heartbeat *judge_cache_heartbeat(struct judge *judge);

/* Any thread; the figures are of one round of the judge's thread. */
struct judge_stats judge_stats(struct judge *judge, size_t member);
