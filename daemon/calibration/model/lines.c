#include "calibration/model/internal.h"

#include <math.h>

#include "calibration/model/sample.h"
#include "calibration/statistics/outcomes.h"

/*
 * Lines of all cases, applications and segments, as a tree of normal distributions: a node's line is drawn
 * around its parent's, labels are at the leaves. Newton's method, each step by messages up the tree (what the
 * labels below a node say of it) and down again, which is the exact solution of the normal equations; at the
 * minimum they are the covariances, too. How far children differ is not known: the fit is done for a table of
 * standard deviations, each weighted by its prior and the marginal likelihood (Laplace), and the lines are
 * the mean over them.
 */

enum { STEPS_MAX = 50, HALVINGS_MAX = 30, DEVIATIONS = 6 };

/* Standard deviations of the intercepts of children of one parent, and what is believed of them before any
 * label: differences of half a unit of log odds are common, none are not rare. */
static const double DEVIATION[DEVIATIONS] = { 0, 0.1, 0.2, 0.4, 0.8, 1.6 };
static const double BELIEF[DEVIATIONS] = { 0.25, 0.2, 0.2, 0.2, 0.1, 0.05 };

/* So many deviations a child's line has to be off its parent's before the labels count that say so: of the
 * first labels, and of many. */
#define DOUBTS_FIRST 2.5
#define DOUBTS_LATER 1.0
#define FIRST_LABELS 20.0

/* Of the slopes, as a share of the intercepts'. */
#define SLOPE_SHARE 0.25

struct vector {
	double v[2]; /* intercept, slope */
};

struct matrix {
	double m[2][2];
};

static struct matrix multiply(struct matrix a, struct matrix b)
{
	struct matrix product;
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++)
			product.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j];
	return product;
}

static struct vector apply(struct matrix a, struct vector b)
{
	return (struct vector){ { a.m[0][0] * b.v[0] + a.m[0][1] * b.v[1],
				  a.m[1][0] * b.v[0] + a.m[1][1] * b.v[1] } };
}

static double determinant(struct matrix a)
{
	return a.m[0][0] * a.m[1][1] - a.m[0][1] * a.m[1][0];
}

static struct matrix invert(struct matrix a)
{
	double d = determinant(a);
	return (struct matrix){ { { a.m[1][1] / d, -a.m[0][1] / d }, { -a.m[1][0] / d, a.m[0][0] / d } } };
}

static struct matrix transpose(struct matrix a)
{
	return (struct matrix){ { { a.m[0][0], a.m[1][0] }, { a.m[0][1], a.m[1][1] } } };
}

static void add(struct matrix *sum, struct matrix a)
{
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++)
			sum->m[i][j] += a.m[i][j];
}

static const struct matrix IDENTITY = { { { 1, 0 }, { 0, 1 } } };

/* One place of the tree. */
struct branch {
	size_t parent;	    /* of the root: itself */
	struct vector line; /* where the loss is looked at */
	struct vector tried;
	struct matrix curvature; /* what is below says: exp(−½·x·curvature·x + x·pull) */
	struct vector pull;
	struct matrix gain; /* of a child: 1 / (1 + spread · curvature) */
	struct vector mean;
	struct matrix covariance;
};

struct line_row {
	size_t leaf;
	double score, weight;
	bool correct;
};

/* Branches by depth: parents before their children; every leaf is at MODEL_SEGMENT. */
struct tree {
	struct branch *branches;
	size_t count;
	enum model_depth *depths;
	const struct line_row *rows;
	size_t rows_count;
	struct vector prior;
	struct matrix prior_spread;
	struct matrix spreads[3]; /* by depth of the child */
};

