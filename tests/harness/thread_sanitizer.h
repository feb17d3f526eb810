/*
 * Whether this is a build with the thread sanitizer. librdkafka starts its threads by C11's thrd_create,
 * which that does not know of: tests with its clients skip themselves there.
 */
#pragma once

#if defined __SANITIZE_THREAD__
#define THREAD_SANITIZER true
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER true
#endif
#endif
#ifndef THREAD_SANITIZER
#define THREAD_SANITIZER false
#endif
