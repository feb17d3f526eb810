/*
 * Roll-ups: sums by hours and by days, which the statements that count keep up (cases.h). What is here takes
 * over hours that programs before counted among the fine buckets, bit by bit. At any moment every case is in
 * one of both places, so that reports and rebuilds are exact meanwhile (view calibration_sums), whatever dies
 * and however many take over at once.
 */
#pragma once

#include "database/database.h"

/* Moves a bounded number of hours, and adds them to their days; `ret_more`: there may be others. In a
 * transaction of its own unless there is one. Needs an open connection with the tables. */
err_t rollup_take_over(struct database *database, bool *ret_more, struct err_detail *detail);
