#include "event/chunks.h"

struct retrieval_chunk *event_chunks(const struct retrieval *retrieval, struct arena *arena)
{
	struct retrieval_chunk *chunks = ARENA_ARRAY(arena, struct retrieval_chunk, retrieval->chunks_count);
	for (size_t i = 0; i < retrieval->chunks_count; i++) {
		const struct retrieved_chunk *from = &retrieval->chunks[i];
		chunks[i] = (struct retrieval_chunk){
			.document_id = from->document_id,
			.source = (enum chunk_source)from->source_type,
			.bm25 = from->bm25_score,
			.dense = from->dense_score,
			.rrf = from->rrf_score,
			.boosted = from->boosted_score,
			.rerank = from->rerank_score,
			.graph_boost = from->graph_boost,
		};
	}
	return chunks;
}
