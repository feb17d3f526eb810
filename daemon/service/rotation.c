#include "service/rotation.h"

#include "common/log.h"
#include "common/pem.h"
#include "common/secret.h"
#include "kafka/login.h"

/* Properties that name a file of TLS: librdkafka reads it when it makes a client. */
static const char *const tls_properties[] = { "ssl.ca.location", "ssl.certificate.location",
					      "ssl.key.location", "ssl.keystore.location",
					      "ssl.crl.location" };

enum { TLS_FILES = sizeof tls_properties / sizeof *tls_properties };

/* One of them, as it was when the daemon began and when it was looked at last. */
struct tls_file {
	const char *path; /* NULL: it is not set */
	struct secret_look first, last;
};

struct rotation {
	const struct config *config;
	struct secret_look *looks; /* at the file of each secret property */
	struct tls_file files[TLS_FILES];
	struct security_standing standing;
};

static struct secret_look look_at(const char *property)
{
	return secret_look_at(strchr(property, '=') + 1);
}

static void begin_with_files(struct rotation *rotation)
{
	const struct conf_strings *properties = &rotation->config->kafka.properties;
	char subject[256];
	int64_t ends_ms = 0;
	for (size_t i = 0; i < TLS_FILES; i++) {
		struct tls_file *file = &rotation->files[i];
		file->path = security_property(properties->items, properties->count, tls_properties[i]);
		file->first = file->last = secret_look_at(file->path);
	}
	const char *certificate =
		security_property(properties->items, properties->count, "ssl.certificate.location");
	if (certificate)
		pem_read_certificate(certificate, &ends_ms, subject, sizeof subject, NULL);
	atomic_init(&rotation->standing.certificate_ends_ms, ends_ms);
}

struct rotation *rotation_new(const struct config *config)
{
	const struct conf_strings *files = &config->kafka.secret_properties;
	struct rotation *rotation = calloc(1, sizeof *rotation);
	if (!rotation || !(rotation->looks = calloc(files->count + 1, sizeof *rotation->looks)))
		abort();
	rotation->config = config;
	for (size_t i = 0; i < files->count; i++)
		rotation->looks[i] = look_at(files->items[i]);
	begin_with_files(rotation);
	return rotation;
}

void rotation_free(struct rotation *rotation)
{
	if (!rotation)
		return;
	free(rotation->looks);
	free(rotation);
}

static void take_login(const struct config *config)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	struct conf_strings properties;
	err_t err = config_kafka_properties(config, arena, &properties, &detail);
	if (err) {
		log_warning("the login to Kafka stays as it was: %s", err_message(err, &detail));
		return;
	}
	const char *username = security_property(properties.items, properties.count, "sasl.username");
	const char *password = security_property(properties.items, properties.count, "sasl.password");
	if (!username || !password)
		return;
	kafka_login_set(username, password);
	log_notice("the login to Kafka was read again: connections made from now on use it");
}

const struct security_standing *rotation_standing(const struct rotation *rotation)
{
	return &rotation->standing;
}

static void warn_of_change(const struct tls_file *file, const char *property)
{
	log_warning(
		"the file of the Kafka property %s has changed (%s), which takes effect at the next start: "
		"restart the daemon, a reload does not do it",
		property, file->path);
}

/* Clients that are made from now on would take them, others not: that all do takes a restart. */
static void look_at_tls(struct rotation *rotation)
{
	bool changed = false;
	for (size_t i = 0; i < TLS_FILES; i++) {
		struct tls_file *file = &rotation->files[i];
		const struct secret_look look = secret_look_at(file->path);
		changed |= !secret_look_same(&look, &file->first);
		if (secret_look_same(&look, &file->last))
			continue;
		file->last = look;
		warn_of_change(file, tls_properties[i]);
	}
	atomic_store(&rotation->standing.restart_needed, changed);
}

void rotation_look(struct rotation *rotation)
{
	const struct conf_strings *files = &rotation->config->kafka.secret_properties;
	bool login = false;
	for (size_t i = 0; i < files->count; i++) {
		const char *property = files->items[i];
		const struct secret_look look = look_at(property);
		if (secret_look_same(&look, &rotation->looks[i]))
			continue;
		rotation->looks[i] = look;
		if (strncmp(property, "sasl.username=", 14) == 0 ||
		    strncmp(property, "sasl.password=", 14) == 0)
			login = true;
		else
			log_warning("the file of the Kafka property %.*s has changed, which takes effect at "
				    "the next "
				    "start only",
				    (int)strcspn(property, "="), property);
	}
	if (login)
		take_login(rotation->config);
	look_at_tls(rotation);
}

void rotation_reload(struct rotation *rotation)
{
	for (size_t i = 0; i < TLS_FILES; i++) {
		const struct tls_file *file = &rotation->files[i];
		const struct secret_look look = secret_look_at(file->path);
		if (!secret_look_same(&look, &file->first) && secret_look_same(&look, &file->last))
			warn_of_change(file, tls_properties[i]);
	}
	rotation_look(rotation);
}
