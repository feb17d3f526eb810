#include "kafka/security.h"

#include "address/base_url.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/pem.h"
#include "common/secret.h"
#include "kafka/token_keeper.h"

#include <errno.h>
#include <sys/stat.h>

enum { VALUE_SIZE = 4096 };

struct looking {
	const rd_kafka_conf_t *conf;
	security_wrong_fn wrong;
	void *context;
	err_t first;
};

/* False: it is not set. */
static bool get(const rd_kafka_conf_t *conf, const char *name, char ret_value[VALUE_SIZE])
{
	size_t size = VALUE_SIZE;
	bool known = rd_kafka_conf_get(conf, name, ret_value, &size) == RD_KAFKA_CONF_OK && *ret_value;
	if (!known)
		*ret_value = '\0';
	return known;
}

static bool is_set(const rd_kafka_conf_t *conf, const char *name)
{
	char value[VALUE_SIZE];
	bool set = get(conf, name, value);
	explicit_bzero(value, sizeof value);
	return set;
}

/* `property`: which one is to be mended. */
static void report(struct looking *looking, const char *property, err_t err, const struct err_detail *reason)
{
	struct err_detail detail;
	if (!err)
		return;
	err_fail(&detail, err, "kafka.properties: %s: %s", property, err_message(err, reason));
	looking->wrong(err, &detail, looking->context);
	looking->first = looking->first ? looking->first : err;
}

static bool uses(const rd_kafka_conf_t *conf, const char *part)
{
	char protocol[VALUE_SIZE];
	return get(conf, "security.protocol", protocol) && strcasestr(protocol, part);
}

/* ---- TLS ---- */

/* A file, a folder of files, or "probe". */
static void look_at_authorities(struct looking *looking)
{
	char path[VALUE_SIZE];
	struct err_detail reason = { "" };
	struct stat status;
	if (!get(looking->conf, "ssl.ca.location", path) || strcmp(path, "probe") == 0 ||
	    (stat(path, &status) == 0 && S_ISDIR(status.st_mode) && access(path, R_OK | X_OK) == 0))
		return;
	report(looking, "ssl.ca.location", pem_check_certificates(path, &reason), &reason);
}

static void look_at_certificate(struct looking *looking)
{
	char certificate[VALUE_SIZE], key[VALUE_SIZE], password[VALUE_SIZE];
	struct err_detail reason = { "" };
	bool has_certificate = get(looking->conf, "ssl.certificate.location", certificate);
	bool has_key = get(looking->conf, "ssl.key.location", key);
	bool has_password = get(looking->conf, "ssl.key.password", password);
	const char *opens = has_password ? password : NULL;
	if (has_certificate && has_key) {
		err_t err = pem_check_certificates(certificate, &reason);
		report(looking, "ssl.certificate.location", err, &reason);
		err_t key_err = pem_check_key(key, opens, &reason);
		if (key_err && !has_password && strstr(reason.message, PEM_ENCRYPTED))
			err_fail(&reason, key_err,
				 "%s: the key is encrypted, and no password is given; name the file of its "
				 "password in kafka.secret_properties (\"ssl.key.password=FILE\"), or write "
				 "it "
				 "unencrypted (openssl pkey -in KEY -out NEW)",
				 key);
		report(looking, "ssl.key.location", key_err, &reason);
		if (!err && !key_err)
			report(looking, "ssl.certificate.location, ssl.key.location",
			       pem_check_pair(certificate, key, opens, &reason), &reason);
	} else if (has_certificate && !is_set(looking->conf, "ssl.key.pem")) {
		report(looking, "ssl.certificate.location", ERR_CONFIG_MISSING,
		       &(struct err_detail){
			       "the key of this certificate is missing: set ssl.key.location" });
	} else if (has_key && !is_set(looking->conf, "ssl.certificate.pem")) {
		report(looking, "ssl.key.location", ERR_CONFIG_MISSING,
		       &(struct err_detail){
			       "the certificate of this key is missing: set ssl.certificate.location" });
	}
	explicit_bzero(password, sizeof password);
}

static void look_at_other_files(struct looking *looking)
{
	static const char *const properties[] = { "ssl.keystore.location", "ssl.crl.location" };
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		char path[VALUE_SIZE];
		struct err_detail reason = { "" };
		if (get(looking->conf, properties[i], path) && access(path, R_OK) != 0)
			report(looking, properties[i],
			       err_fail(&reason, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno)),
			       &reason);
	}
}

/* ---- logins ---- */

