/*
 * The base header of PostgreSQL's server, which libpg_query shares. Has to be the first include of its file:
 * the server's headers redefine stdio and claim names that are ours, which is undone here.
 */
#pragma once

#include "postgres.h"

#undef vsnprintf
#undef snprintf
#undef vsprintf
#undef sprintf
#undef vfprintf
#undef fprintf
#undef vprintf
#undef printf
#undef strerror
#undef strerror_r
#undef strtof
#undef ERROR
#undef FATAL
#undef PANIC
#undef LOG
#undef INFO
#undef NOTICE
#undef WARNING
#undef DEBUG1
