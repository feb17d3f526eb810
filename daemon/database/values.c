#include "database/values.h"

const char *database_number_text(struct database_number_text *to, int64_t number)
{
	snprintf(to->text, sizeof to->text, "%lld", (long long)number);
	return to->text;
}

int64_t database_integer_at(const PGresult *result, int row, int column)
{
	return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

double database_number_at(const PGresult *result, int row, int column)
{
	return strtod(PQgetvalue(result, row, column), NULL);
}

str_t database_text_at(const PGresult *result, int row, int column, struct arena *arena)
{
	if (PQgetisnull(result, row, column))
		return STR_NONE;
	return arena_text(arena, PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column));
}
