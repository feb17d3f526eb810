#include "command/audit_log.h"

#include "command/settings.h"

err_t audit_log_store(const struct config *config, bool reads_only, struct audit_store **ret_store,
		      struct err_detail *detail)
{
	struct config_database database;
	if (!config_audit_database(config, &database))
		return err_fail(detail, ERR_CONFIG_MISSING,
				"the configuration names no database of the audit: audit.dsn, or the "
				"calibration's");
	*ret_store = audit_store_new(&(const struct audit_store_options){
		.dsn = database.dsn,
		.password_file = database.password_file,
		.settings = database.settings,
		.reads_only = reads_only,
	});
	return ERR_OK;
}

err_t audit_log_name(const struct config_audit *audit, char ret_name[NOTE_NAME_MAX + 1],
		     struct err_detail *detail)
{
	struct key_file keys;
	if (!audit->key_file)
		return err_fail(detail, ERR_CONFIG_MISSING, "the configuration has no audit.key_file");
	err_t err = key_file_read(audit->key_file, &keys, detail);
	if (err)
		return err;
	memcpy(ret_name, keys.signers[0].key.name, sizeof keys.signers[0].key.name);
	key_file_wipe(&keys);
	return ERR_OK;
}

err_t audit_log_reader(const struct config *config, struct arena *arena, struct topic_reader **ret_reader,
		       struct err_detail *detail)
{
	struct kafka_settings kafka;
	err_t err = settings_kafka(config, arena, &kafka, detail);
	return err ? err : topic_reader_new(&kafka, KAFKA_AUDIT_SUFFIX, ret_reader, detail);
}

err_t audit_log_partition(const char *text, int32_t *ret_partition, struct err_detail *detail)
{
	char *end;
	long long number = strtoll(text, &end, 10);
	if (end == text || *end || number < 0 || number > INT32_MAX)
		return err_fail(detail, ERR_USAGE, "--partition \"%s\" is no number of a partition", text);
	*ret_partition = (int32_t)number;
	return ERR_OK;
}

err_t audit_log_find_partition(struct topic_reader *reader, const char *topic, int32_t partition,
			       struct err_detail *detail)
{
	int count;
	err_t err = topic_reader_partitions(reader, topic, &count, detail);
	if (!err && partition >= count)
		err = err_fail(detail, ERR_USAGE, "--partition %d: %s has no such partition, only 0 to %d",
			       (int)partition, topic, count - 1);
	return err;
}
