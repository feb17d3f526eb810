/*
 * Certificates and keys in PEM files: what is wrong with them is told before a TLS library says "system lib".
 * All functions read files and block on them; any thread. A detail begins with the path and never shows
 * content.
 *
 * ERR_FILE_UNREADABLE: the file cannot be read; ERR_CONFIG_RANGE: what is in it is of no use.
 */
#pragma once

#include "common/err.h"

/* Whether there is at least one certificate in the file, and none that is damaged. */
err_t pem_check_certificates(const char *path, struct err_detail *detail);

/* Said of a key that takes a password where none is given. */
#define PEM_ENCRYPTED                                                                                        \
	"the key is encrypted, and no password is given; write it unencrypted (openssl pkey -in KEY -out "   \
	"NEW)"

/* Whether the file holds a private key that this password (NULL: none) opens. */
err_t pem_check_key(const char *path, const char *password, struct err_detail *detail);

/* The two of the above, whether the first certificate has not expired, and whether the key belongs to it. */
err_t pem_check_pair(const char *certificate_path, const char *key_path, const char *password,
		     struct err_detail *detail);

/* The first certificate in the file: its end (milliseconds since 1970, UTC), and its subject as RFC 2253
 * writes it, cut to the size. */
err_t pem_read_certificate(const char *path, int64_t *ret_ends_ms, char *ret_subject, size_t subject_size,
			   struct err_detail *detail);
