#include "calibration/statistics/logistic.h"

#include <math.h>

enum { STEPS_MAX = 100, HALVINGS_MAX = 40 };

#define FEATURE_MAX 1e6

/* Half of the decrement is about how far the loss lies above the minimum, here in shares of the loss: where
 * it falls for ever, towards 0, it never comes close. Newton's next step squares what is left. */
#define CLOSE_ENOUGH 1e-14

static err_t check(const struct logistic_problem *problem, struct err_detail *detail)
{
	if (problem->rows == 0 || problem->rows > OUTCOMES_MAX || problem->columns > LOGISTIC_COLUMNS_MAX)
		return err_fail(detail, ERR_SAMPLES, "%zu rows of %zu features: too many, or no rows",
				problem->rows, problem->columns);
	for (size_t i = 0; i < problem->rows * problem->columns; i++)
		if (!(fabs(problem->features[i]) <= FEATURE_MAX))
			return err_fail(detail, ERR_SAMPLES, "row %zu: feature %zu is out of range",
					i / problem->columns, i % problem->columns);
	for (size_t i = 0; problem->weights && i < problem->rows; i++)
		if (!(problem->weights[i] > 0 && problem->weights[i] <= OUTCOMES_WEIGHT_MAX))
			return err_fail(detail, ERR_SAMPLES, "row %zu: its weight is out of range", i);
	for (size_t i = 0; i <= problem->columns; i++)
		if (!(problem->penalties[i] >= 0 && problem->penalties[i] <= OUTCOMES_WEIGHT_MAX) ||
		    (problem->prior && !(fabs(problem->prior[i]) <= FEATURE_MAX)))
			return err_fail(detail, ERR_SAMPLES,
					"coefficient %zu: its penalty or prior is out of range", i);
	return ERR_OK;
}

/* ---- loss and derivatives ---- */

