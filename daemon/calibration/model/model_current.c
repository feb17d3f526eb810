#include "calibration/model/model_current.h"

#include <pthread.h>

struct model_current {
	pthread_mutex_t lock;
	struct model *model;
};

struct model_current *model_current_new(void)
{
	struct model_current *current = calloc(1, sizeof *current);
	if (!current)
		abort();
	pthread_mutex_init(&current->lock, NULL);
	return current;
}

void model_current_free(struct model_current *current)
{
	if (!current)
		return;
	model_unref(current->model);
	pthread_mutex_destroy(&current->lock);
	free(current);
}

void model_current_set(struct model_current *current, struct model *model)
{
	pthread_mutex_lock(&current->lock);
	struct model *former = current->model;
	current->model = model;
	pthread_mutex_unlock(&current->lock);
	model_unref(former);
}

struct model *model_current_get(struct model_current *current)
{
	if (!current)
		return NULL;
	pthread_mutex_lock(&current->lock);
	struct model *model = current->model ? model_ref(current->model) : NULL;
	pthread_mutex_unlock(&current->lock);
	return model;
}
