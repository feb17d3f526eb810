#include "service/rotation.h"

#include "common/log.h"
#include "common/secret.h"
#include "kafka/login.h"

struct rotation {
	const struct config *config;
	struct secret_look *looks; /* at the file of each secret property */
};

static struct secret_look look_at(const char *property)
{
	return secret_look_at(strchr(property, '=') + 1);
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
	return rotation;
}

void rotation_free(struct rotation *rotation)
{
	if (!rotation)
		return;
	free(rotation->looks);
	free(rotation);
}

/* The value that librdkafka takes of several: the last; NULL: none. */
static const char *value_of(const struct conf_strings *properties, const char *name)
{
	size_t len = strlen(name);
	const char *value = NULL;
	for (size_t i = 0; i < properties->count; i++) {
		if (strncmp(properties->items[i], name, len) == 0 && properties->items[i][len] == '=')
			value = properties->items[i] + len + 1;
	}
	return value;
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
	const char *username = value_of(&properties, "sasl.username");
	const char *password = value_of(&properties, "sasl.password");
	if (!username || !password)
		return;
	kafka_login_set(username, password);
	log_notice("the login to Kafka was read again: connections made from now on use it");
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
}
