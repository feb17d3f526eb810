#!/usr/bin/env python3
"""The statistics of daemon/calibration/statistics by others: numpy, scipy and scikit-learn.

    tests/harness/oracles/statistics_of_others.py           compares what it finds with
        tests/unit/calibration/statistics/statistics.def; exit status 77 without these libraries
    tests/harness/oracles/statistics_of_others.py --write   writes that file

Nothing here follows our code: where a library has no function for a figure, its definition is computed in the most
direct way (all pairs of cases, a fit for each new case, an integral by quadrature).
"""

import pathlib
import re
import sys

try:
    import numpy
    import scipy.integrate
    import scipy.optimize
    import scipy.special
    import scipy.stats
    import sklearn.calibration
    import sklearn.isotonic
    import sklearn.linear_model
    import sklearn.metrics
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

FIXTURE = pathlib.Path(__file__).resolve().parents[2] / "unit" / "calibration" / "statistics" / "statistics.def"
Z = scipy.stats.norm.ppf(0.975)


class Sample:
    def __init__(self, name, score, correct, weight):
        self.name, self.score, self.correct, self.weight = name, score, correct, weight


def samples():
    random = numpy.random.default_rng(20261123)
    score = numpy.round(random.uniform(0.02, 0.99, 60), 6)
    yield Sample("plain", score, random.random(60) < score, numpy.ones(60))
    score = random.choice([0.1, 0.25, 0.3, 0.5, 0.55, 0.7, 0.85, 0.9, 1.0], 90)
    yield Sample("ties", score, random.random(90) < score - 0.15, numpy.ones(90))
    score = numpy.round(random.beta(4, 2, 80), 2)
    yield Sample("weights", score, random.random(80) < score, random.choice([1, 1.25, 2, 4, 10], 80))
    yield Sample("few", numpy.array([0.2, 0.4, 0.4, 0.9]), numpy.array([False, True, False, True]), numpy.ones(4))


def kish(weight):
    return weight.sum() ** 2 / (weight**2).sum()


def wilson(share, cases):
    """Where a share differs by Z of its own standard deviations."""
    def end(sign):
        return scipy.optimize.brentq(
            lambda p: (share - p) * abs(share - p) - sign * Z**2 * p * (1 - p) / cases, 0, 1, xtol=1e-15)

    low = 0 if share == 0 else cases / (cases + Z**2) if share == 1 else end(1)
    high = 1 if share == 1 else Z**2 / (cases + Z**2) if share == 0 else end(-1)
    return low, high


def auroc(sample):
    """With DeLong's variance, from the matrix of all pairs."""
    area = sklearn.metrics.roc_auc_score(sample.correct, sample.score, sample_weight=sample.weight)
    yes, no = sample.correct, ~sample.correct
    wins = numpy.heaviside(sample.score[yes][:, None] - sample.score[no][None, :], 0.5)
    by_yes = numpy.average(wins, axis=1, weights=sample.weight[no])
    by_no = numpy.average(wins, axis=0, weights=sample.weight[yes])
    variance = sum(
        numpy.average((part - area) ** 2, weights=weight) / (kish(weight) - 1)
        for part, weight in ((by_yes, sample.weight[yes]), (by_no, sample.weight[no]))
    )
    centre, half = scipy.special.logit(area), Z * variance**0.5 / (area * (1 - area))
    return [area, *scipy.special.expit([centre - half, centre + half])]


def risk(sample):
    """Area, and the whole curve."""
    scores, points, area, done, wrong = numpy.unique(sample.score)[::-1], [], 0, 0, 0
    total = sample.weight.sum()
    for score in scores:
        here = sample.score == score
        more, errors = sample.weight[here].sum(), sample.weight[here & ~sample.correct].sum()
        area += scipy.integrate.quad(lambda x: (wrong + errors * x / more) / (done + x), 0, more, epsabs=1e-13, epsrel=1e-13)[0]
        done, wrong = done + more, wrong + errors
        above = sample.weight[sample.score >= score]
        points += [score, done / total, wrong / done, *wilson(1 - wrong / done, kish(above))]
    return [area / total], points