static double softplus(double x)
{
	return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double distance(const struct vector *a, const struct vector *b, const struct matrix *spread)
{
	double sum = 0;
	for (int i = 0; i < 2; i++)
		if (spread->m[i][i] > 0)
			sum += (a->v[i] - b->v[i]) * (a->v[i] - b->v[i]) / (2 * spread->m[i][i]);
	return sum;
}

/* At the lines that are tried. */
static double loss_of(const struct tree *tree)
{
	double loss = distance(&tree->branches[0].tried, &tree->prior, &tree->prior_spread);
	for (size_t i = 1; i < tree->count; i++)
		loss += distance(&tree->branches[i].tried, &tree->branches[tree->branches[i].parent].tried,
				 &tree->spreads[tree->depths[i]]);
	for (size_t i = 0; i < tree->rows_count; i++) {
		const struct line_row *row = &tree->rows[i];
		const struct vector *line = &tree->branches[row->leaf].tried;
		double odds = line->v[0] + line->v[1] * row->score;
		loss += row->weight * (softplus(odds) - (row->correct ? odds : 0));
	}
	return loss;
}

/* What the labels say of the leaves, by a parabola at their lines. */
static void look(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		tree->branches[i].curvature = (struct matrix){ 0 };
		tree->branches[i].pull = (struct vector){ 0 };
	}
	for (size_t i = 0; i < tree->rows_count; i++) {
		const struct line_row *row = &tree->rows[i];
		struct branch *leaf = &tree->branches[row->leaf];
		double p = outcomes_sigmoid(leaf->line.v[0] + leaf->line.v[1] * row->score);
		double curvature = row->weight * p * (1 - p), residual = row->weight * (row->correct - p);
		leaf->curvature.m[0][0] += curvature;
		leaf->curvature.m[0][1] += curvature * row->score;
		leaf->curvature.m[1][1] += curvature * row->score * row->score;
		leaf->pull.v[0] += residual;
		leaf->pull.v[1] += residual * row->score;
	}
	for (size_t i = 0; i < tree->count; i++) {
		struct branch *branch = &tree->branches[i];
		if (tree->depths[i] != MODEL_SEGMENT)
			continue;
		branch->curvature.m[1][0] = branch->curvature.m[0][1];
		struct vector at = apply(branch->curvature, branch->line);
		branch->pull.v[0] += at.v[0];
		branch->pull.v[1] += at.v[1];
	}
}

/* Messages from the leaves to the root. */
static void ascend(struct tree *tree)
{
	for (size_t i = tree->count; i-- > 1;) {
		struct branch *child = &tree->branches[i], *parent = &tree->branches[child->parent];
		struct matrix widened = multiply(tree->spreads[tree->depths[i]], child->curvature);
		add(&widened, IDENTITY);
		child->gain = invert(widened);
		struct matrix turned = transpose(child->gain);
		struct vector pull = apply(turned, child->pull);
		add(&parent->curvature, multiply(turned, child->curvature));
		parent->pull.v[0] += pull.v[0];
		parent->pull.v[1] += pull.v[1];
	}
}

/* From the root to the leaves. */
static void spread_down(struct tree *tree)
{
	struct branch *root = &tree->branches[0];
	struct matrix precision = invert(tree->prior_spread);
	struct vector pull = apply(precision, tree->prior);
	add(&precision, root->curvature);
	root->covariance = invert(precision);
	root->mean = apply(root->covariance,
			   (struct vector){ { pull.v[0] + root->pull.v[0], pull.v[1] + root->pull.v[1] } });
	for (size_t i = 1; i < tree->count; i++) {
		struct branch *child = &tree->branches[i];
		const struct branch *parent = &tree->branches[child->parent];
		struct matrix spread = tree->spreads[tree->depths[i]];
		struct vector moved = apply(spread, child->pull);
		child->mean = apply(child->gain, (struct vector){ { parent->mean.v[0] + moved.v[0],
								    parent->mean.v[1] + moved.v[1] } });
		child->covariance = multiply(child->gain, spread);
		add(&child->covariance,
		    multiply(multiply(child->gain, parent->covariance), transpose(child->gain)));
	}
}

static double largest_step(const struct tree *tree)
{
	double largest = 0;
	for (size_t i = 0; i < tree->count; i++)
		for (int j = 0; j < 2; j++)
			largest = fmax(largest,
				       fabs(tree->branches[i].mean.v[j] - tree->branches[i].line.v[j]));
	return largest;
}

static void try_step(struct tree *tree, double share)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct branch *branch = &tree->branches[i];
		for (int j = 0; j < 2; j++)
			branch->tried.v[j] =
				branch->line.v[j] + share * (branch->mean.v[j] - branch->line.v[j]);
	}
}

static void accept(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		tree->branches[i].line = tree->branches[i].tried;
}

/* The logarithm of the marginal likelihood of the labels, at the minimum. */
static double evidence_of(const struct tree *tree)
{
	struct matrix widened = multiply(tree->prior_spread, tree->branches[0].curvature);
	add(&widened, IDENTITY);
	double sum = log(determinant(widened));
	for (size_t i = 1; i < tree->count; i++)
		sum -= log(determinant(tree->branches[i].gain));
	return -loss_of(tree) - sum / 2;
}

