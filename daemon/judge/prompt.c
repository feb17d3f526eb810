#include "judge/prompt.h"

#include "common/arena.h"
#include "common/hash.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/random.h>

#include "judge/builtin_prompts.inc"

enum prompt_slot {
	SLOT_LITERAL,
	SLOT_QUESTION,
	SLOT_SQL,
	SLOT_TRUTH_SQL,
	SLOT_SCHEMA,
	SLOT_DIALECT,
	SLOT_NONCE,
	SLOT_COUNT
};

static const char *const slot_names[SLOT_COUNT] = {
	[SLOT_QUESTION] = "question", [SLOT_SQL] = "sql",	  [SLOT_TRUTH_SQL] = "truth_sql",
	[SLOT_SCHEMA] = "schema",     [SLOT_DIALECT] = "dialect", [SLOT_NONCE] = "nonce",
};

struct prompt_part {
	enum prompt_slot slot;
	str_t text; /* of a literal */
	unsigned line;
};

struct section {
	struct prompt_part *parts;
	size_t count, capacity;
};

struct template
{
	struct section system, user;
	unsigned char digest[DIGEST_BYTES]; /* of the file */
};

struct prompts {
	_Atomic unsigned shares;
	struct arena *arena;
	struct template templates[JUDGE_CORRECTNESS + 1];
	str_t text; /* that the digest is of, in the arena */
	char digest[DIGEST_HEX_SIZE];
};

static const struct {
	const char *file;
	const char *builtin;
	size_t builtin_len;
} sources[] = {
	[JUDGE_RELEVANCE] = { "relevance.txt", builtin_relevance, sizeof builtin_relevance - 1 },
	[JUDGE_CORRECTNESS] = { "correctness.txt", builtin_correctness, sizeof builtin_correctness - 1 },
};

/* Where a template is being read. */
struct prompt_reader {
	struct arena *arena;
	const char *name; /* of the file, for errors */
	enum judge_question kind;
	unsigned line;
	struct err_detail *detail;
};

static err_t malformed(const struct prompt_reader *reader, unsigned line, const char *what, str_t name)
{
	return err_fail(reader->detail, ERR_CONFIG_SYNTAX, "%s:%u: " STR_FMT "%s", reader->name, line,
			STR_ARG(name), what);
}

static bool is_data(enum prompt_slot slot)
{
	return slot == SLOT_QUESTION || slot == SLOT_SQL || slot == SLOT_TRUTH_SQL || slot == SLOT_SCHEMA;
}

static bool is_known(enum judge_question kind, enum prompt_slot slot)
{
	return slot != SLOT_TRUTH_SQL || kind == JUDGE_CORRECTNESS;
}

static enum prompt_slot find_slot(enum judge_question kind, str_t name)
{
	for (enum prompt_slot slot = SLOT_QUESTION; slot < SLOT_COUNT; slot++)
		if (str_is(name, slot_names[slot]) && is_known(kind, slot))
			return slot;
	return SLOT_LITERAL;
}

static void add_part(struct prompt_reader *reader, struct section *section, enum prompt_slot slot, str_t text)
{
	struct prompt_part part = { slot, text, reader->line };
	if (slot != SLOT_LITERAL || text.len > 0)
		ARENA_PUSH(reader->arena, section->parts, section->count, section->capacity, part);
}

static void count_lines(struct prompt_reader *reader, const char *from, const char *to)
{
	for (const char *c = from; c < to; c++)
		reader->line += *c == '\n';
}

/* Cuts the text of a section into literals and placeholders. */
static err_t read_section(struct prompt_reader *reader, str_t text, struct section *section)
{
	const char *end = text.ptr + text.len;
	for (const char *at = text.ptr; at < end;) {
		const char *open = memmem(at, (size_t)(end - at), "{{", 2);
		const char *stop = open ? open : end;
		add_part(reader, section, SLOT_LITERAL, (str_t){ at, (size_t)(stop - at) });
		count_lines(reader, at, stop);
		if (!open)
			break;
		const char *close = memmem(open, (size_t)(end - open), "}}", 2);
		if (!close)
			return malformed(reader, reader->line, "a placeholder is not closed", STR(""));
		str_t name = { open + 2, (size_t)(close - open - 2) };
		enum prompt_slot slot = find_slot(reader->kind, name);
		if (slot == SLOT_LITERAL)
			return malformed(reader, reader->line, " is not a placeholder of this prompt", name);
		add_part(reader, section, slot, STR_NONE);
		at = close + 2;
	}
	return ERR_OK;
}