def bins(sample, most):
    """Equal mass, whole scores."""
    order = numpy.argsort(sample.score, kind="stable")
    found, current, reached, total = [], [], 0.0, sample.weight.sum()
    scores = numpy.unique(sample.score)
    bounds = [total * k / most for k in range(1, most)]
    for score in scores:
        here = [i for i in order if sample.score[i] == score]
        before, reached = reached, reached + sum(sample.weight[here])
        current += here
        if score == scores[-1] or any(before + 1e-9 < bound <= reached + 1e-9 for bound in bounds):
            found.append(numpy.array(current))
            current = []
    return found


def binned(sample, most):
    parts, figures = [], []
    for index in bins(sample, most):
        weight, score, correct = sample.weight[index], sample.score[index], sample.correct[index]
        accuracy, confidence = numpy.average(correct, weights=weight), numpy.average(score, weights=weight)
        n = kish(weight)
        parts.append((weight.sum(), accuracy, confidence, n))
        figures += [score.min(), score.max(), len(index), weight.sum(), n, accuracy, confidence, *wilson(accuracy, n)]
    weight, accuracy, confidence, n = (numpy.array(column) for column in zip(*parts))
    share, difference = weight / weight.sum(), accuracy - confidence
    deviation = numpy.sqrt(accuracy * (1 - accuracy) / n)
    folded = [
        abs(d) if s == 0 else scipy.stats.foldnorm.mean(abs(d) / s, scale=s) for d, s in zip(difference, deviation)
    ]
    expected = numpy.sum(share * abs(difference))
    many = n > 1 + 1e-9
    squared = numpy.average(
        (difference**2 - accuracy * (1 - accuracy) / numpy.where(many, n - 1, 1))[many], weights=weight[many]
    )
    smoothed = (accuracy * n + 2) / (n + 4)
    noise = numpy.sqrt(smoothed * (1 - smoothed) / (n + 4))
    mean, variance = scipy.stats.foldnorm.stats(0, moments="mv")
    low = expected - numpy.sum(share * noise * mean) - Z * numpy.sqrt(numpy.sum(share**2 * noise**2) * variance)
    high = expected + Z * numpy.sqrt(numpy.sum(share**2 * noise**2))
    error = [expected, max(0, 2 * expected - numpy.sum(share * folded)), squared, max(0, low), min(1, high)]
    return error, figures


QUERIES = numpy.array([0.0, 0.05, 0.1, 0.2, 0.333, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.99, 1.0])
PLACES = numpy.array([-4.0, -1.5, -0.25, 0.0, 1.0, 2.5, 6.9, 12.0])


def nearby(sample):
    """Shift and variance at each place: three neighbours are a group, which weighs as much as its heaviest case."""
    odds = scipy.special.logit(numpy.minimum(sample.score, 0.999))
    group, found = numpy.arange(len(odds)) // 3, []
    for place in PLACES:
        weight = sample.weight * numpy.maximum(0, 1 - numpy.abs(odds - place))
        for number in numpy.unique(group[weight > 0]):
            weight[group == number] *= weight[group == number].max() / weight[group == number].sum()
        prior = scipy.stats.norm(0, numpy.sqrt((1 + place**2) / 4))

        def pull(shift, weight=weight, prior=prior):
            return (weight * (sample.correct - scipy.special.expit(odds + shift))).sum() - shift / prior.var()

        shift = scipy.optimize.brentq(pull, -1000, 1000, xtol=1e-15, rtol=1e-15)
        p = scipy.special.expit(odds + shift)
        found += [shift, 1 / ((weight * p * (1 - p)).sum() + 1 / prior.var())]
    return found


def venn_abers(sample):
    found = []
    for query in QUERIES:
        for label in (0, 1):
            model = sklearn.isotonic.IsotonicRegression(out_of_bounds="clip")
            model.fit(
                numpy.append(sample.score, query),
                numpy.append(sample.correct, label).astype(float),
                sample_weight=numpy.append(sample.weight, 1),
            )
            found.append(model.predict([query])[0])
    return found


def minimum(loss, gradient, hessian, start):
    """By scipy's trust region, and to the last digits as a root of the gradient."""
    found = scipy.optimize.minimize(loss, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-9})
    root = scipy.optimize.root(gradient, found.x, jac=hessian, method="hybr", options={"xtol": 1e-15})
    assert numpy.allclose(root.x, found.x, atol=1e-5), (root.x, found.x)
    for _ in range(3):
        root.x = root.x - numpy.linalg.solve(hessian(root.x), gradient(root.x))
    return root.x


