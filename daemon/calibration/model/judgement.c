#include "calibration/model/judgement.h"

#include <math.h>

#define ECE_MAX	      0.05 /* as it is estimated */
#define ECE_REFUTABLE 0.1  /* what is to be refuted */
#define AUROC_SLACK   0.01 /* equal values of a map cost as much, and tell nobody less */

bool model_judgement_is_due(const struct model_judgement *last, enum model_kind kind,
			    const struct model_example *examples, size_t inside, size_t count)
{
	struct model_looks none = { 0 };
	bool first = last->looks.labels < MODEL_PROVEN_CASES_MIN;
	if (first && model_look_next(&none, 0, kind, examples + inside, count - inside).labels <
			     MODEL_PROVEN_CASES_MIN)
		return false;
	return model_look_is_due(first ? &none : &last->looks, kind, examples, inside, count);
}

static bool proves(const struct model *model, const struct model_quality *quality,
		   const struct model_example *later, size_t count, int64_t look)
{
	double excess = (ECE_REFUTABLE - quality->ece) / (quality->ece_deviation * M_SQRT2);
	return quality->cases >= MODEL_PROVEN_CASES_MIN && quality->ece <= ECE_MAX &&
	       erfc(excess) / 2 <= model_look_rate(look) && quality->auroc_low > 0.5 &&
	       quality->auroc >= quality->auroc_overall - AUROC_SLACK &&
	       model_better(model, NULL, later, count, look);
}

static bool refutes(const struct model_quality *quality)
{
	return quality->log_loss >= quality->log_loss_constant || quality->ece_low > ECE_MAX ||
	       quality->auroc_high < quality->auroc_overall;
}

err_t model_judge(const struct model *model, const struct model_judgement *last,
		  const struct model_example *later, size_t count, struct model_judgement *ret_judgement,
		  struct err_detail *detail)
{
	const struct model_info *info = model_info(model);
	struct model_judgement judgement = { 0 };
	err_t err = model_measure(model, later, count, &judgement.quality, detail);
	if (err)
		return err;
	bool enough = judgement.quality.cases >= MODEL_PROVEN_CASES_MIN;
	judgement.looks = model_look_next(&last->looks, info->version, info->kind, later, count);
	judgement.looks.count = last->looks.count + enough;
	judgement.proven = last->proven
				   ? !enough || !refutes(&judgement.quality)
				   : proves(model, &judgement.quality, later, count, judgement.looks.count);
	*ret_judgement = judgement;
	return ERR_OK;
}
