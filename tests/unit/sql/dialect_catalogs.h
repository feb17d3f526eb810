/*
 * The same tables in a catalog of each dialect, for tests of what is the same in all of them.
 */
#pragma once

#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/postgresql/ddl/ddl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { POSTGRESQL = 1, MYSQL = 2, SQLITE = 4 };

static const struct {
	enum sql_dialect dialect;
	unsigned bit;
	const char *name;
	err_t (*compile)(str_t text, struct catalog **ret_catalog, struct err_detail *detail);
	const char *catalog;
} dialects[] = {
	{ SQL_POSTGRESQL, POSTGRESQL, "postgresql", ddl_compile,
	  "CREATE TABLE users (id int, tenant_id int, name text);"
	  "CREATE TABLE orders (id int, tenant_id int, user_id int, total int);"
	  "CREATE TABLE logs (id int, note text);"
	  "CREATE TABLE docs (id int, tenant text);"
	  "CREATE VIEW all_orders AS SELECT id, tenant_id, total FROM orders;"
	  "CREATE VIEW totals AS SELECT sum(total) AS total FROM orders;"
	  "CREATE VIEW mine AS SELECT id FROM orders WHERE tenant_id = 7;"
	  "CREATE VIEW nested AS SELECT id FROM all_orders;"
	  "CREATE VIEW noted AS SELECT note FROM logs;" },
	{ SQL_MYSQL, MYSQL, "mysql", catalog_compile_mysql,
	  "[\"format\", 2, \"shop\", 0]\n[\"schema\", \"shop\"]\n"
	  "[\"relation\", \"shop\", \"users\", \"BASE TABLE\"]\n"
	  "[\"column\", \"shop\", \"users\", 1, \"id\", \"int\", \"NO\"]\n"
	  "[\"column\", \"shop\", \"users\", 2, \"tenant_id\", \"int\", \"YES\"]\n"
	  "[\"column\", \"shop\", \"users\", 3, \"name\", \"varchar\", \"YES\"]\n"
	  "[\"relation\", \"shop\", \"orders\", \"BASE TABLE\"]\n"
	  "[\"column\", \"shop\", \"orders\", 1, \"id\", \"int\", \"NO\"]\n"
	  "[\"column\", \"shop\", \"orders\", 2, \"tenant_id\", \"int\", \"YES\"]\n"
	  "[\"column\", \"shop\", \"orders\", 3, \"user_id\", \"int\", \"YES\"]\n"
	  "[\"column\", \"shop\", \"orders\", 4, \"total\", \"int\", \"YES\"]\n"
	  "[\"relation\", \"shop\", \"logs\", \"BASE TABLE\"]\n"
	  "[\"column\", \"shop\", \"logs\", 1, \"id\", \"int\", \"NO\"]\n"
	  "[\"column\", \"shop\", \"logs\", 2, \"note\", \"varchar\", \"YES\"]\n"
	  "[\"relation\", \"shop\", \"docs\", \"BASE TABLE\"]\n"
	  "[\"column\", \"shop\", \"docs\", 1, \"id\", \"int\", \"NO\"]\n"
	  "[\"column\", \"shop\", \"docs\", 2, \"tenant\", \"varchar\", \"YES\"]\n"
	  "[\"relation\", \"shop\", \"all_orders\", \"VIEW\"]\n"
	  "[\"column\", \"shop\", \"all_orders\", 1, \"id\", \"int\", \"YES\"]\n"
	  "[\"column\", \"shop\", \"all_orders\", 2, \"tenant_id\", \"int\", \"YES\"]\n"
	  "[\"column\", \"shop\", \"all_orders\", 3, \"total\", \"int\", \"YES\"]\n"
	  "[\"view\", \"shop\", \"all_orders\", \"select `shop`.`orders`.`id` AS `id`,"
	  "`shop`.`orders`.`tenant_id` AS `tenant_id`,`shop`.`orders`.`total` AS `total` from "
	  "`shop`.`orders`\"]\n"
	  "[\"relation\", \"shop\", \"totals\", \"VIEW\"]\n"
	  "[\"column\", \"shop\", \"totals\", 1, \"total\", \"int\", \"YES\"]\n"
	  "[\"view\", \"shop\", \"totals\", \"select sum(`shop`.`orders`.`total`) AS `total` from "
	  "`shop`.`orders`\"]\n"
	  "[\"relation\", \"shop\", \"mine\", \"VIEW\"]\n"
	  "[\"column\", \"shop\", \"mine\", 1, \"id\", \"int\", \"YES\"]\n"
	  "[\"view\", \"shop\", \"mine\", \"select `shop`.`orders`.`id` AS `id` from `shop`.`orders` "
	  "where `shop`.`orders`.`tenant_id` = 7\"]\n"
	  "[\"relation\", \"shop\", \"nested\", \"VIEW\"]\n"
	  "[\"column\", \"shop\", \"nested\", 1, \"id\", \"int\", \"YES\"]\n"
	  "[\"view\", \"shop\", \"nested\", \"select `all_orders`.`id` AS `id` from `shop`.`all_orders`\"]\n"
	  "[\"relation\", \"shop\", \"noted\", \"VIEW\"]\n"
	  "[\"column\", \"shop\", \"noted\", 1, \"note\", \"varchar\", \"YES\"]\n"
	  "[\"view\", \"shop\", \"noted\", \"select `shop`.`logs`.`note` AS `note` from `shop`.`logs`\"]\n" },
	{ SQL_SQLITE, SQLITE, "sqlite", catalog_compile_sqlite,
	  "[\"CREATE TABLE users (id int, tenant_id int, name text)\","
	  "\"CREATE TABLE orders (id int, tenant_id int, user_id int, total int)\","
	  "\"CREATE TABLE logs (id int, note text)\","
	  "\"CREATE TABLE docs (id int, tenant text)\","
	  "\"CREATE VIEW all_orders AS SELECT id, tenant_id, total FROM orders\","
	  "\"CREATE VIEW totals(total) AS SELECT sum(total) FROM orders\","
	  "\"CREATE VIEW mine AS SELECT id FROM orders WHERE tenant_id = 7\","
	  "\"CREATE VIEW nested AS SELECT id FROM all_orders\","
	  "\"CREATE VIEW noted AS SELECT note FROM logs\"]" },
};