static double fit_tree(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		tree->branches[i].line = tree->branches[i].tried = tree->prior;
	double loss = loss_of(tree);
	for (int step = 0; step < STEPS_MAX; step++) {
		look(tree);
		ascend(tree);
		spread_down(tree);
		double size = largest_step(tree), share = 1, tried = 0;
		for (int i = 0; i < HALVINGS_MAX; i++, share /= 2) {
			try_step(tree, share);
			tried = loss_of(tree);
			if (tried <= loss || size < 1e-6)
				break;
		}
		accept(tree);
		loss = tried;
		if (size < 1e-9)
			break;
	}
	return evidence_of(tree);
}

/* ---- the mean over what children may differ by ---- */

/* Sums over fits, weighted. */
struct moments {
	struct vector *lines;
	struct matrix *squares; /* covariance and outer product of the line */
	double weight, spreads[3];
	double largest; /* logarithm that weights are relative to */
};

static struct matrix outer(struct vector a)
{
	return (struct matrix){ { { a.v[0] * a.v[0], a.v[0] * a.v[1] },
				  { a.v[1] * a.v[0], a.v[1] * a.v[1] } } };
}

static void scale_moments(struct moments *moments, size_t count, double factor)
{
	moments->weight *= factor;
	for (int i = 0; i < 3; i++)
		moments->spreads[i] *= factor;
	for (size_t i = 0; i < count; i++)
		for (int j = 0; j < 2; j++) {
			moments->lines[i].v[j] *= factor;
			for (int k = 0; k < 2; k++)
				moments->squares[i].m[j][k] *= factor;
		}
}

static void gather(struct moments *moments, const struct tree *tree, double log_weight)
{
	if (log_weight > moments->largest) {
		scale_moments(moments, tree->count, exp(moments->largest - log_weight));
		moments->largest = log_weight;
	}
	double weight = exp(log_weight - moments->largest);
	moments->weight += weight;
	for (int i = 0; i < 3; i++)
		moments->spreads[i] += weight * tree->spreads[i].m[0][0];
	for (size_t i = 0; i < tree->count; i++) {
		struct matrix square = outer(tree->branches[i].mean);
		add(&square, tree->branches[i].covariance);
		for (int j = 0; j < 2; j++) {
			moments->lines[i].v[j] += weight * tree->branches[i].mean.v[j];
			for (int k = 0; k < 2; k++)
				moments->squares[i].m[j][k] += weight * square.m[j][k];
		}
	}
}

static struct matrix spread_of(double deviation)
{
	double variance = deviation * deviation;
	return (struct matrix){ { { variance, 0 }, { 0, variance * SLOPE_SHARE * SLOPE_SHARE } } };
}

/* Of a tree whose children differ at `shallow` and, where that is another, at `deep`. */
static struct moments average(struct tree *tree, enum model_depth shallow, enum model_depth deep,
			      struct arena *arena)
{
	struct moments moments = { ARENA_ARRAY(arena, struct vector, tree->count),
				   ARENA_ARRAY(arena, struct matrix, tree->count),
				   0,
				   { 0 },
				   -INFINITY };
	for (int i = 0; i < DEVIATIONS; i++)
		for (int j = 0; j < (deep != shallow ? DEVIATIONS : 1); j++) {
			double belief = BELIEF[i] * (deep != shallow ? BELIEF[j] : 1);
			tree->spreads[deep] = spread_of(DEVIATION[j]);
			tree->spreads[shallow] = spread_of(DEVIATION[i]);
			gather(&moments, tree, fit_tree(tree) + log(belief));
		}
	scale_moments(&moments, tree->count, 1 / moments.weight);
	return moments;
}

static struct model_line line_of(const struct moments *moments, size_t index)
{
	const struct vector *line = &moments->lines[index];
	const struct matrix *square = &moments->squares[index];
	return (struct model_line){ .intercept = line->v[0],
				    .slope = line->v[1],
				    .variance_intercept = fmax(0, square->m[0][0] - line->v[0] * line->v[0]),
				    .variance_slope = fmax(0, square->m[1][1] - line->v[1] * line->v[1]),
				    .covariance = square->m[0][1] - line->v[0] * line->v[1] };
}

/* ---- the model's nodes ---- */

static struct model_node node_of(const struct model_segment *segment, enum model_depth depth)
{
	struct model_node node = { .depth = depth };
	if (depth != MODEL_ALL)
		node.segment.application = segment->application;
	if (depth == MODEL_SEGMENT)
		node.segment = *segment;
	return node;
}