/* The placeholder before (step −1) or after (step 1) the part at `at`; SLOT_LITERAL when there is none. */
static enum prompt_slot neighbour(const struct section *section, size_t at, int step)
{
	for (size_t i = at + (size_t)step; i < section->count; i += (size_t)step)
		if (section->parts[i].slot != SLOT_LITERAL)
			return section->parts[i].slot;
	return SLOT_LITERAL;
}

static err_t check_data(const struct prompt_reader *reader, const struct template *template)
{
	for (size_t i = 0; i < template->system.count; i++)
		if (is_data(template->system.parts[i].slot))
			return malformed(reader, template->system.parts[i].line,
					 " may stand only in the [user] section",
					 str_from(slot_names[template->system.parts[i].slot]));
	for (size_t i = 0; i < template->user.count; i++) {
		const struct prompt_part *part = &template->user.parts[i];
		if (is_data(part->slot) && (neighbour(&template->user, i, -1) != SLOT_NONCE ||
					    neighbour(&template->user, i, 1) != SLOT_NONCE))
			return malformed(reader, part->line, " needs {{nonce}} before and after it",
					 str_from(slot_names[part->slot]));
	}
	return ERR_OK;
}

static bool uses(const struct section *section, enum prompt_slot slot)
{
	for (size_t i = 0; i < section->count; i++)
		if (section->parts[i].slot == slot)
			return true;
	return false;
}

static err_t check_template(const struct prompt_reader *reader, const struct template *template)
{
	for (enum prompt_slot slot = SLOT_QUESTION; slot < SLOT_COUNT; slot++)
		if (slot != SLOT_SCHEMA && is_known(reader->kind, slot) && !uses(&template->system, slot) &&
		    !uses(&template->user, slot))
			return malformed(reader, reader->line,
					 " is missing: the prompt must use this placeholder",
					 str_from(slot_names[slot]));
	return check_data(reader, template);
}

static err_t read_template(struct prompt_reader *reader, str_t text, struct template *template)
{
	static const str_t opening = { "[system]\n", 9 }, middle = { "\n[user]\n", 8 };
	reader->line = 1;
	if (text.len < opening.len || memcmp(text.ptr, opening.ptr, opening.len) != 0)
		return malformed(reader, 1, "the prompt must begin with a line [system]", STR(""));
	const char *user = memmem(text.ptr, text.len, middle.ptr, middle.len);
	if (!user)
		return malformed(reader, 1, "the prompt has no line [user]", STR(""));
	if (user < text.ptr + opening.len)
		return malformed(reader, 2, "the [system] section is empty", STR(""));
	str_t system_text = { text.ptr + opening.len, (size_t)(user - text.ptr) - opening.len };
	str_t user_text = { user + middle.len, (size_t)(text.ptr + text.len - user) - middle.len };
	reader->line = 2;
	err_t err = read_section(reader, system_text, &template->system);
	if (err != ERR_OK)
		return err;
	reader->line += 2;
	err = read_section(reader, user_text, &template->user);
	return err != ERR_OK ? err : check_template(reader, template);
}

static err_t read_file(struct arena *arena, const char *path, str_t *ret_text, struct err_detail *detail)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	if (!file)
		return err_fail(detail, ERR_FILE_UNREADABLE, "cannot read the prompt %s: %s", path,
				strerror(errno));
	char *data = arena_alloc(arena, PROMPT_FILE_MAX + 1);
	size_t len = fread(data, 1, PROMPT_FILE_MAX + 1, file);
	if (ferror(file))
		return err_fail(detail, ERR_FILE_UNREADABLE, "cannot read the prompt %s: %s", path,
				strerror(errno));
	if (len > PROMPT_FILE_MAX || memchr(data, 0, len))
		return err_fail(detail, ERR_CONFIG_SYNTAX,
				"%s:1: the prompt is not a text of at most %zu KiB", path,
				PROMPT_FILE_MAX / 1024);
	*ret_text = (str_t){ data, len };
	return ERR_OK;
}