static void look_at_kerberos(struct looking *looking)
{
	char keytab[VALUE_SIZE], command[VALUE_SIZE];
	struct err_detail reason = { "" };
	bool has_keytab = get(looking->conf, "sasl.kerberos.keytab", keytab);
	bool needs_keytab = get(looking->conf, "sasl.kerberos.kinit.cmd", command) &&
			    strstr(command, "%{sasl.kerberos.keytab}");
	if (needs_keytab && !has_keytab)
		report(looking, "sasl.kerberos.keytab", ERR_CONFIG_MISSING,
		       &(struct err_detail){
			       "sasl.mechanism is GSSAPI (its default), which needs a keytab with the keys "
			       "of sasl.kerberos.principal; set this property, or set sasl.mechanism to "
			       "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER" });
	else if (needs_keytab && access(keytab, R_OK) != 0)
		report(looking, "sasl.kerberos.keytab",
		       err_fail(&reason, ERR_FILE_UNREADABLE, "%s: %s", keytab, strerror(errno)), &reason);
}

static void look_at_password(struct looking *looking, const char *mechanism)
{
	static const char *const needed[] = { "sasl.username", "sasl.password" };
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
		struct err_detail reason = { "" };
		if (is_set(looking->conf, needed[i]))
			continue;
		report(looking, needed[i],
		       err_fail(&reason, ERR_CONFIG_MISSING,
				"sasl.mechanism is %s, which needs it; set it in %s", mechanism,
				i ? "kafka.secret_properties" : "kafka.properties"),
		       &reason);
	}
}

static bool is_known(const char *mechanism)
{
	static const char *const known[] = { "GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512",
					     "OAUTHBEARER" };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(mechanism, known[i]) == 0)
			return true;
	return false;
}

static void look_at_login(struct looking *looking)
{
	char mechanism[VALUE_SIZE];
	struct err_detail reason = { "" };
	if (!get(looking->conf, "sasl.mechanisms", mechanism))
		return;
	if (!is_known(mechanism))
		report(looking, "sasl.mechanism",
		       err_fail(
			       &reason, ERR_CONFIG_RANGE,
			       "\"%.60s\" is not one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER and "
			       "GSSAPI",
			       mechanism),
		       &reason);
	else if (strcmp(mechanism, "GSSAPI") == 0)
		look_at_kerberos(looking);
	else if (strcmp(mechanism, "PLAIN") == 0 || strncmp(mechanism, "SCRAM-", 6) == 0)
		look_at_password(looking, mechanism);
}

err_t security_check(const rd_kafka_conf_t *conf, security_wrong_fn wrong, void *context)
{
	struct looking looking = { .conf = conf, .wrong = wrong, .context = context };
	if (uses(conf, "ssl")) {
		look_at_authorities(&looking);
		look_at_certificate(&looking);
		look_at_other_files(&looking);
	}
	if (uses(conf, "sasl"))
		look_at_login(&looking);
	return looking.first;
}

/* ---- tokens ---- */

static void report_oauth(struct looking *looking, const char *setting, err_t err,
			 const struct err_detail *reason)
{
	struct err_detail detail;
	if (!err)
		return;
	err_fail(&detail, err, "kafka.oauth.%s: %s", setting, err_message(err, reason));
	looking->wrong(err, &detail, looking->context);
	looking->first = looking->first ? looking->first : err;
}

err_t security_check_oauth(const struct kafka_oauth_settings *oauth, security_wrong_fn wrong, void *context)
{
	_cleanup_(secret_free) char *secret = NULL;
	struct looking looking = { .wrong = wrong, .context = context };
	struct err_detail reason = { "" };
	report_oauth(&looking, "client_secret_file",
		     secret_read_password(oauth->client_secret_file, &secret, &reason), &reason);
	if (oauth->ca_file)
		report_oauth(&looking, "ca_file", pem_check_certificates(oauth->ca_file, &reason), &reason);
	return looking.first;
}

/* ---- who we are ---- */

const char *security_property(const char *const *properties, size_t count, const char *name)
{
	size_t len = strlen(name);
	const char *value = NULL;
	for (size_t i = 0; i < count; i++)
		if (strncmp(properties[i], name, len) == 0 && properties[i][len] == '=')
			value = properties[i] + len + 1;
	return value;
}

static const char *property_of(const struct kafka_settings *settings, const char *name)
{
	return security_property(settings->properties, settings->properties_count, name);
}

