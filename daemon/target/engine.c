#include "target/engine.h"

const struct engine *engine_of(enum target_engine kind)
{
	switch (kind) {
	case TARGET_POSTGRESQL:
		return &engine_postgresql;
	case TARGET_SQLITE:
		return &engine_sqlite;
	case TARGET_MARIADB:
		return &engine_mariadb;
	case TARGET_MONGODB:
		return &engine_mongodb;
	}
	return NULL;
}
