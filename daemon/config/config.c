#include "config/config.h"

const struct config_judge *config_judges(const struct config *config, size_t *ret_count)
{
	bool alone = config->judges_count == 0;
	*ret_count = alone ? config->judge.configured : config->judges_count;
	return alone ? &config->judge : config->judges;
}

const struct config_judge *config_judge_named(const struct config *config, const char *name)
{
	if (!name)
		return &config->judge;
	for (size_t i = 0; i < config->judges_count; i++)
		if (config->judges[i].name && strcmp(config->judges[i].name, name) == 0)
			return &config->judges[i];
	return NULL;
}

struct config_panel config_judging(const struct config *config)
{
	const struct config_judge *judge = &config->judge;
	if (config->judges_count > 0)
		return config->panel;
	return (struct config_panel){ .sample_rate = judge->sample_rate,
				      .always_below = judge->always_below,
				      .unsafe = judge->unsafe,
				      .cache_dsn = judge->cache_dsn,
				      .cache_password_file = judge->cache_password_file,
				      .cache_retention_s = judge->cache_retention_s,
				      .cache_wait_ms = judge->cache_wait_ms };
}

bool config_audit_database(const struct config *config, struct config_database *ret_database)
{
	const struct config_audit *audit = &config->audit;
	const struct config_calibration *calibration = &config->calibration;
	if (audit->dsn && *audit->dsn)
		*ret_database = (struct config_database){ audit->dsn, audit->password_file, "audit." };
	else if (!audit->dsn && calibration->configured)
		*ret_database = (struct config_database){ calibration->dsn, calibration->password_file,
							  "calibration." };
	else
		return false;
	return true;
}
