/* Landlock by its bare system calls: the C library has none for them. */
#include "target/confine.h"

#include "target/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the headers of an older kernel do not know yet. */
#define FS_RIGHTS_1	((UINT64_C(1) << 13) - 1)
#define FS_REFER	(UINT64_C(1) << 13) /* from version 2 on, likewise below */
#define FS_TRUNCATE	(UINT64_C(1) << 14) /* 3 */
#define NET_BIND	UINT64_C(1)	    /* 4, with NET_CONNECT */
#define NET_CONNECT	UINT64_C(2)
#define FS_IOCTL_DEVICE (UINT64_C(1) << 15) /* 5 */
#define SCOPE_ABSTRACT	UINT64_C(1)	    /* 6, with SCOPE_SIGNAL */
#define SCOPE_SIGNAL	UINT64_C(2)
#define RULE_PORT	2

struct ruleset_attributes {
	uint64_t files, network, scopes;
};

struct port_rule {
	uint64_t allowed, port;
};

#define DNS_PORT      53
#define KERBEROS_PORT 88

/* For anybody: the time zone, chance, nothing. */
static const char *const for_all[] = { "/etc/localtime", "/usr/share/zoneinfo", "/dev/urandom",
				       "/dev/random" };

/* What a client library reads besides what its connection names: libraries that it or the C library loads by
 * name, certificates of authorities, where names come from, Kerberos. */
static const char *const for_network[] = {
	"/lib",
	"/lib64",
	"/usr/lib",
	"/usr/lib64",
	"/usr/local/lib",
	"/etc/ld.so.cache",
	"/etc/ssl/certs",
	"/etc/ssl/cert.pem",
	"/etc/ssl/openssl.cnf",
	"/etc/ca-certificates",
	"/etc/pki/tls/certs",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/tls/openssl.cnf",
	"/etc/pki/ca-trust",
	"/etc/crypto-policies",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/etc/resolv.conf",
	"/run/systemd/resolve",
	"/run/resolvconf",
	"/run/NetworkManager/resolv.conf",
	"/etc/nsswitch.conf",
	"/etc/hosts",
	"/etc/hostname",
	"/etc/host.conf",
	"/etc/gai.conf",
	"/etc/services",
	"/etc/protocols",
	"/etc/passwd",
	"/etc/group",
	"/var/lib/sss/mc",
	"/var/lib/sss/pubconf",
	"/etc/krb5.conf",
	"/etc/krb5.conf.d",
	"/etc/gss",
	"/proc/sys/crypto",
	"/sys/devices/system/cpu",
};

/* Variables that worker processes keep (process.c) and that name a file. */
static const char *const variables[] = { "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF", "KRB5_CONFIG" };

int confine_landlock_version(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static int make_ruleset(int version, const struct confinement *needs)
{
	struct ruleset_attributes attributes = { .files = FS_RIGHTS_1 };
	attributes.files |= version >= 2 ? FS_REFER : 0;
	attributes.files |= version >= 3 ? FS_TRUNCATE : 0;
	attributes.files |= version >= 5 ? FS_IOCTL_DEVICE : 0;
	attributes.network = version >= 4 ? NET_BIND | NET_CONNECT : 0;
	attributes.scopes = version >= 6 ? SCOPE_SIGNAL | (needs->abstract_sockets ? 0 : SCOPE_ABSTRACT) : 0;
	size_t known = version >= 6 ? 3 : version >= 4 ? 2 : 1;
	return (int)syscall(SYS_landlock_create_ruleset, &attributes, known * sizeof(uint64_t), 0);
}

static bool allow_path(int ruleset, int version, const char *path, bool written)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE };
	struct stat file;
	_cleanup_(cleanup_close) int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &file) != 0)
		return true; /* what is not there needs no right */
	rule.parent_fd = fd;
	if (S_ISDIR(file.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	else if (written)
		rule.allowed_access |= LANDLOCK_ACCESS_FS_WRITE_FILE | (version >= 3 ? FS_TRUNCATE : 0);
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

static bool allow_paths(int ruleset, int version, const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!allow_path(ruleset, version, paths[i], false))
			return false;
	return true;
}

/* As MIT Kerberos names its cache of tickets, which it also writes to. */
static bool allow_tickets(int ruleset, int version)
{
	char usual[64];
	const char *name = getenv("KRB5CCNAME");
	snprintf(usual, sizeof usual, "/tmp/krb5cc_%ld", (long)getuid());
	if (name && strncmp(name, "FILE:", 5) == 0)
		name += 5;
	return allow_path(ruleset, version, name && name[0] == '/' ? name : usual, true);
}

static bool allow_port(int ruleset, uint16_t port)
{
	const struct port_rule rule = { .allowed = NET_CONNECT, .port = port };
	return syscall(SYS_landlock_add_rule, ruleset, RULE_PORT, &rule, 0) == 0;
}

static bool allow_network(int ruleset, int version, const struct confinement *needs)
{
	bool allowed =
		allow_paths(ruleset, version, for_network, sizeof for_network / sizeof for_network[0]) &&
		allow_tickets(ruleset, version);
	for (size_t i = 0; allowed && i < sizeof variables / sizeof variables[0]; i++) {
		const char *path = getenv(variables[i]);
		allowed = !path || allow_path(ruleset, version, path, false);
	}
	if (allowed && version >= 4)
		allowed = allow_port(ruleset, DNS_PORT) && allow_port(ruleset, KERBEROS_PORT);
	for (size_t i = 0; allowed && version >= 4 && i < needs->ports_count; i++)
		allowed = allow_port(ruleset, needs->ports[i]);
	return allowed;
}

static bool allow_needs(int ruleset, int version, const struct confinement *needs)
{
	bool allowed = allow_paths(ruleset, version, for_all, sizeof for_all / sizeof for_all[0]) &&
		       allow_path(ruleset, version, "/dev/null", true);
	for (size_t i = 0; allowed && i < needs->paths_count; i++)
		allowed = allow_path(ruleset, version, needs->paths[i].path, needs->paths[i].written);
	return allowed && (!needs->network || allow_network(ruleset, version, needs));
}

err_t confine_files(const struct confinement *needs, struct err_detail *detail)
{
	if (!WORKERS_CAN_BE_CONFINED)
		return ERR_OK;
	int version = confine_landlock_version();
	_cleanup_(cleanup_close) int ruleset = version > 0 ? make_ruleset(version, needs) : -1;
	if (ruleset >= 0 && allow_needs(ruleset, version, needs) &&
	    syscall(SYS_landlock_restrict_self, ruleset, 0) == 0)
		return ERR_OK;
	return err_fail(detail, ERR_OS, "Landlock is not to be had here (%s)", strerror(errno));
}
