package main

import (
	"encoding/json"
	"math"
	"sort"
	"time"
)

type chunk struct {
	ChunkID      string   `json:"chunk_id"`
	DocumentID   *string  `json:"document_id"`
	SourceType   string   `json:"source_type"`
	BM25Score    *float64 `json:"bm25_score"`
	DenseScore   *float64 `json:"dense_score"`
	RRFScore     *float64 `json:"rrf_score"`
	BoostedScore *float64 `json:"boosted_score"`
	RerankScore  *float64 `json:"rerank_score"`
	GraphBoost   *float64 `json:"graph_boost"`
}

func (c *chunk) score() *float64 {
	switch {
	case c.RerankScore != nil:
		return c.RerankScore
	case c.BoostedScore != nil:
		return c.BoostedScore
	}
	return c.RRFScore
}

type event struct {
	EventID             string   `json:"event_id"`
	OccurredAt          int64    `json:"occurred_at"`
	Application         string   `json:"application"`
	Model               *string  `json:"model"`
	PromptVersion       *string  `json:"prompt_version"`
	Question            string   `json:"question"`
	SQL                 string   `json:"sql"`
	GeneratorConfidence *float64 `json:"generator_confidence"`
	Retrieval           *struct {
		Chunks []chunk `json:"chunks"`
	} `json:"retrieval"`
	Response *struct {
		Raw            string   `json:"raw"`
		RequiredFields []string `json:"required_fields"`
		OptionalFields []string `json:"optional_fields"`
	} `json:"response"`
}

type retrieval struct {
	Confidence    float64  `json:"confidence"`
	Level         string   `json:"level"`
	Scored        int      `json:"scored_count"`
	Top           float64  `json:"top_score"`
	Gap           float64  `json:"score_gap"`
	Spread        float64  `json:"score_spread"`
	Consensus     int      `json:"consensus_count"`
	Agreement     *float64 `json:"bm25_dense_agreement"`
	GraphSupport  bool     `json:"graph_support"`
	Diversity     float64  `json:"document_diversity"`
	ReviewFlagged bool     `json:"flagged"`
}

type advisoryScore struct {
	Confidence float64 `json:"confidence"`
	Level      string  `json:"level"`
	Retrieval  float64 `json:"retrieval_quality"`
	Source     float64 `json:"source_quality"`
	Response   float64 `json:"response_quality"`
}

type confidence struct {
	Overall        float64        `json:"overall"`
	Level          string         `json:"level"`
	LimitingFactor string         `json:"limiting_factor"`
	Technical      float64        `json:"technical"`
	Generator      *float64       `json:"generator"`
	Retrieval      *retrieval     `json:"retrieval"`
	Advisory       *advisoryScore `json:"advisory"`
}

type scored struct {
	EventID       string          `json:"event_id"`
	OccurredAt    int64           `json:"occurred_at"`
	ScoredAt      int64           `json:"scored_at"`
	Application   string          `json:"application"`
	Model         *string         `json:"model"`
	PromptVersion *string         `json:"prompt_version"`
	Question      string          `json:"question"`
	SQL           string          `json:"sql"`
	Structure     *structure      `json:"structure"`
	Confidence    confidence      `json:"confidence"`
	Action        string          `json:"action"`
	Input         json.RawMessage `json:"input"`
}

type advisory struct {
	EventID     string   `json:"event_id"`
	Application string   `json:"application"`
	Kinds       []string `json:"kinds"`
	Level       string   `json:"level"`
	Value       float64  `json:"value"`
	Reason      string   `json:"reason"`
	Question    string   `json:"question"`
	SQL         string   `json:"sql"`
	RaisedAt    int64    `json:"raised_at"`
}

func clamp01(x float64) float64 { return min(1, max(0, x)) }

func level(x, high, medium, low float64) string {
	switch {
	case x >= high:
		return "HIGH_CONFIDENCE"
	case x >= medium:
		return "MEDIUM_CONFIDENCE"
	case x >= low:
		return "LOW_CONFIDENCE"
	}
	return "VERY_LOW_CONFIDENCE"
}

func deviation(x []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(x)))
}

// pearson is nil where it is not defined.
func pearson(chunks []chunk) *float64 {
	var n, sx, sy, sxx, syy, sxy float64
	for i := range chunks {
		if chunks[i].BM25Score == nil || chunks[i].DenseScore == nil {
			continue
		}
		x, y := *chunks[i].BM25Score, *chunks[i].DenseScore
		n, sx, sy, sxx, syy, sxy = n+1, sx+x, sy+y, sxx+x*x, syy+y*y, sxy+x*y
	}
	d := math.Sqrt((n*sxx - sx*sx) * (n*syy - sy*sy))
	if n < 2 || d == 0 || math.IsNaN(d) {
		return nil
	}
	r := (n*sxy - sx*sy) / d
	return &r
}

