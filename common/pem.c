#include "common/pem.h"

#include "common/cleanup.h"
#include "common/secret.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

DEFINE_CLEANUP(X509, certificate_cleanup, X509_free)
DEFINE_CLEANUP(EVP_PKEY, key_cleanup, EVP_PKEY_free)

static err_t open_file(const char *path, FILE **ret_file, struct err_detail *detail)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	struct stat status;
	if (!file || fstat(fileno(file), &status) != 0)
		return secret_fail(path, errno, detail);
	if (S_ISDIR(status.st_mode))
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: a directory, not a file", path);
	if (status.st_size == 0 && S_ISREG(status.st_mode))
		return err_fail(detail, ERR_CONFIG_RANGE, "%s: the file is empty", path);
	*ret_file = TAKE_PTR(file);
	return ERR_OK;
}

/* Whether what was read last failed because there was no more of it. */
static bool is_end(void)
{
	unsigned long error = ERR_peek_last_error();
	return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

/* The first one; all of them are looked at. */
static err_t read_certificates(const char *path, X509 **ret_first, struct err_detail *detail)
{
	_cleanup_(cleanup_fclose) FILE *file = NULL;
	_cleanup_(certificate_cleanup) X509 *first = NULL;
	err_t err = open_file(path, &file, detail);
	if (err)
		return err;
	ERR_clear_error();
	for (X509 *next; (next = PEM_read_X509_AUX(file, NULL, NULL, NULL));) {
		if (first)
			X509_free(next);
		else
			first = next;
	}
	bool end = is_end();
	ERR_clear_error();
	if (!first)
		return err_fail(detail, ERR_CONFIG_RANGE,
				end ? "%s: it contains no certificate (-----BEGIN CERTIFICATE-----): it has "
				      "to be in PEM format"
				    : "%s: the certificate in it is damaged",
				path);
	if (!end)
		return err_fail(detail, ERR_CONFIG_RANGE, "%s: a certificate in it is damaged", path);
	*ret_first = TAKE_PTR(first);
	return ERR_OK;
}

struct asked {
	const char *password;
	bool needed;
};

static int give_password(char *to, int size, int writing, void *context)
{
	struct asked *asked = context;
	(void)writing;
	asked->needed = true;
	return asked->password ? snprintf(to, (size_t)size, "%s", asked->password) : -1;
}

static err_t read_key(const char *path, const char *password, EVP_PKEY **ret_key, struct err_detail *detail)
{
	_cleanup_(cleanup_fclose) FILE *file = NULL;
	struct asked asked = { .password = password };
	err_t err = open_file(path, &file, detail);
	if (err)
		return err;
	ERR_clear_error();
	EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, give_password, &asked);
	ERR_clear_error();
	if (!key)
		return err_fail(
			detail, ERR_CONFIG_RANGE, "%s: %s", path,
			asked.needed && !password ? PEM_ENCRYPTED
			: asked.needed		  ? "the password does not decrypt the key"
				       : "it contains no readable private key (-----BEGIN PRIVATE KEY-----)");
	*ret_key = key;
	return ERR_OK;
}

err_t pem_check_certificates(const char *path, struct err_detail *detail)
{
	_cleanup_(certificate_cleanup) X509 *first = NULL;
	return read_certificates(path, &first, detail);
}

err_t pem_check_key(const char *path, const char *password, struct err_detail *detail)
{
	_cleanup_(key_cleanup) EVP_PKEY *key = NULL;
	return read_key(path, password, &key, detail);
}

err_t pem_check_pair(const char *certificate_path, const char *key_path, const char *password,
		     struct err_detail *detail)
{
	_cleanup_(certificate_cleanup) X509 *certificate = NULL;
	_cleanup_(key_cleanup) EVP_PKEY *key = NULL;
	err_t err = read_certificates(certificate_path, &certificate, detail);
	if (!err)
		err = read_key(key_path, password, &key, detail);
	if (err)
		return err;
	bool match = X509_check_private_key(certificate, key) == 1;
	ERR_clear_error();
	if (!match)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"%s: the key does not belong to the certificate in %s", key_path,
				certificate_path);
	if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
		return err_fail(detail, ERR_CONFIG_RANGE, "%s: the certificate has expired; have it renewed",
				certificate_path);
	return ERR_OK;
}

static int64_t end_of(const X509 *certificate)
{
	struct tm end = { .tm_sec = 0 };
	if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
		return 0;
	return (int64_t)timegm(&end) * 1000;
}

err_t pem_read_certificate(const char *path, int64_t *ret_ends_ms, char *ret_subject, size_t subject_size,
			   struct err_detail *detail)
{
	_cleanup_(certificate_cleanup) X509 *certificate = NULL;
	err_t err = read_certificates(path, &certificate, detail);
	if (err)
		return err;
	BIO *memory = BIO_new(BIO_s_mem());
	if (!memory || X509_NAME_print_ex(memory, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253) < 0)
		abort(); /* out of memory */
	int len = BIO_read(memory, ret_subject, (int)subject_size - 1);
	ret_subject[len > 0 ? len : 0] = '\0';
	BIO_free(memory);
	*ret_ends_ms = end_of(certificate);
	return ERR_OK;
}
