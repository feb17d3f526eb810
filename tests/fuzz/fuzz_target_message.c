/* Frames and payloads between the supervisor and its workers: any bytes either decode or are refused. */
#include "target/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(const struct message *message)
{
	struct arena *arena = arena_new();
	struct worker_settings settings;
	struct validation_request request;
	struct validation_result result;
	struct text_reply reply;
	(void)message_get_settings(message->payload, arena, &settings);
	(void)message_get_validate(message->payload, arena, &request);
	(void)message_get_text(message->payload, arena, &reply);
	if (message_get_validated(message->payload, arena, &result) == ERR_OK) {
		struct buf again = BUF_INIT;
		bool in_range = result.score >= 0 && result.score <= 1;
		if (!in_range || message_put_validated(&again, &result) != ERR_OK)
			abort();
		buf_free(&again);
	}
	if (arena_size_bytes(arena) > (64 * message->payload.len + (1 << 20)))
		abort(); /* a lie about a length was believed */
	arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message message;
	bool complete;
	str_t in = { (const char *)data, size };
	if (message_peek(in, &complete, &message) == ERR_OK && complete)
		decode(&message);
	message = (struct message){ .payload = in };
	decode(&message);
	return 0;
}