def platt(sample):
    yes, no = sample.weight[sample.correct].sum(), sample.weight[~sample.correct].sum()
    target = numpy.where(sample.correct, (yes + 1) / (yes + 2), 1 / (no + 2))
    design = numpy.column_stack([sample.score, numpy.ones(len(target))])

    def loss(beta):
        return numpy.sum(sample.weight * (numpy.logaddexp(0, design @ beta) - target * (design @ beta)))

    def gradient(beta):
        return design.T @ (sample.weight * (scipy.special.expit(design @ beta) - target))

    def hessian(beta):
        p = scipy.special.expit(design @ beta)
        return (design * (sample.weight * p * (1 - p))[:, None]).T @ design

    found = minimum(loss, gradient, hessian, numpy.zeros(2))
    theirs = sklearn.calibration._sigmoid_calibration(sample.score, sample.correct, sample_weight=sample.weight)
    assert numpy.allclose([-theirs[0], -theirs[1]], found, rtol=2e-3, atol=2e-3), (theirs, found)
    covariance = numpy.linalg.inv(hessian(found))
    return [*found, covariance[0, 0], covariance[1, 1], covariance[0, 1]]


class Regression:
    def __init__(self, name, features, labels, weights, penalties, prior):
        self.name, self.features, self.labels = name, features, labels
        self.weights, self.penalties, self.prior = weights, penalties, prior


def regressions():
    random = numpy.random.default_rng(7)
    features = numpy.round(random.normal(size=(50, 3)) * [1, 2, 0.1], 4)
    odds = 0.3 + features @ [1, -0.5, 3]
    labels = random.random(50) < scipy.special.expit(odds)
    yield Regression("plain", features, labels, numpy.ones(50), numpy.array([0, 0.5, 0.5, 0.5]), numpy.zeros(4))
    yield Regression("prior", features, labels, random.choice([1, 2.5, 4], 50), numpy.array([1, 2, 3, 40.0]),
                     numpy.array([0.2, 0.8, -0.4, 2.5]))
    yield Regression("separable", features, features[:, 0] > 0, numpy.ones(50), numpy.array([0.1, 0.1, 0.1, 0.1]), numpy.zeros(4))
    yield Regression("intercept", numpy.zeros((6, 0)), numpy.array([1, 1, 0, 1, 0, 1], bool), numpy.ones(6), numpy.zeros(1), numpy.zeros(1))


def regression(problem):
    """Coefficients with the intercept first, the loss, and log odds with their standard error at a row of halves."""
    design = numpy.column_stack([numpy.ones(len(problem.labels)), problem.features])

    def loss(beta):
        odds = design @ beta
        return numpy.sum(problem.weights * (numpy.logaddexp(0, odds) - problem.labels * odds)) + 0.5 * numpy.sum(
            problem.penalties * (beta - problem.prior) ** 2
        )

    def gradient(beta):
        residual = scipy.special.expit(design @ beta) - problem.labels
        return design.T @ (problem.weights * residual) + problem.penalties * (beta - problem.prior)

    def hessian(beta):
        p = scipy.special.expit(design @ beta)
        return (design * (problem.weights * p * (1 - p))[:, None]).T @ design + numpy.diag(problem.penalties)

    beta = minimum(loss, gradient, hessian, problem.prior)
    if problem.name == "plain":
        model = sklearn.linear_model.LogisticRegression(C=2.0, tol=1e-14, max_iter=10000, solver="newton-cholesky")
        model.fit(problem.features, problem.labels)
        assert numpy.allclose([model.intercept_[0], *model.coef_[0]], beta, atol=1e-10), (model.coef_, beta)
    row = numpy.append(1, numpy.full(design.shape[1] - 1, 0.5))
    error = numpy.sqrt(row @ numpy.linalg.inv(hessian(beta)) @ row)
    return [*beta, loss(beta), row @ beta, error]


SHIFTS = (0.3, 0.6, 1.0)


