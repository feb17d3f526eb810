/*
 * What a query may ask for by its own text, in every dialect; data is not counted, the statement timeout is
 * for that. How close an estimate comes is the dialect's; the limits are these.
 */
#pragma once

/* Rows of one thing that makes them up: a series, a sequence, a recursion that counts. Each day of 2,700
 * years and each minute of nearly two pass. */
#define BOMB_CALL_ROWS 1e6

/* Rows of all of those of a FROM multiplied, and of a recursion that each step multiplies: seconds of work
 * that no index shortens. */
#define BOMB_QUERY_ROWS 1e7

/* Bytes of one value whose size is an argument, or that is put together of known ones. */
#define BOMB_CALL_BYTES 1e6

/* Bytes of one value that each row of a table adds to what is gathered. */
#define BOMB_ROW_BYTES 1e5

/* Bytes that a column's value is taken for in the texts that SQLite's functions make of it: nothing
 * interrupts them. */
#define BOMB_COLUMN_BYTES_SQLITE 1e3

/* Bytes of values times their rows; and of one value that is only known not to be larger than that, as of
 * functions which replace or escape. */
#define BOMB_QUERY_BYTES 1e8

/* Steps of one call that goes through a text for each place in another: nothing interrupts it. */
#define BOMB_WORK 1e9
