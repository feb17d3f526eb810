#include "calibration/statistics/student.h"

#include <math.h>

double student_tail(double t, int degrees)
{
	double angle = atan(t / sqrt(degrees)), cosine = cos(angle), sum = 0, term = cosine;
	for (int i = 1; i <= degrees - 2; i += 2) {
		sum += term;
		term *= cosine * cosine * (i + 1) / (i + 2);
	}
	return 0.5 - (angle + sin(angle) * sum) / M_PI;
}