/* Different nodes of the sample, sorted, with their labels. */
static size_t list_nodes(const struct model_sample *sample, struct model_node *ret_nodes)
{
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < sample->count; i++)
		for (int depth = MODEL_ALL; depth <= MODEL_SEGMENT; depth++)
			ret_nodes[count++] =
				node_of(&sample->items[i]->item.segment, (enum model_depth)depth);
	qsort(ret_nodes, count, sizeof *ret_nodes, model_compare_nodes);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || model_compare_nodes(&ret_nodes[kept - 1], &ret_nodes[i]) != 0)
			ret_nodes[kept++] = ret_nodes[i];
		ret_nodes[kept - 1].labels++;
	}
	return kept;
}

static size_t find_node(const struct model_node *nodes, size_t count, const struct model_segment *segment,
			enum model_depth depth)
{
	const struct model_node key = node_of(segment, depth);
	const struct model_node *node = bsearch(&key, nodes, count, sizeof key, model_compare_nodes);
	return (size_t)(node - nodes);
}

/* Weights of a leaf's labels count together as many cases as they are worth. */
static void weigh(struct line_row *rows, size_t count, size_t leaves, struct arena *arena)
{
	double *sums = ARENA_ARRAY(arena, double, leaves), *squares = ARENA_ARRAY(arena, double, leaves);
	for (size_t i = 0; i < count; i++) {
		sums[rows[i].leaf] += rows[i].weight;
		squares[rows[i].leaf] += rows[i].weight * rows[i].weight;
	}
	for (size_t i = 0; i < count; i++)
		rows[i].weight *= sums[rows[i].leaf] / squares[rows[i].leaf];
}

static struct tree plant(size_t count, const struct line_row *rows, size_t rows_count, enum model_kind kind,
			 struct arena *arena)
{
	/* The regression's log odds are right or somewhat too sure; of overall confidence less is known. */
	static const struct vector prior[] = {
		[MODEL_MAP] = { { 0, 0.5 } }, [MODEL_FEATURES] = { { 0, 1 } }
	};
	static const struct matrix spread[] = {
		[MODEL_MAP] = { { { 4, 0 }, { 0, 1 } } }, [MODEL_FEATURES] = { { { 4, 0 }, { 0, 0.25 } } }
	};
	return (struct tree){ .branches = ARENA_ARRAY(arena, struct branch, count),
			      .count = count,
			      .depths = ARENA_ARRAY(arena, enum model_depth, count),
			      .rows = rows,
			      .rows_count = rows_count,
			      .prior = prior[kind],
			      .prior_spread = spread[kind] };
}

static void fit_nodes(const struct model_sample *sample, struct line_row *rows, struct model *model,
		      struct arena *arena)
{
	struct model_node *nodes = ARENA_ARRAY(arena, struct model_node, 3 * sample->count);
	size_t count = list_nodes(sample, nodes);
	for (size_t i = 0; i < sample->count; i++)
		rows[i].leaf = find_node(nodes, count, &sample->items[i]->item.segment, MODEL_SEGMENT);
	weigh(rows, sample->count, count, arena);
	struct tree tree = plant(count, rows, sample->count,
				 model->steps_count ? MODEL_FEATURES : model->info.kind, arena);
	for (size_t i = 0; i < count; i++) {
		tree.depths[i] = nodes[i].depth;
		if (nodes[i].depth != MODEL_ALL)
			tree.branches[i].parent = find_node(nodes, count, &nodes[i].segment,
							    (enum model_depth)(nodes[i].depth - 1));
	}
	const struct moments moments = average(&tree, MODEL_APPLICATION, MODEL_SEGMENT, arena);
	double slope = SLOPE_SHARE * SLOPE_SHARE;
	model->applications = (struct model_spread){ moments.spreads[MODEL_APPLICATION],
						     slope * moments.spreads[MODEL_APPLICATION] };
	model->segments = (struct model_spread){ moments.spreads[MODEL_SEGMENT],
						 slope * moments.spreads[MODEL_SEGMENT] };
	model->nodes = ARENA_ARRAY(model->arena, struct model_node, count);
	for (size_t i = 0; i < count; i++) {
		struct model_node *node = &model->nodes[model->nodes_count++];
		*node = nodes[i];
		node->segment =
			(struct model_segment){ arena_text(model->arena, node->segment.application.ptr,
							   node->segment.application.len),
						arena_text(model->arena, node->segment.model.ptr,
							   node->segment.model.len),
						arena_text(model->arena, node->segment.prompt_version.ptr,
							   node->segment.prompt_version.len) };
		node->line = line_of(&moments, i);
	}
}

