/* The first half of an event's way: decode, analyse, score what the text allows, and decide who is to be
 * asked. A worker's thread. */
#pragma once

#include "event/event.h"

/* Decodes and scores what the text alone allows, and prepares the calls of the branches (asked flags say
 * which). ERR_OK, or the reason of a dead letter with its detail. */
err_t event_analyse(struct event *event, struct err_detail *detail);