/* MongoDB's texts are others: it is none of `dialects`. The documents of users and orders are held to what
 * their fields are here, those of logs and docs were only looked at. */
#define MONGODB_CLOSED(fields)                                                                               \
	",\"validator\":{\"$jsonSchema\":{\"properties\":{\"_id\":{}," fields                                \
	"},\"additionalProperties\":false}},\"validation_action\":\"error\",\"validation_level\":"           \
	"\"strict\"}\n"

static const char mongodb_catalog_text[] =
	"{\"format\":1,\"database\":\"shop\",\"sample_size\":1000}\n"
	"{\"collection\":\"users\",\"kind\":\"collection\",\"sampled\":9,\"complete\":true,\"fields\":["
	"{\"path\":\"id\",\"types\":[\"int\"]},{\"path\":\"tenant_id\",\"types\":[\"int\"]},"
	"{\"path\":\"name\",\"types\":[\"string\"]}]" MONGODB_CLOSED(
		"\"id\":{\"bsonType\":\"int\"},\"tenant_id\":{\"bsonType\":\"int\"},\"name\":{"
		"\"bsonType\":"
		"\"string\"}") "{\"collection\":\"orders\",\"kind\":\"collection\",\"sampled\":9,"
			       "\"complete\":true,"
			       "\"fields\":["
			       "{\"path\":\"id\",\"types\":[\"int\"]},{\"path\":\"tenant_id\",\"types\":"
			       "[\"int\"]},"
			       "{\"path\":\"user_id\",\"types\":[\"int\"]},{\"path\":\"total\","
			       "\"types\":[\"int\"]}"
			       "]" MONGODB_CLOSED(
				       "\"id\":{\"bsonType\":\"int\"},\"tenant_id\":{\"bsonType\":"
				       "\"int\"},"
				       "\"user_id\":{\"bsonType\":\"int\"},\"total\":{\"bsonType\":"
				       "\"int\"}") "{\"collection\":\"logs\",\"kind\":\"collection\","
						   "\"sampled\":9,\"complete\":true,\"fields\":["
						   "{\"path\":\"id\",\"types\":[\"int\"]},{\"path\":"
						   "\"note\",\"types\":[\"string\"]}]}\n"
						   "{\"collection\":\"docs\",\"kind\":\"collection\","
						   "\"sampled\":9,\"complete\":true,\"fields\":["
						   "{\"path\":\"id\",\"types\":[\"int\"]},{\"path\":"
						   "\"tenant\",\"types\":[\"string\"]}]}\n"
						   "{\"collection\":\"all_orders\",\"kind\":\"view\","
						   "\"sampled\":9,\"complete\":true,\"fields\":["
						   "{\"path\":\"id\",\"types\":[\"int\"]},{\"path\":"
						   "\"tenant_id\",\"types\":[\"int\"]},"
						   "{\"path\":\"total\",\"types\":[\"int\"]}]}\n"
						   "{\"collection\":\"totals\",\"kind\":\"view\","
						   "\"sampled\":1,\"complete\":true,\"fields\":["
						   "{\"path\":\"total\",\"types\":[\"int\"]}]}\n"
						   "{\"collection\":\"mine\",\"kind\":\"view\","
						   "\"sampled\":9,\"complete\":true,\"fields\":["
						   "{\"path\":\"id\",\"types\":[\"int\"]}]}\n"
						   "{\"collection\":\"nested\",\"kind\":\"view\","
						   "\"sampled\":9,\"complete\":true,\"fields\":["
						   "{\"path\":\"id\",\"types\":[\"int\"]}]}\n"
						   "{\"collection\":\"noted\",\"kind\":\"view\","
						   "\"sampled\":9,\"complete\":true,\"fields\":["
						   "{\"path\":\"note\",\"types\":[\"string\"]}]}\n";

static struct catalog *catalogs[COUNT(dialects)], *mongodb_catalog;

static int load_catalogs(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(dialects); i++) {
		struct err_detail detail = { "" };
		if (dialects[i].compile(str_from(dialects[i].catalog), &catalogs[i], &detail) == ERR_OK)
			continue;
		print_error("%s: %s\n", dialects[i].name, detail.message);
		return -1;
	}
	struct err_detail detail = { "" };
	if (catalog_compile_mongodb(str_from(mongodb_catalog_text), &mongodb_catalog, &detail) == ERR_OK)
		return 0;
	print_error("mongodb: %s\n", detail.message);
	return -1;
}

static int drop_catalogs(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(dialects); i++)
		catalog_unref(catalogs[i]);
	catalog_unref(mongodb_catalog);
	return 0;
}
