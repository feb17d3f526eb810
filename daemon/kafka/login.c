#include "kafka/login.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <pthread.h>
#include <string.h>

/* One process has one login: it belongs to the brokers, not to a client. All is guarded by the mutex. */
static struct {
	pthread_mutex_t mutex;
	rd_kafka_t **clients;
	size_t count, capacity;
	char *username, *password; /* NULL: never set, clients have what they were created with */
} login = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void apply(rd_kafka_t *client)
{
	rd_kafka_error_t *error = rd_kafka_sasl_set_credentials(client, login.username, login.password);
	if (!error)
		return;
	log_warning("Kafka client %s keeps its login: %s", rd_kafka_name(client),
		    rd_kafka_error_string(error));
	rd_kafka_error_destroy(error);
}

void kafka_login_join(rd_kafka_t *client)
{
	pthread_mutex_lock(&login.mutex);
	if (login.count == login.capacity) {
		login.capacity = login.capacity ? 2 * login.capacity : 8;
		login.clients = realloc(login.clients, login.capacity * sizeof *login.clients);
		if (!login.clients)
			abort();
	}
	login.clients[login.count++] = client;
	if (login.password)
		apply(client);
	pthread_mutex_unlock(&login.mutex);
}

void kafka_login_leave(rd_kafka_t *client)
{
	pthread_mutex_lock(&login.mutex);
	for (size_t i = 0; i < login.count; i++) {
		if (login.clients[i] == client) {
			login.clients[i] = login.clients[--login.count];
			break;
		}
	}
	if (login.count == 0) {
		free(login.clients);
		login.clients = NULL;
		login.capacity = 0;
	}
	pthread_mutex_unlock(&login.mutex);
}

static char *copy(const char *text)
{
	char *copied = strdup(text);
	if (!copied)
		abort();
	return copied;
}

void kafka_login_set(const char *username, const char *password)
{
	pthread_mutex_lock(&login.mutex);
	if (login.password)
		explicit_bzero(login.password, strlen(login.password));
	free(login.password);
	free(login.username);
	login.username = copy(username);
	login.password = copy(password);
	for (size_t i = 0; i < login.count; i++)
		apply(login.clients[i]);
	pthread_mutex_unlock(&login.mutex);
}
