/*
 * Subjects of a schema registry, and schemas asked for one at a time, by threads that may block: what the
 * outputs are written with, and what commands read. Each call has its own connections; any thread.
 */
#pragma once

#include "avro/codec.h"
#include "avro/registry/registry_settings.h"

/* By what a subject is named, as Confluent's serializers do. */
enum registry_strategy { REGISTRY_TOPIC_NAME, REGISTRY_RECORD_NAME, REGISTRY_TOPIC_RECORD_NAME };

/* Appends the subject of the records of that kind in that topic. */
void registry_subject(enum registry_strategy strategy, const char *topic, enum record_id record,
		      struct buf *out);

/* What a subject says of the compiled-in schema of a record. */
struct registry_standing {
	uint32_t id;	 /* that it has there; 0: it is not registered */
	bool compatible; /* where it is not: with what is */
	char why[256];	 /* if it is not compatible, or "" */
};

/* ERR_SCHEMA_UNAVAILABLE: the registry cannot be asked; the detail says why. */
err_t registry_look(const struct registry_settings *settings, const char *subject, enum record_id record,
		    struct registry_standing *ret_standing, struct err_detail *detail);

/* The id by which records are to be written: the registered one, or, with `may_register`, one that is made
 * now, if the subject's schemas are compatible; one that was kept, while the registry cannot be asked.
 * ERR_SCHEMA_UNAVAILABLE; ERR_SCHEMA_UNKNOWN, ERR_SCHEMA_INCOMPATIBLE: the detail says how to mend it. */
err_t registry_written_id(const struct registry_settings *settings, const char *subject,
			  enum record_id record, bool may_register, uint32_t *ret_id,
			  struct err_detail *detail);

/* Keeps that id in the state directory for starts while the registry is away, and the compiled-in schema
 * under it, so that commands can read then what was written. By the daemon alone. */
void registry_keep_written_id(const struct registry_settings *settings, const char *subject,
			      enum record_id record, uint32_t id);

/* The schema of the newest version of a subject, with all that it refers to, appended. ERR_SCHEMA_UNKNOWN:
 * there is none. */
err_t registry_latest(const struct registry_settings *settings, const char *subject, struct buf *out,
		      struct err_detail *detail);

/* Lets the codec learn a name, or says why not. ERR_SCHEMA_UNAVAILABLE: the registry cannot be asked.
 * ERR_SCHEMA_UNKNOWN: it has no such schema, or answers something else. */
err_t registry_teach(const struct registry_settings *settings, struct codec *codec,
		     const struct schema_name *name, struct err_detail *detail);