func scoreRetrieval(chunks []chunk) *retrieval {
	scores := make([]float64, 0, len(chunks))
	documents := make(map[string]struct{}, len(chunks))
	unnamed := 0
	r := &retrieval{Level: "VERY_LOW_CONFIDENCE", ReviewFlagged: true}
	for i := range chunks {
		if s := chunks[i].score(); s != nil {
			scores = append(scores, *s)
		}
		if chunks[i].DocumentID != nil {
			documents[*chunks[i].DocumentID] = struct{}{}
		} else {
			unnamed++
		}
		r.GraphSupport = r.GraphSupport || chunks[i].GraphBoost != nil && *chunks[i].GraphBoost > 0
	}
	if len(scores) == 0 {
		return r
	}
	sort.Sort(sort.Reverse(sort.Float64Slice(scores)))
	r.Scored, r.Top, r.Spread = len(scores), scores[0], deviation(scores)
	if len(scores) > 1 {
		r.Gap = scores[0] - scores[1]
	}
	for r.Consensus < len(scores) && scores[r.Consensus] > 0.75 {
		r.Consensus++
	}
	r.Agreement = pearson(chunks)
	r.Diversity = float64(len(documents)+unnamed) / float64(len(chunks))
	agreement, graph := 0.5, 0.5
	if r.Agreement != nil {
		agreement = (*r.Agreement + 1) / 2
	}
	if r.GraphSupport {
		graph = 1
	}
	r.Confidence = clamp01(0.3*clamp01(r.Top) + 0.2*clamp01(r.Gap/0.3) + 0.15*float64(r.Consensus)/float64(r.Scored) +
		0.15*agreement + 0.1*max(0, 1-r.Spread/0.2) + 0.05*graph + 0.05*(1-r.Diversity))
	r.Level = level(r.Confidence, 0.85, 0.7, 0.5)
	r.ReviewFlagged = r.Level != "HIGH_CONFIDENCE"
	return r
}

var sourcePoints = map[string]float64{"GOVERNMENT": 0.3, "REGULATORY": 0.25, "MARKET_DATA": 0.2, "THIRD_PARTY": 0.1}

func responsePoints(e *event) float64 {
	var reply map[string]json.RawMessage
	if json.Unmarshal([]byte(e.Response.Raw), &reply) != nil || reply == nil {
		return 0
	}
	has := func(names []string) bool {
		for _, name := range names {
			if value, found := reply[name]; !found || string(value) == "null" {
				return false
			}
		}
		return true
	}
	switch {
	case !has(e.Response.RequiredFields):
		return 0.1
	case !has(e.Response.OptionalFields):
		return 0.2
	}
	return 0.3
}

func scoreAdvisory(e *event, r *retrieval) *advisoryScore {
	a := &advisoryScore{Response: responsePoints(e)}
	switch t := r.Top; {
	case r.Scored == 0 || t <= 0:
	case t >= 0.75:
		a.Retrieval = 0.3 + 0.1*clamp01((t-0.75)/0.25)
	case t >= 0.5:
		a.Retrieval = 0.2 + 0.1*(t-0.5)/0.25
	default:
		a.Retrieval = 0.1 + 0.1*t/0.5
	}
	sum, weights := 0.0, 0.0
	for i := range e.Retrieval.Chunks {
		c := &e.Retrieval.Chunks[i]
		if s := c.score(); s != nil {
			weight := 1.0
			if r.Top > 0 {
				weight = max(0, *s)
			}
			sum, weights = sum+weight*sourcePoints[c.SourceType], weights+weight
		}
	}
	if weights > 0 {
		a.Source = sum / weights
	}
	a.Confidence = a.Retrieval + a.Source + a.Response
	a.Level = level(a.Confidence, 0.9, 0.7, 0.5)
	return a
}

func score(e *event, raw []byte) *scored {
	s := &scored{EventID: e.EventID, OccurredAt: e.OccurredAt, ScoredAt: time.Now().UnixMilli(), Application: e.Application, Model: e.Model,
		PromptVersion: e.PromptVersion, Question: e.Question, SQL: e.SQL, Structure: analyse(e.SQL), Input: raw}
	c := &s.Confidence
	c.Technical, c.Generator = s.Structure.technical(), e.GeneratorConfidence
	c.Overall, c.LimitingFactor = c.Technical, "technical"
	limit := func(value float64, factor string) {
		if value < c.Overall {
			c.Overall, c.LimitingFactor = clamp01(value), factor
		}
	}
	if e.Retrieval != nil {
		c.Retrieval = scoreRetrieval(e.Retrieval.Chunks)
		if e.Response == nil {
			limit(c.Retrieval.Confidence, "retrieval")
		} else {
			c.Advisory = scoreAdvisory(e, c.Retrieval)
			limit(c.Advisory.Confidence, "advisory")
		}
	}
	if !s.Structure.Safe {
		c.Overall, c.LimitingFactor = 0, "safety"
	}
	c.Level = level(c.Overall, 0.9, 0.7, 0.5)
	s.Action = "ANSWER"
	if c.Overall < lowConfidence {
		s.Action = "REVIEW"
	}
	return s
}

func advisoryFor(e *event, s *scored) *advisory {
	kind := "LOW_CONFIDENCE"
	if !s.Structure.Safe {
		kind = "UNSAFE_QUERY"
	}
	return &advisory{EventID: e.EventID, Application: e.Application, Kinds: []string{kind}, Level: s.Confidence.Level, Value: s.Confidence.Overall,
		Reason: "limited by " + s.Confidence.LimitingFactor, Question: e.Question, SQL: e.SQL, RaisedAt: s.ScoredAt}
}
