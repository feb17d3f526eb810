#include "kafka/login.h"

#include "common/log.h"
#include "common/secret.h"
#include "kafka/client.h"

#include <pthread.h>
#include <string.h>

/* One process has one login: it belongs to the brokers, not to a client. All is guarded by the mutex. */
static struct {
	pthread_mutex_t mutex;
	rd_kafka_t **clients;
	size_t count, capacity;
	char *username, *password;	   /* NULL: never set, clients have what they were created with */
	struct kafka_login_token token;	   /* its value is NULL: never set */
	char *token_value, *token_subject; /* which it points at */
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

/* What the client has said of its token up to now, which nobody waits for. */
static void drain(rd_kafka_t *client)
{
	_cleanup_(kafka_queue_cleanup) rd_kafka_queue_t *queue = rd_kafka_queue_get_sasl(client);
	while (queue && rd_kafka_queue_poll_callback(queue, 0) > 0)
		;
}

static err_t apply_token(rd_kafka_t *client, const struct kafka_login_token *token, struct err_detail *detail)
{
	char reason[256];
	drain(client);
	rd_kafka_resp_err_t err = rd_kafka_oauthbearer_set_token(
		client, token->value, token->expires_ms, token->subject, token->extensions,
		token->extensions_count, reason, sizeof reason);
	if (!err || err == RD_KAFKA_RESP_ERR__STATE) /* it does not log in by tokens */
		return ERR_OK;
	return err_fail(detail, ERR_KAFKA_CONFIG, "the Kafka client does not take the token: %s", reason);
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
	if (login.token.value) /* one that has expired is refused: another one is on its way */
		apply_token(client, &login.token, NULL);
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
	secret_free(&login.password);
	free(login.username);
	login.username = copy(username);
	login.password = copy(password);
	for (size_t i = 0; i < login.count; i++)
		apply(login.clients[i]);
	pthread_mutex_unlock(&login.mutex);
}

err_t kafka_login_set_token(const struct kafka_login_token *token, struct err_detail *detail)
{
	err_t err = ERR_OK;
	pthread_mutex_lock(&login.mutex);
	for (size_t i = 0; !err && i < login.count; i++)
		err = apply_token(login.clients[i], token, detail);
	if (!err) {
		secret_free(&login.token_value);
		free(login.token_subject);
		login.token = *token;
		login.token.value = login.token_value = copy(token->value);
		login.token.subject = login.token_subject = copy(token->subject);
	}
	pthread_mutex_unlock(&login.mutex);
	return err;
}