/* log(1 + e^x) without overflow. */
static double softplus(double x)
{
	return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double log_odds_of(const double *coefficients, const double *row, size_t columns)
{
	double sum = coefficients[0];
	for (size_t j = 0; j < columns; j++)
		sum += coefficients[j + 1] * row[j];
	return sum;
}

static double prior_of(const struct logistic_problem *problem, size_t coefficient)
{
	return problem->prior ? problem->prior[coefficient] : 0;
}

static double loss_of(const struct logistic_problem *problem, const double *coefficients)
{
	double loss = 0;
	for (size_t i = 0; i < problem->rows; i++) {
		double odds =
			log_odds_of(coefficients, &problem->features[i * problem->columns], problem->columns);
		double weight = problem->weights ? problem->weights[i] : 1;
		loss += weight * (softplus(odds) - (problem->labels[i] ? odds : 0));
	}
	for (size_t j = 0; j <= problem->columns; j++) {
		double distance = coefficients[j] - prior_of(problem, j);
		loss += problem->penalties[j] * distance * distance / 2;
	}
	return loss;
}

/* First derivatives and the lower half of the second ones. */
static void derive(const struct logistic_problem *problem, const double *coefficients, double *gradient,
		   double *hessian)
{
	size_t columns = problem->columns, size = columns + 1;
	memset(gradient, 0, size * sizeof *gradient);
	memset(hessian, 0, size * size * sizeof *hessian);
	for (size_t i = 0; i < problem->rows; i++) {
		const double *row = &problem->features[i * columns];
		double weight = problem->weights ? problem->weights[i] : 1;
		double p = outcomes_sigmoid(log_odds_of(coefficients, row, columns));
		double residual = weight * (p - problem->labels[i]), curvature = weight * p * (1 - p);
		gradient[0] += residual;
		hessian[0] += curvature;
		for (size_t j = 1; j < size; j++) {
			double scaled = curvature * row[j - 1];
			gradient[j] += residual * row[j - 1];
			hessian[j * size] += scaled;
			for (size_t k = 1; k <= j; k++)
				hessian[j * size + k] += scaled * row[k - 1];
		}
	}
	for (size_t j = 0; j < size; j++) {
		gradient[j] += problem->penalties[j] * (coefficients[j] - prior_of(problem, j));
		hessian[j * size + j] += problem->penalties[j];
	}
}

/* ---- linear algebra ---- */

/* Cholesky's factor in place of the lower half. False: the matrix is not positive definite. */
static bool factorise(double *matrix, size_t size)
{
	for (size_t i = 0; i < size; i++)
		for (size_t j = 0; j <= i; j++) {
			double sum = matrix[i * size + j], largest = matrix[i * size + i];
			for (size_t k = 0; k < j; k++)
				sum -= matrix[i * size + k] * matrix[j * size + k];
			if (i != j)
				matrix[i * size + j] = sum / matrix[j * size + j];
			else if (!(sum > 1e-14 * largest))
				return false;
			else
				matrix[i * size + i] = sqrt(sum);
		}
	return true;
}

/* Solves L·x = b in place. */
static void solve_lower(const double *factor, size_t size, double *vector)
{
	for (size_t i = 0; i < size; i++) {
		for (size_t k = 0; k < i; k++)
			vector[i] -= factor[i * size + k] * vector[k];
		vector[i] /= factor[i * size + i];
	}
}

/* Solves Lᵀ·x = b in place. */
static void solve_upper(const double *factor, size_t size, double *vector)
{
	for (size_t i = size; i-- > 0;) {
		for (size_t k = i + 1; k < size; k++)
			vector[i] -= factor[k * size + i] * vector[k];
		vector[i] /= factor[i * size + i];
	}
}

/* ---- Newton's method ---- */

struct search {
	const struct logistic_problem *problem;
	size_t size;
	double *coefficients, *tried, *step, *factor;
	double loss;
};

/* The step, and the decrement that it promises (twice); negative: there is none. */
static double find_step(struct search *search)
{
	double decrement = 0;
	derive(search->problem, search->coefficients, search->step, search->factor);
	if (!factorise(search->factor, search->size))
		return -1;
	solve_lower(search->factor, search->size, search->step);
	for (size_t j = 0; j < search->size; j++)
		decrement += search->step[j] * search->step[j];
	solve_upper(search->factor, search->size, search->step);
	return decrement;
}

static void move(struct search *search, double share)
{
	for (size_t j = 0; j < search->size; j++)
		search->tried[j] = search->coefficients[j] - share * search->step[j];
}

static void accept(struct search *search)
{
	memcpy(search->coefficients, search->tried, search->size * sizeof *search->coefficients);
}

/* Near the minimum the loss has too few digits to tell better from worse: there whole steps are right. */
static bool descend(struct search *search, double decrement)
{
	double share = 1;
	for (int i = 0; i < HALVINGS_MAX; i++, share /= 2) {
		move(search, share);
		double loss = loss_of(search->problem, search->tried);
		if (loss <= search->loss - share * decrement / 4 || decrement < 1e-6) {
			accept(search);
			search->loss = loss;
			return true;
		}
	}
	return false;
}

/* The last step needs no look at the loss; the factor is that of the minimum. */
static bool settle(struct search *search)
{
	move(search, 1);
	accept(search);
	if (find_step(search) < 0)
		return false;
	search->loss = loss_of(search->problem, search->coefficients);
	return true;
}

err_t logistic_fit(const struct logistic_problem *problem, struct arena *arena,
		   struct logistic_model *ret_model, struct err_detail *detail)
{
	size_t size = problem->columns + 1;
	err_t err = check(problem, detail);
	if (err)
		return err;
	struct search search = {
		.problem = problem,
		.size = size,
		.coefficients = ARENA_ARRAY(arena, double, size),
		.tried = ARENA_ARRAY(arena, double, size),
		.step = ARENA_ARRAY(arena, double, size),
		.factor = ARENA_ARRAY(arena, double, size *size),
	};
	for (size_t j = 0; j < size; j++)
		search.coefficients[j] = prior_of(problem, j);
	search.loss = loss_of(problem, search.coefficients);
	for (int steps = 1; steps <= STEPS_MAX; steps++) {
		double decrement = find_step(&search);
		if (decrement < 0 || !isfinite(decrement))
			break;
		if (decrement <= CLOSE_ENOUGH * search.loss) {
			if (!settle(&search))
				break;
			*ret_model = (struct logistic_model){ problem->columns, search.coefficients,
							      search.factor, search.loss, steps };
			return ERR_OK;
		}
		if (!descend(&search, decrement))
			break;
	}
	return err_fail(
		detail, ERR_SAMPLES,
		"the regression finds no minimum: features that depend on each other, or that tell all "
		"labels, need a penalty");
}

double logistic_log_odds(const struct logistic_model *model, const double *row, double *ret_deviation)
{
	size_t size = model->columns + 1;
	if (ret_deviation) {
		double vector[LOGISTIC_COLUMNS_MAX + 1], sum = 0;
		vector[0] = 1;
		for (size_t j = 0; j < model->columns; j++)
			vector[j + 1] = row[j];
		solve_lower(model->factor, size, vector);
		for (size_t j = 0; j < size; j++)
			sum += vector[j] * vector[j];
		*ret_deviation = sqrt(sum);
	}
	return log_odds_of(model->coefficients, row, model->columns);
}
