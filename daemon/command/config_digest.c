#include "command/config_digest.h"

#include "config/config.h"

err_t config_digest_run(const char *config_file, struct err_detail *detail)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	err_t err = config_load(config_file, &config, detail);
	if (err)
		return err;
	puts(config_digest(config));
	return ERR_OK;
}
