#include "avro/registry/registry_fetch.h"

#include "avro/registry/registry_inline.h"

#include <ctype.h>
#include <inttypes.h>

enum { DOCUMENTS_MAX = 64, DEPTH_MAX = 16 };
#define BYTES_MAX ((size_t)4 << 20) /* of all of them */

/* The schema, and every other that it or one of them refers to, once. */
struct document {
	struct registry_reference from; /* but of the first */
	unsigned depth;
	str_t schema;
};

struct registry_fetch {
	struct arena *arena;
	struct schema_name name;
	struct document documents[DOCUMENTS_MAX];
	size_t known, fetched;
	size_t bytes;
	struct buf path;
	struct buf schema;
};

void registry_escape(const char *text, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];
		if (isalnum(byte) || strchr("-._~", byte))
			buf_append_char(out, (char)byte);
		else
			buf_printf(out, "%%%02X", byte);
	}
}

static void make_path(struct registry_fetch *fetch)
{
	const struct document *next = &fetch->documents[fetch->fetched];
	char text[SCHEMA_NAME_SIZE];
	buf_reset(&fetch->path);
	framing_name_text(&fetch->name, text);
	if (fetch->fetched == 0) {
		buf_printf(&fetch->path, "/schemas/%s/%s", fetch->name.by_guid ? "guids" : "ids",
			   text + sizeof "schema");
		return;
	}
	buf_append_text(&fetch->path, "/subjects/");
	registry_escape(next->from.subject.ptr, next->from.subject.len, &fetch->path);
	buf_printf(&fetch->path, "/versions/%" PRId64, next->from.version);
}

struct registry_fetch *registry_fetch_new(const struct schema_name *name)
{
	struct registry_fetch *fetch = calloc(1, sizeof *fetch);
	if (!fetch)
		abort();
	fetch->arena = arena_new();
	fetch->name = *name;
	fetch->known = 1;
	make_path(fetch);
	return fetch;
}

struct registry_fetch *registry_fetch_new_latest(const char *subject)
{
	struct registry_fetch *fetch = registry_fetch_new(&(const struct schema_name){ .id = 0 });
	buf_reset(&fetch->path);
	buf_append_text(&fetch->path, "/subjects/");
	registry_escape(subject, strlen(subject), &fetch->path);
	buf_append_text(&fetch->path, "/versions/latest");
	return fetch;
}

void registry_fetch_free(struct registry_fetch *fetch)
{
	if (!fetch)
		return;
	arena_free(fetch->arena);
	buf_free(&fetch->path);
	buf_free(&fetch->schema);
	free(fetch);
}

size_t registry_fetch_bytes(const struct registry_fetch *fetch)
{
	return fetch->bytes;
}

const char *registry_fetch_path(const struct registry_fetch *fetch)
{
	return fetch->path.data;
}

str_t registry_fetch_schema(const struct registry_fetch *fetch)
{
	return fetch->schema.data ? buf_str(&fetch->schema) : fetch->documents[0].schema;
}

/* ---- answers ---- */

#define BROKEN_OFF                                                                                           \
	"it broke off: see its log, and registry.certificate_file if it wants a certificate of ours"

/* As libcurl and OpenSSL say it; the first that is in the fault counts. */
static const char *mend_of_fault(const char *fault)
{
	static const struct {
		const char *part, *mend;
	} mends[] = {
		{ "alert unknown ca",
		  "it does not trust our certificate: have that of registry.certificate_file issued by an "
		  "authority that it trusts" },
		{ "alert certificate expired", "have our certificate in registry.certificate_file renewed" },
		{ " alert ", "it wants a certificate of ours that it trusts: see registry.certificate_file" },
		{ "certificate has expired", "have the registry's certificate renewed" },
		{ "subject name", "write the name that its certificate is for in registry.urls" },
		{ "setting certificate", "mend registry.ca_file" },
		{ "client certificate", "mend registry.certificate_file" },
		{ "private key", "mend registry.key_file" },
		{ "SSL certificate problem",
		  "set registry.ca_file to the authority that issued the registry's certificate" },
		{ "Broken pipe", BROKEN_OFF },
		{ "reset by peer", BROKEN_OFF },
		{ "SSL_ERROR_SYSCALL", BROKEN_OFF },
		{ "endpoint is not connected", BROKEN_OFF },
		{ "wrong version number", "it has no TLS there: write http:// in registry.urls" },
		{ "Empty reply", "it may want https://: mend registry.urls" },
		{ "HTTP/0.9", "this is no HTTP server: mend registry.urls" },
		{ "imed out",
		  "see whether it hangs (its log), whether host and port in registry.urls are right, and "
		  "whether a firewall stands between; registry.timeout_ms is the deadline" },
		{ "Timeout was reached",
		  "see whether host and port in registry.urls are right, and whether a firewall stands "
		  "between" },
		{ "resolve host", "mend the name in registry.urls, or the name service" },
		{ "onnect to", "start it, or mend registry.urls" },
	};
	for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
		if (strstr(fault, mends[i].part))
			return mends[i].mend;
	return "";
}

/* "HTTP 200, text/html" */
static const char *answer_kind(const struct registry_request *request, struct arena *arena)
{
	const char *type = request->content_type;
	return arena_printf(arena, "HTTP %ld%s%s", request->status, *type ? ", " : "", type).ptr;
}

void registry_say_foreign(const struct registry_request *request, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	if (!detail)
		return;
	const char *said = arena_strdup(arena, detail->message);
	err_fail(detail, ERR_SCHEMA_UNAVAILABLE,
		 "%s%swhat answers there is no schema registry (%s); correct registry.urls", said,
		 *said ? ": " : "", answer_kind(request, arena));
}