/* Those with the most labels first; a parent, which has no fewer, before its children. */
static int compare_labels(const void *left, const void *right)
{
	const struct model_node *a = left, *b = right;
	int order = (a->labels < b->labels) - (a->labels > b->labels);
	return order ? order : model_compare_nodes(a, b);
}

static void limit_nodes(struct model *model)
{
	if (model->nodes_count <= MODEL_LINES_MAX)
		return;
	qsort(model->nodes, model->nodes_count, sizeof *model->nodes, compare_labels);
	model->nodes_count = MODEL_LINES_MAX;
	qsort(model->nodes, model->nodes_count, sizeof *model->nodes, model_compare_nodes);
}

/* What is left of a difference between a node's line and its parent's: of few labels only what is beyond
 * doubt, so that they do no harm. */
static double keep(int64_t labels, double difference, double variance)
{
	double first = fmin(1, FIRST_LABELS / (double)labels);
	double doubt = (DOUBTS_LATER + (DOUBTS_FIRST - DOUBTS_LATER) * first) * sqrt(variance);
	return copysign(fmax(0, fabs(difference) - doubt), difference);
}

/* Towards the parents' lines, which are before their children's; what is taken away widens the interval. */
static void hold_back(struct model *model)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct model_line *fitted = ARENA_ARRAY(scratch, struct model_line, model->nodes_count);
	for (size_t i = 0; i < model->nodes_count; i++)
		fitted[i] = model->nodes[i].line;
	for (size_t i = 1; i < model->nodes_count; i++) {
		struct model_node *node = &model->nodes[i];
		const struct model_node *parent =
			model_find(model, &node->segment, (enum model_depth)(node->depth - 1));
		const struct model_line *line = &fitted[parent - model->nodes];
		double intercept = node->line.intercept - line->intercept;
		double slope = node->line.slope - line->slope;
		node->line.intercept =
			parent->line.intercept + keep(node->labels, intercept, node->line.variance_intercept);
		node->line.slope = parent->line.slope + keep(node->labels, slope, node->line.variance_slope);
		double away = node->line.intercept - fitted[i].intercept;
		double turned = node->line.slope - fitted[i].slope;
		node->line.variance_intercept += away * away;
		node->line.variance_slope += turned * turned;
		node->line.covariance += away * turned;
	}
}

/* Spans as the only children of what is known of the segments. */
static double fit_spans(const struct line_row *rows, const int *spans, size_t count,
			const struct model *model, struct arena *arena)
{
	struct line_row *moved = ARENA_ARRAY(arena, struct line_row, count);
	struct tree tree = plant(MODEL_SPANS + 1, moved, count, MODEL_FEATURES, arena);
	for (size_t i = 1; i < tree.count; i++)
		tree.depths[i] = MODEL_SEGMENT;
	for (size_t i = 0; i < count; i++) {
		const struct model_line *line = &model->nodes[rows[i].leaf].line;
		moved[i] = rows[i];
		moved[i].score = line->intercept + line->slope * rows[i].score;
		moved[i].leaf = 1 + (spans ? (size_t)spans[i] : i * MODEL_SPANS / count);
	}
	return average(&tree, MODEL_SEGMENT, MODEL_SEGMENT, arena).spreads[MODEL_SEGMENT];
}

void model_fit_lines(const struct model_sample *sample, const double *scores, struct model *model)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct line_row *rows = ARENA_ARRAY(scratch, struct line_row, sample->count);
	double weight = 0, sum = 0;
	for (size_t i = 0; i < sample->count; i++) {
		weight += sample->items[i]->weight;
		sum += sample->items[i]->weight * scores[i];
	}
	model->centre = sum / weight;
	for (size_t i = 0; i < sample->count; i++)
		rows[i] = (struct line_row){ 0, scores[i] - model->centre, sample->items[i]->weight,
					     sample->items[i]->correct };
	fit_nodes(sample, rows, model, scratch);
	/* of other questions, and of other times */
	double questions = fit_spans(rows, sample->spans, sample->count, model, scratch);
	double times = fit_spans(rows, NULL, sample->count, model, scratch);
	model->spans_variance = fmax(questions, times);
	hold_back(model);
	limit_nodes(model);
}
