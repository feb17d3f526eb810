/* The command line: a command, and options of which each command has its own. Main thread, once. */
#pragma once

#include "common/err.h"

enum command {
	COMMAND_RUN,
	COMMAND_SCORE,
	COMMAND_CHECK,
	COMMAND_CALIBRATION,
	COMMAND_TAIL,
	COMMAND_SHOW,
	COMMAND_TOP,
	COMMAND_PRODUCE,
	COMMAND_REDRIVE,
	COMMAND_CONFIG_DIGEST,
	COMMAND_AUDIT_SHOW,
	COMMAND_AUDIT_KEY,
	COMMAND_AUDIT_BEGIN_AGAIN,
	COMMAND_AUDIT_RECOMPUTE,
	COMMAND_AUDIT_VERIFY,
	COMMAND_AUDIT_EXPORT,
	COMMAND_AUDIT_PROVE,
	COMMAND_HELP,
	COMMAND_VERSION
};

/* How often --key and --checkpoints may be given. */
#define OPTIONS_KEYS_MAX	8
#define OPTIONS_CHECKPOINTS_MAX 64
/* How often --reason and --event-id may be given. */
#define OPTIONS_REASONS_MAX   32
#define OPTIONS_EVENT_IDS_MAX 256
/* How many files a command takes that takes several. */
#define OPTIONS_OPERANDS_MAX 1024

struct options {
	enum command command;
	const char *operand; /* what the command is about, the last one of several; NULL: none */
	const char *operands[OPTIONS_OPERANDS_MAX];
	size_t operands_count;
	const char *config_file;   /* or NULL */
	const char *catalog_file;  /* or NULL */
	const char *window;	   /* calibration: "1h", "24h" or "7d"; or NULL */
	const char *application;   /* calibration, tail: of this application alone; or NULL */
	const char *accuracy;	   /* calibration: what ought to be right above a threshold; or NULL */
	bool model;		   /* calibration: the learnt probability */
	bool documents;		   /* calibration: which of them come with wrong answers */
	const char *records;	   /* calibration: the file of a replay; or NULL */
	bool replays_topic;	   /* calibration: a replay of the scored topic */
	const char *model_version; /* calibration: of a replay; or NULL */
	bool verify;		   /* calibration: compare with the log */
	bool rebuild;		   /* calibration: count anew */
	bool dry_run;		   /* calibration, produce, redrive: say what would be done */
	const char *level;	   /* tail: of messages of that level alone, likewise below; or NULL */
	const char *action;	   /* tail; or NULL */
	const char *since;	   /* tail, show, redrive: "15m"; or NULL */
	const char *until;	   /* redrive; or NULL, likewise below */
	const char *limit;	   /* redrive */
	const char *max_redrives;  /* redrive */
	bool all;		   /* redrive: of all reasons */
	bool once;		   /* tail: to the end of today; top: one frame */
	const char *output;	   /* audit key: the file; audit prove: the folder; or NULL */
	const char *partition;	   /* audit: of this one alone; or NULL */
	const char *reasons[OPTIONS_REASONS_MAX]; /* redrive; audit begin-again, the last one */
	size_t reasons_count;
	const char *event_ids[OPTIONS_EVENT_IDS_MAX]; /* redrive */
	size_t event_ids_count;
	bool topic;			    /* audit recompute: the scored topic */
	bool analyse;			    /* audit recompute: the SQL again, too */
	const char *keys[OPTIONS_KEYS_MAX]; /* audit verify and prove: public keys */
	size_t keys_count;
	const char *checkpoints[OPTIONS_CHECKPOINTS_MAX]; /* audit verify: files */
	size_t checkpoints_count;
	const char *export_file; /* audit verify; or NULL */
	bool no_database;	 /* audit verify and export */
	bool all_covered;	 /* audit verify: a record without a checkpoint is a failure */
	bool all_kept;		 /* audit verify: and so is a leaf without its record */
	bool json;
	bool offline; /* check: without reaching anything */
	bool strict;  /* check: warnings are errors */
};

/* Texts point into `argv`. ERR_USAGE: the detail says what is wrong. */
err_t options_parse(int argc, char **argv, struct options *ret_options, struct err_detail *detail);

/* What --help prints. */
extern const char options_help[];