static err_t load_one(struct prompts *prompts, const char *directory, enum judge_question kind,
		      struct buf *digested, struct err_detail *detail)
{
	char path[PATH_MAX];
	str_t text = { sources[kind].builtin, sources[kind].builtin_len };
	snprintf(path, sizeof path, "%s/%s", directory ? directory : "built-in", sources[kind].file);
	err_t err = directory ? read_file(prompts->arena, path, &text, detail) : ERR_OK;
	if (err != ERR_OK)
		return err;
	buf_printf(digested, "%s %zu\n", sources[kind].file, text.len);
	buf_append_str(digested, text);
	hash_sha256(text.ptr, text.len, prompts->templates[kind].digest);
	struct prompt_reader reader = {
		.arena = prompts->arena, .name = path, .kind = kind, .detail = detail
	};
	return read_template(&reader, text, &prompts->templates[kind]);
}

err_t prompts_load(const char *directory, struct prompts **ret_prompts, struct err_detail *detail)
{
	_cleanup_(prompts_cleanup) struct prompts *prompts = calloc(1, sizeof *prompts);
	if (!prompts)
		abort();
	prompts->shares = 1;
	prompts->arena = arena_new();
	_cleanup_(buf_free) struct buf digested = BUF_INIT;
	for (enum judge_question kind = JUDGE_RELEVANCE; kind <= JUDGE_CORRECTNESS; kind++) {
		err_t err = load_one(prompts, directory, kind, &digested, detail);
		if (err != ERR_OK)
			return err;
	}
	prompts->text = arena_text(prompts->arena, digested.data, digested.len);
	hash_sha256_hex(digested.data, digested.len, prompts->digest);
	*ret_prompts = TAKE_PTR(prompts);
	return ERR_OK;
}

struct prompts *prompts_share(struct prompts *prompts)
{
	atomic_fetch_add(&prompts->shares, 1);
	return prompts;
}

void prompts_free(struct prompts *prompts)
{
	if (!prompts || atomic_fetch_sub(&prompts->shares, 1) > 1)
		return;
	arena_free(prompts->arena);
	free(prompts);
}

const char *prompts_digest(const struct prompts *prompts)
{
	return prompts->digest;
}

str_t prompts_text(const struct prompts *prompts)
{
	return prompts->text;
}

/* From a store that is filled at once: a system call for every nonce would be a good part of a call's cost.
 * What was drawn leaves the store. */
static void draw_system(unsigned char bytes[16])
{
	static _Thread_local unsigned char store[256];
	static _Thread_local size_t left;
	if (left == 0 && getrandom(store, sizeof store, 0) != sizeof store)
		abort();
	left = left == 0 ? sizeof store - 16 : left - 16;
	memcpy(bytes, store + left, 16);
	explicit_bzero(store + left, 16);
}

static bool occurs(str_t text, const char *nonce)
{
	return text.len > 0 && memmem(text.ptr, text.len, nonce, PROMPT_NONCE_SIZE - 1);
}