void security_principal(const struct kafka_settings *settings, char *ret_principal, size_t size)
{
	const char *protocol = property_of(settings, "security.protocol");
	const char *mechanism = property_of(settings, "sasl.mechanism");
	const char *certificate = property_of(settings, "ssl.certificate.location"), *user = NULL;
	int64_t ends_ms;
	*ret_principal = '\0';
	if (!mechanism)
		mechanism = property_of(settings, "sasl.mechanisms");
	if (protocol && strcasecmp(protocol, "ssl") == 0 && certificate &&
	    pem_read_certificate(certificate, &ends_ms, ret_principal, size, NULL) != ERR_OK)
		*ret_principal = '\0';
	if (!protocol || strncasecmp(protocol, "sasl", 4) != 0)
		return;
	if (settings->oauth)
		token_keeper_subject(ret_principal, size);
	else if (mechanism && (strcmp(mechanism, "PLAIN") == 0 || strncmp(mechanism, "SCRAM-", 6) == 0))
		user = property_of(settings, "sasl.username");
	if (user)
		snprintf(ret_principal, size, "%s", user);
}

/* ---- without effect, or not for long ---- */

static void doubt_certificate(const rd_kafka_conf_t *conf, struct buf *doubts)
{
	char path[VALUE_SIZE], subject[256];
	int64_t ends_ms, left_ms;
	if (!uses(conf, "ssl") || !get(conf, "ssl.certificate.location", path) ||
	    pem_read_certificate(path, &ends_ms, subject, sizeof subject, NULL))
		return;
	left_ms = ends_ms - clock_wall_ms();
	if (left_ms > 0 && left_ms < SECURITY_CERTIFICATE_WARN_MS)
		buf_printf(doubts,
			   "ssl.certificate.location: the certificate expires in %lld days: have it renewed, "
			   "and "
			   "restart what runs\n",
			   (long long)(left_ms / 86400000));
}

static void doubt_token_url(const struct kafka_oauth_settings *oauth, struct buf *doubts)
{
	if (oauth && base_url_is_plain(oauth->token_url))
		buf_append_text(
			doubts,
			"kafka.oauth.token_url is plain http to another host: the client's secret and the "
			"tokens travel unencrypted; use https\n");
}

static void doubt_tokens_in_the_clear(const struct kafka_oauth_settings *oauth, const rd_kafka_conf_t *conf,
				      struct buf *doubts)
{
	if (oauth && uses(conf, "sasl") && !uses(conf, "ssl"))
		buf_append_text(
			doubts,
			"security.protocol is SASL_PLAINTEXT: tokens travel to the brokers unencrypted, "
			"and whoever reads one can log in with it; use SASL_SSL\n");
}

static void doubt(const struct kafka_settings *settings, const rd_kafka_conf_t *conf, const char *prefix,
		  const char *part, const char *protocols, struct buf *doubts)
{
	char protocol[VALUE_SIZE];
	if (uses(conf, part) || !get(conf, "security.protocol", protocol))
		return;
	for (size_t i = 0; i < settings->properties_count; i++) {
		const char *property = settings->properties[i];
		if (strncmp(property, prefix, strlen(prefix)) != 0)
			continue;
		buf_printf(doubts,
			   "%.*s has no effect while security.protocol is %s: set that to %s in "
			   "kafka.properties\n",
			   (int)strcspn(property, "="), property, protocol, protocols);
		return; /* of one kind one is enough */
	}
}

str_t security_doubts(const struct kafka_settings *settings, const rd_kafka_conf_t *conf, struct arena *arena)
{
	_cleanup_(buf_free) struct buf doubts = BUF_INIT;
	doubt(settings, conf, "ssl.", "ssl", "SSL or SASL_SSL", &doubts);
	doubt(settings, conf, "sasl.", "sasl", "SASL_SSL or SASL_PLAINTEXT", &doubts);
	doubt_certificate(conf, &doubts);
	doubt_token_url(settings->oauth, &doubts);
	doubt_tokens_in_the_clear(settings->oauth, conf, &doubts);
	return doubts.len ? arena_str(arena, buf_str(&doubts)) : STR_NONE;
}

/* ---- a client ---- */

bool security_reaches_out(const rd_kafka_conf_t *conf)
{
	char mechanism[VALUE_SIZE];
	return uses(conf, "sasl") && get(conf, "sasl.mechanisms", mechanism) &&
	       (strcmp(mechanism, "GSSAPI") == 0 || strcmp(mechanism, "OAUTHBEARER") == 0);
}
