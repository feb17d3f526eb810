#include "address/server_hint.h"

#include "common/banned.h"

#include <stddef.h>
#include <string.h>

/* As libpq, PostgreSQL, MariaDB's client, MariaDB, libmongoc and MongoDB say it; the first that is in the
 * message. */
static const struct {
	const char *part, *hint;
} hints[] = {
	{ "definition of service", "; add it to pg_service.conf (PGSERVICEFILE, or ~/.pg_service.conf of the "
				   "daemon's user), or write its parameters into the dsn" },
	{ "does not match host name",
	  "; set host to the name in the certificate, or set sslmode to verify-ca" },
	{ "certificate verify failed",
	  "; set the CA certificates of the server: sslrootcert of libpq, ssl_ca of mariadb, tlsCAFile of "
	  "mongodb" },
	{ "root certificate file",
	  "; correct sslrootcert: it has to name the CA certificates of the server" },
	{ "has group or world access", "; chmod 600 the key, which has to belong to the daemon's user" },
	{ "could not load private key", "; mend sslkey, and let the daemon's user read it" },
	{ "could not read certificate", "; mend sslcert, and let the daemon's user read it" },
	{ "does not support SSL", "; enable it in the server, or correct sslmode" },
	{ "SSL negotiation", "; this may not be PostgreSQL: correct host and port" },
	{ "expected authentication request", "; this is not PostgreSQL: correct host and port" },
	{ "could not translate host name", "; mend host, or the name service" },
	{ "Unknown server host", "; mend host, or the name service" },
	{ "Unknown MySQL server host", "; mend host, or the name service" },
	{ "Connection refused", "; no server listens there: start it, or mend host and port" },
	{ "connection refused calling hello",
	  "; no server listens there: start it, or mend host and port of the dsn" },
	{ "TLS handshake failed", "; the server may not speak TLS: mend tls and port of the dsn" },
	{ "calling hello",
	  "; no answer, or not one of MongoDB: check host, port and firewall, whether tls of the "
	  "dsn is what the server wants, and whether the server hangs" },
	{ "Failed to resolve", "; mend the host in the dsn, or the name service" },
	{ "no suitable server was found", "; none of the hosts is what the dsn asks for: mend replicaSet or "
					  "readPreference" },
	{ "saslStart", "; the server knows no users: leave user and password out, or mend the dsn" },
	{ "Authentication failed", "; mend user, authSource and what password_file holds" },
	{ "Can't connect to server on", "; no server listens there: start it, or mend host and port" },
	{ "Can't connect to local server", "; no server listens there: start it, or set host in the dsn" },
	{ "connection to server on socket",
	  "; no server listens there: start it, or set host in the dsn; without a host, a socket is used" },
	{ "reading initial communication packet",
	  "; the server accepts the connection and does not answer, or is not MariaDB: correct host and "
	  "port, or check whether the server hangs" },
	{ "timeout expired", "; no answer, or not one of PostgreSQL: check host, port and firewall, and "
			     "whether the server hangs" },
	{ "did not answer in time", "; no answer, or not one of PostgreSQL: check host, port and firewall, "
				    "and whether the server hangs" },
	{ "No route to host", "; mend host, or the network" },
	{ "no password supplied", "; write the password to a file and set password_file to its name" },
	{ "password authentication failed", "; mend what password_file holds, or the role's password" },
	{ "Access denied for user", "; mend user and what password_file holds, or the account's rights" },
	{ "no pg_hba.conf entry", "; allow it in the server's pg_hba.conf" },
	{ "authentication failed", "; mend user, or the server's pg_hba.conf" },
	{ "too many connections", "; raise the limit in the server, or lower connections" },
	{ "connection slots", "; raise max_connections in the server, or lower connections" },
	{ "permission denied for database", "; GRANT CONNECT on it to the role" },
	{ "Unknown database", "; mend dbname, or create it" },
	{ "starting up", "; try again in a moment" },
};

const char *server_hint(const char *message)
{
	const char *database = strstr(message, "database \""), *role = strstr(message, "role \"");
	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
		if (strstr(message, hints[i].part))
			return hints[i].hint;
	if (database && strstr(database, "does not exist"))
		return "; mend dbname, or create it";
	if (role && strstr(role, "does not exist"))
		return "; mend user, or create the role";
	return "";
}