/* What to do about an answer that is no success; `code`: of a registry's error, 0: it is none of a registry.
 */
static const char *mend_of_answer(long status, int64_t code)
{
	if (status == 401 || status == 403)
		return "; see registry.user, password_file, token_file and certificate_file";
	if (status >= 300 && status < 400)
		return "; redirects are not followed: set registry.urls to where it leads";
	if (status == 429)
		return "; it limits requests: have the limit for this client raised";
	if (status >= 500)
		return code == 0 ? "; see the log of the registry, and of a proxy before it, or correct "
				   "registry.urls"
				 : "; see the log of the registry";
	/* a web server's 404 in JSON has its status for a code */
	return code == 0 || code == status
		       ? "; what answers there is no schema registry: correct registry.urls"
		       : "";
}

enum registry_outcome registry_failure(const struct registry_request *request, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	str_t message = STR_NONE;
	if (request->status == 0) {
		const char *mend = mend_of_fault(request->fault);
		err_fail(detail, ERR_SCHEMA_UNAVAILABLE, "%s%s%s", request->fault, *mend ? "; " : "", mend);
		return request->reached ? REGISTRY_ODD : REGISTRY_UNAVAILABLE;
	}
	int64_t code = registry_answer_error(buf_str(&request->answer), arena, &message);
	err_fail(detail, ERR_SCHEMA_UNAVAILABLE, "it answers %s%s" STR_FMT "%s",
		 code ? arena_printf(arena, "HTTP %ld", request->status).ptr : answer_kind(request, arena),
		 message.len ? ", " : "", STR_ARG(message), mend_of_answer(request->status, code));
	if (request->status == 404 && code >= 40401 && code <= 40499)
		return REGISTRY_ABSENT;
	bool nobody = request->status == 401 || request->status == 403 || request->status == 429 ||
		      request->status >= 500;
	return nobody ? REGISTRY_UNAVAILABLE : REGISTRY_ODD;
}

static bool is_known(const struct registry_fetch *fetch, const struct registry_reference *reference)
{
	for (size_t i = 1; i < fetch->known; i++)
		if (fetch->documents[i].from.version == reference->version &&
		    str_equal(fetch->documents[i].from.subject, reference->subject))
			return true;
	return false;
}

static err_t add_references(struct registry_fetch *fetch, const struct registry_document *answer,
			    unsigned depth, struct err_detail *detail)
{
	for (size_t i = 0; i < answer->references_count; i++) {
		if (is_known(fetch, &answer->references[i]))
			continue;
		if (fetch->known == DOCUMENTS_MAX || depth >= DEPTH_MAX)
			return err_fail(detail, ERR_SCHEMA_INCOMPATIBLE,
					"it refers to more than %d schemas, or more than %d deep",
					DOCUMENTS_MAX - 1, DEPTH_MAX);
		fetch->documents[fetch->known++] =
			(struct document){ .from = answer->references[i], .depth = depth + 1 };
	}
	return ERR_OK;
}

static err_t put_together(struct registry_fetch *fetch, struct err_detail *detail)
{
	str_t texts[DOCUMENTS_MAX];
	for (size_t i = 0; i < fetch->known; i++)
		texts[i] = fetch->documents[i].schema;
	return fetch->known == 1 ? ERR_OK : registry_inline(texts, fetch->known, &fetch->schema, detail);
}

/* Nobody asked for that. */
static bool is_compressed(const struct registry_request *request)
{
	const char *encoding = request->encoding;
	return (*encoding && strcasecmp(encoding, "identity") != 0) ||
	       (request->answer.len > 1 && memcmp(request->answer.data, "\x1f\x8b", 2) == 0);
}

/* Why an answer that is a success is no JSON. */
static void explain(const struct registry_request *request, struct err_detail *detail)
{
	if (!is_compressed(request))
		registry_say_foreign(request, detail);
	else
		err_fail(detail, ERR_JSON_SYNTAX,
			 "the answer is compressed (%s), although none such is accepted; change the proxy "
			 "before the registry, or registry.urls",
			 *request->encoding ? request->encoding : "gzip");
}

static enum registry_outcome take_document(struct registry_fetch *fetch,
					   const struct registry_request *request, struct err_detail *detail)
{
	struct document *document = &fetch->documents[fetch->fetched];
	struct registry_document answer;
	err_t err = registry_answer_schema(buf_str(&request->answer), fetch->arena, &answer, detail);
	if (err == ERR_JSON_SYNTAX)
		explain(request, detail);
	if (err)
		return err == ERR_SCHEMA_INCOMPATIBLE ? REGISTRY_REFUSED : REGISTRY_ODD;
	document->schema = answer.schema;
	fetch->bytes += answer.schema.len;
	if (fetch->bytes > BYTES_MAX)
		err = err_fail(detail, ERR_SCHEMA_INCOMPATIBLE,
			       "with what it refers to it has more than %zu bytes", BYTES_MAX);
	if (!err)
		err = add_references(fetch, &answer, document->depth, detail);
	if (err)
		return REGISTRY_REFUSED;
	if (++fetch->fetched < fetch->known) {
		make_path(fetch);
		return REGISTRY_MORE;
	}
	return put_together(fetch, detail) ? REGISTRY_REFUSED : REGISTRY_COMPLETE;
}

enum registry_outcome registry_fetch_take(struct registry_fetch *fetch,
					  const struct registry_request *request, struct err_detail *detail)
{
	if (request->status == 200)
		return take_document(fetch, request, detail);
	return registry_failure(request, detail);
}
