/* Numbers of an event that mean something between 0 and 1 alone. Pure; any thread. */
#pragma once

#include "common/str.h"

/* Whether it is absent, or a number from 0 to 1. */
bool share_is_sound(opt_double_t share);