void prompt_draw_nonce(const struct prompt_values *values, void (*draw)(unsigned char bytes[16]),
		       char ret_nonce[PROMPT_NONCE_SIZE])
{
	do {
		unsigned char bytes[16];
		(draw ? draw : draw_system)(bytes);
		for (size_t i = 0; i < sizeof bytes; i++) {
			ret_nonce[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
			ret_nonce[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
		}
		ret_nonce[PROMPT_NONCE_SIZE - 1] = 0;
	} while (occurs(values->question, ret_nonce) || occurs(values->sql, ret_nonce) ||
		 occurs(values->truth_sql, ret_nonce) || occurs(values->schema, ret_nonce));
}

static str_t slot_value(const struct prompt_part *part, const struct prompt_values *values, const char *nonce)
{
	switch (part->slot) {
	case SLOT_QUESTION:
		return values->question;
	case SLOT_SQL:
		return values->sql;
	case SLOT_TRUTH_SQL:
		return values->truth_sql;
	case SLOT_SCHEMA:
		return str_present(values->schema) ? values->schema : STR("(not known)");
	case SLOT_DIALECT:
		return str_from(values->dialect ? values->dialect : "SQL");
	case SLOT_NONCE:
		return str_from(nonce);
	case SLOT_LITERAL:
	case SLOT_COUNT:
		break;
	}
	return part->text;
}

/* Words by which models' chat templates tell turns apart, besides those between <| and |>. */
static const char *const turn_words[] = {
	"<start_of_turn>",
	"<end_of_turn>",
	"<bos>",
	"<eos>",
	"<s>",
	"</s>",
	"[INST]",
	"[/INST]",
	"<<SYS>>",
	"<</SYS>>",
	"[SYSTEM_PROMPT]",
	"[/SYSTEM_PROMPT]",
	"[TOOL_CALLS]",
	"[AVAILABLE_TOOLS]",
	"[TOOL_RESULTS]",
};

#define TURN_WORD_MAX 64

/* A bar, or the wide one that some templates have (U+FF5C); its length, or 0. */
static size_t bar_at(const char *at, const char *end)
{
	if (at < end && *at == '|')
		return 1;
	return end - at >= 3 && memcmp(at, "\xef\xbd\x9c", 3) == 0 ? 3 : 0;
}

/* Whether a word in angle brackets and bars opens at `at`, with nothing in it that no such word has. */
static bool is_barred_word(const char *at, const char *end)
{
	size_t bar = *at == '<' ? bar_at(at + 1, end) : 0;
	if (bar == 0)
		return false;
	for (const char *c = at + 1 + bar; c < end && c - at < TURN_WORD_MAX; c++) {
		size_t closing = bar_at(c, end);
		if (closing > 0)
			return c + closing < end && c[closing] == '>';
		if (*c == ' ' || *c == '\n' || *c == '<' || *c == '>')
			return false;
	}
	return false;
}

static bool is_turn_word(const char *at, const char *end)
{
	if (*at != '<' && *at != '[')
		return false;
	for (size_t i = 0; i < sizeof turn_words / sizeof turn_words[0]; i++) {
		size_t len = strlen(turn_words[i]);
		if ((size_t)(end - at) >= len && memcmp(at, turn_words[i], len) == 0)
			return true;
	}
	return is_barred_word(at, end);
}

/* Appends data; in words that end a turn a space follows their first character. */
static void append_data(struct buf *text, str_t value)
{
	const char *end = value.ptr + value.len, *from = value.ptr;
	for (const char *at = value.ptr; at < end; at++) {
		if (!is_turn_word(at, end))
			continue;
		buf_append(text, from, (size_t)(at + 1 - from));
		buf_append_char(text, ' ');
		from = at + 1;
	}
	buf_append(text, from, (size_t)(end - from));
}

static void render_section(const struct section *section, const struct prompt_values *values,
			   const char *nonce, struct buf *text)
{
	for (size_t i = 0; i < section->count; i++) {
		str_t value = slot_value(&section->parts[i], values, nonce);
		if (value.len > 0 && is_data(section->parts[i].slot))
			append_data(text, value);
		else if (value.len > 0)
			buf_append_str(text, value);
	}
}

void prompt_render(const struct prompts *prompts, enum judge_question kind,
		   const struct prompt_values *values, const char *nonce, struct buf *system,
		   struct buf *user)
{
	render_section(&prompts->templates[kind].system, values, nonce, system);
	render_section(&prompts->templates[kind].user, values, nonce, user);
}

static void image_section(const struct section *section, const struct prompt_values *values,
			  struct buf *image)
{
	for (size_t i = 0; i < section->count; i++) {
		if (section->parts[i].slot == SLOT_LITERAL)
			continue;
		str_t value = slot_value(&section->parts[i], values, "");
		buf_append_u64(image, value.len);
		if (value.len > 0)
			buf_append_str(image, value);
	}
}

void prompt_image(const struct prompts *prompts, enum judge_question kind, const struct prompt_values *values,
		  struct buf *image)
{
	buf_append(image, prompts->templates[kind].digest, DIGEST_BYTES);
	image_section(&prompts->templates[kind].system, values, image);
	image_section(&prompts->templates[kind].user, values, image);
}
