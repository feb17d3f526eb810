/*
 * What is taken from a worker process before it meets its database: a client library that a hostile server or
 * query has subverted reaches its own connection, and nothing else of the daemon's user.
 *
 * From the start: no core, no memory that others may read, no new privileges, few descriptors.
 *
 * By Landlock (files): reading what the engine named and what its libraries need, writing next to nothing,
 * TCP to the named ports alone, no signal to a process outside, no abstract socket.
 *
 * By seccomp (calls, an allow-list in confine_calls.def): no other program, no other process's memory, no
 * mounts, no namespaces; without a network no sockets and no processes either.
 *
 * All of it is inherited by what the process forks. Where a kernel or a filter around us has one of the two
 * not to offer, the other one and the limits still hold. Builds with a sanitizer, which look at themselves
 * from outside, have only the limits. One thread, the only one of its process.
 */
#pragma once

#include "common/arena.h"
#include "common/err.h"

#define CONFINE_PORTS 16

/* What an engine needs; it fills this in before it connects. */
struct confinement {
	struct arena *arena;
	struct confined_path {
		const char *path;
		bool written; /* a file that is also written to */
	} * paths;
	size_t paths_count, paths_capacity;
	uint16_t ports[CONFINE_PORTS];
	size_t ports_count;
	bool network;	       /* sockets of IP and unix, name resolution, TLS; a process that cancels */
	bool abstract_sockets; /* unix sockets without a file */
};

/* Adds a file, or a folder with all that is in it; NULL, "" and what is not there: nothing. */
void confine_add(struct confinement *needs, const char *path, bool written);
/* `path` below the user's home. */
void confine_add_home(struct confinement *needs, const char *path);
/* A port to connect to; beyond CONFINE_PORTS of them none is. */
void confine_add_port(struct confinement *needs, unsigned long port);

/* First of all, with the worker's socket: closes every other descriptor but those to nowhere. */
void confine_start(int fd);

/* Once the settings are known. ERR_OS: one of the kernel's means is not to be had, the detail says which; the
 * others hold. */
err_t confine_to(const struct confinement *needs, struct err_detail *detail);

/* The parts of it: ERR_OS as above. */
err_t confine_files(const struct confinement *needs, struct err_detail *detail);
err_t confine_calls(const struct confinement *needs, struct err_detail *detail);

/* For whoever starts workers: what they will have to do without. Changes nothing; any thread. */
err_t confine_probe(struct err_detail *detail);

/* Of Landlock in this kernel; less than 1: there is none. */
int confine_landlock_version(void);

/* In the process that waits beside a worker to cancel: it needs no further one. */
void confine_guardian(void);