def cusum(sample):
    """Sums, cases and residuals of both sides after the sample, by cumulative sums: a sum that begins anew below 0 is
    the present one minus the lowest so far."""
    found = []
    for shift in SHIFTS:
        for sign in (-1, 1):
            odds = sample.score * numpy.exp(sign * shift)
            moved = odds / (1 - sample.score + odds)
            step = numpy.where(sample.correct, numpy.log(moved / sample.score),
                               numpy.log1p(-moved) - numpy.log1p(-sample.score))
            total = numpy.append(0, numpy.cumsum(step))
            lowest = len(total) - 1 - numpy.argmin(total[::-1])
            found += [total[-1] - total[lowest], len(total) - 1 - lowest,
                      numpy.sum((sample.correct - sample.score)[lowest:])]
    return found


def thresholds():
    found = []
    for shift in SHIFTS:
        for cases in (100, 20000, 1e6):
            deviation = shift / 2

            def length(threshold):
                # Siegmund's, in units of the steps' deviation: drift of −deviation/2, bound threshold/deviation
                drift, bound = -deviation / 2, threshold / deviation + 1.166
                return (numpy.exp(-2 * drift * bound) + 2 * drift * bound - 1) / (2 * drift**2)

            found += [shift, cases, scipy.optimize.brentq(lambda h: length(h) - 1.2 * cases, 0, 60, xtol=1e-14)]
    return found


def numbers(values):
    lines, line = [], ""
    for value in values:
        text = repr(float(value)) if not isinstance(value, (bool, numpy.bool_)) else str(int(value))
        text = text.removesuffix(".0") if text.endswith(".0") and len(text) > 12 else text
        if len(line) + len(text) > 90:
            lines.append(line.rstrip())
            line = ""
        line += f"{text}, "
    return "\n".join("\t" + part for part in [*lines, line.rstrip()])


def array(name, values):
    values = list(values)
    kind = "bool" if values and isinstance(values[0], (bool, numpy.bool_)) else "double"
    return f"static const {kind} {name}[] = {{\n{numbers(values) if values else chr(9) + '0,'}\n}};\n"


def write():
    text = "/* Made by tests/harness/oracles/statistics_of_others.py --write, with numpy, scipy and scikit-learn. */\n"
    text += array("queries", QUERIES) + array("places", PLACES) + array("cusum_thresholds", thresholds())
    names = []
    for sample in samples():
        name = f"sample_{sample.name}"
        area, points = risk(sample)
        error, parts = binned(sample, 7)
        names.append((sample.name, len(sample.score)))
        forecasts = Sample(sample.name, numpy.minimum(sample.score, 0.999), sample.correct, sample.weight)
        for part, values in (
            ("scores", sample.score), ("labels", sample.correct), ("weights", sample.weight), ("auroc", auroc(sample)),
            ("risk_area", area), ("risk_points", points), ("errors", error), ("bins", parts),
            ("nearby", nearby(sample)), ("venn_abers", venn_abers(sample)), ("platt", platt(sample)),
            ("cusum", cusum(forecasts)),
        ):
            text += array(f"{name}_{part}", values)
    regressed = []
    for problem in regressions():
        name = f"regression_{problem.name}"
        regressed.append((problem.name, problem.features.shape))
        for part, values in (
            ("features", problem.features.flatten()), ("labels", problem.labels), ("weights", problem.weights),
            ("penalties", problem.penalties), ("prior", problem.prior), ("found", regression(problem)),
        ):
            text += array(f"{name}_{part}", values)
    text += "#define SAMPLES(SAMPLE) " + " ".join(f"SAMPLE({name}, {count})" for name, count in names) + "\n"
    text += "#define REGRESSIONS(REGRESSION) " + " ".join(
        f"REGRESSION({name}, {rows}, {columns})" for name, (rows, columns) in regressed) + "\n"
    return text


def differs(ours, theirs):
    pattern = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    if re.sub(pattern, "#", " ".join(ours.split())) != re.sub(pattern, "#", " ".join(theirs.split())):
        return "the shape"
    for left, right in zip(re.findall(pattern, ours), re.findall(pattern, theirs)):
        if abs(float(left) - float(right)) > 1e-10 * max(1, abs(float(right))):
            return f"{left} is not {right}"
    return None


def main():
    text = write()
    if sys.argv[1:] == ["--write"]:
        FIXTURE.write_text(text, encoding="utf-8")
        return 0
    found = differs(FIXTURE.read_text(encoding="utf-8"), text)
    if found:
        print(f"{FIXTURE}: {found}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
