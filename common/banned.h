/*
 * Functions that this project does not call, and what to call instead. Included by err.h, hence everywhere.
 * strcpy, strcat, sprintf, vsprintf: buf.h or snprintf. gets, strtok: nothing. alloca: the arena.
 * atoi, atol, atof: strtoll and the like (these cannot report an error).
 */
#pragma once

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok atoi atol atof strncpy
#undef alloca
#pragma GCC poison alloca
