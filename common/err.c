#include "common/err.h"

#include <sysexits.h>

struct description {
	const char *name;
	const char *text;
	enum err_disposition disposition;
	int exit_status;
};

static const struct description descriptions[ERR_COUNT_] = {
#define ERROR(symbol, name, disposition, exit_status, text)                                                  \
	[ERR_##symbol] = { name, text, ERR_DISPOSITION_##disposition, exit_status },
#include "common/errors.def"
#undef ERROR
};

static const struct description *describe(err_t err)
{
	return &descriptions[(unsigned)err < ERR_COUNT_ ? err : ERR_OS];
}

const char *err_name(err_t err)
{
	return describe(err)->name;
}

const char *err_text(err_t err)
{
	return describe(err)->text;
}

enum err_disposition err_disposition(err_t err)
{
	return describe(err)->disposition;
}

int err_exit_status(err_t err)
{
	return describe(err)->exit_status;
}

err_t err_fail(struct err_detail *detail, err_t err, const char *format, ...)
{
	if (detail) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(detail->message, sizeof detail->message, format, arguments);
		va_end(arguments);
	}
	return err;
}

const char *err_message(err_t err, const struct err_detail *detail)
{
	return detail && detail->message[0] ? detail->message : err_text(err);
}
