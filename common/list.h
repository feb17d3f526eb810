/*
 * Intrusive doubly linked list. The node lives in its owner; the list never allocates. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list_node {
	struct list_node *next, *prev;
};

struct list {
	struct list_node head;
	size_t count;
};

#define LIST_INIT(name)                                                                                      \
	{                                                                                                    \
		{ &(name).head, &(name).head }, 0                                                            \
	}

/* The struct of `type` whose member `member` is the node that `pointer` points at. */
#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline void list_init(struct list *list)
{
	list->head.next = list->head.prev = &list->head;
	list->count = 0;
}

static inline bool list_empty(const struct list *list)
{
	return list->count == 0;
}

static inline void list_append(struct list *list, struct list_node *node)
{
	node->prev = list->head.prev;
	node->next = &list->head;
	node->prev->next = node;
	list->head.prev = node;
	list->count++;
}

static inline void list_prepend(struct list *list, struct list_node *node)
{
	node->next = list->head.next;
	node->prev = &list->head;
	node->next->prev = node;
	list->head.next = node;
	list->count++;
}

/* `next` is a node of the list, or its head: then it is the last. */
static inline void list_insert_before(struct list *list, struct list_node *next, struct list_node *node)
{
	node->next = next;
	node->prev = next->prev;
	node->prev->next = node;
	next->prev = node;
	list->count++;
}

static inline void list_remove(struct list *list, struct list_node *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	node->next = node->prev = NULL;
	list->count--;
}

/* First node taken out, or NULL. */
static inline struct list_node *list_take(struct list *list)
{
	struct list_node *node = list->head.next;
	if (node == &list->head)
		return NULL;
	list_remove(list, node);
	return node;
}

/* Moves all of `from` behind what `to` holds. */
static inline void list_splice(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->head.next->prev = to->head.prev;
	to->head.prev->next = from->head.next;
	from->head.prev->next = &to->head;
	to->head.prev = from->head.prev;
	to->count += from->count;
	list_init(from);
}

#define LIST_FOREACH(node, list)                                                                             \
	for (struct list_node *node = (list)->head.next; node != &(list)->head; node = node->next)

/* The same where the body may remove `node`. */
#define LIST_FOREACH_SAFE(node, list)                                                                        \
	for (struct list_node *node = (list)->head.next, *node##_next = node->next; node != &(list)->head;   \
	     node = node##_next, node##_next = node->next)
