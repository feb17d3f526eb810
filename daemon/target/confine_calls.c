/* The filter of system calls, made by libseccomp for the machine that it runs on. */
#include "target/confine.h"

#include "target/worker_process.h"

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Whatever is not listed does not exist, so that libraries fall back on what does. */
#define REFUSED SCMP_ACT_ERRNO(ENOSYS)

#define NAMESPACES                                                                                           \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |        \
	 CLONE_NEWNET)

#ifdef __s390__
#define CLONE_FLAGS_ARGUMENT 1
#else
#define CLONE_FLAGS_ARGUMENT 0
#endif

static const struct call {
	const char *name;
	bool of_network;
} calls[] = {
#define FOR_ALL(name)	  { #name, false },
#define FOR_NETWORK(name) { #name, true },
#include "target/confine_calls.def"
#undef FOR_ALL
#undef FOR_NETWORK
};

/* A call that this kind of machine or this libseccomp does not have needs no rule. */
static int allow(scmp_filter_ctx filter, const char *name, unsigned count,
		 const struct scmp_arg_cmp *arguments)
{
	int number = seccomp_syscall_resolve_name(name);
	if (number == __NR_SCMP_ERROR)
		return 0;
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, count, arguments);
}

static int allow_where(scmp_filter_ctx filter, const char *name, struct scmp_arg_cmp argument)
{
	return allow(filter, name, 1, &argument);
}

/* That argument has that value; the macros of the library leave members out, which clang does not take. */
static struct scmp_arg_cmp equals(unsigned argument, scmp_datum_t value)
{
	return (struct scmp_arg_cmp){ .arg = argument, .op = SCMP_CMP_EQ, .datum_a = value };
}

/* Memory that is written is never run; without libraries to load no other is either. */
static int allow_mapping(scmp_filter_ctx filter, const char *name, bool network)
{
	const scmp_datum_t both = PROT_EXEC | PROT_WRITE;
	if (!network)
		return allow_where(filter, name, SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	int code = allow_where(filter, name, SCMP_A2_64(SCMP_CMP_MASKED_EQ, both, 0));
	if (!code)
		code = allow_where(filter, name, SCMP_A2_64(SCMP_CMP_MASKED_EQ, both, PROT_EXEC));
	return code ? code : allow_where(filter, name, SCMP_A2_64(SCMP_CMP_MASKED_EQ, both, PROT_WRITE));
}

/* Of calls with many uses those that are needed. */
static int allow_for_all(scmp_filter_ctx filter, bool network)
{
	static const unsigned options[] = { PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_CAPBSET_READ,
					    0x53564d41 /* PR_SET_VMA: names for pieces of memory */ };
	int code = allow_mapping(filter, "mmap", network);
	if (!code)
		code = allow_mapping(filter, "mmap2", network);
	if (!code)
		code = allow_where(filter, "mprotect", SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!code) /* the limits of others are theirs */
		code = allow_where(filter, "prlimit64", equals(0, 0));
	if (!code)
		code = allow_where(filter, "tgkill", equals(0, (scmp_datum_t)getpid()));
	for (size_t i = 0; !code && i < sizeof options / sizeof options[0]; i++)
		code = allow_where(filter, "prctl", equals(0, options[i]));
	return code;
}

static int allow_for_network(scmp_filter_ctx filter)
{
	static const int families[] = { AF_UNIX, AF_INET, AF_INET6 };
	int code = 0;
	for (size_t i = 0; !code && i < sizeof families / sizeof families[0]; i++)
		code = allow_where(filter, "socket", equals(0, (scmp_datum_t)families[i]));
	if (!code)
		code = allow_where(filter, "socketpair", equals(0, AF_UNIX));
	if (!code)
		code = allow_where(
			filter, "clone",
			(struct scmp_arg_cmp){ CLONE_FLAGS_ARGUMENT, SCMP_CMP_MASKED_EQ, NAMESPACES, 0 });
	if (!code)
		code = allow_where(filter, "ioctl", equals(1, FIONREAD));
	return code ? code : allow_where(filter, "ioctl", equals(1, FIONBIO));
}

static int allow_all(scmp_filter_ctx filter, bool network)
{
	int code = allow_for_all(filter, network);
	for (size_t i = 0; !code && i < sizeof calls / sizeof calls[0]; i++)
		if (network || !calls[i].of_network)
			code = allow(filter, calls[i].name, 0, NULL);
	return code || !network ? code : allow_for_network(filter);
}

err_t confine_calls(const struct confinement *needs, struct err_detail *detail)
{
	if (!WORKERS_CAN_BE_CONFINED)
		return ERR_OK;
	scmp_filter_ctx filter = seccomp_init(REFUSED);
	if (!filter)
		return err_fail(detail, ERR_OS, "no filter of system calls (seccomp) can be made");
	int code = allow_all(filter, needs->network);
	if (!code) /* searched as a tree, not as a list */
		code = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!code)
		code = seccomp_load(filter);
	seccomp_release(filter);
	return code ? err_fail(detail, ERR_OS,
			       "a filter of system calls (seccomp) is not to be had here (%s)",
			       strerror(-code))
		    : ERR_OK;
}
