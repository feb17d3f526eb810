// assayd for a program in Go: sends it an event, and reads what it found.
//
//	go run . produce generated-queries QUESTION SQL [TARGET]    prints the event_id
//	go run . read scored-queries                                a line each: event_id, level, disposition, score ("none": it has none); until Ctrl-C
//	go run . read confidence-advisories level=VERY_LOW_CONFIDENCE    only those with that header; no other one is decoded
//
// KAFKA_BOOTSTRAP is the broker (localhost:9092). With SCHEMA_REGISTRY_URL events are Avro in Confluent's framing, else JSON; records
// and advisories are read in either, as kafka.wire_format = "confluent" or "json" has them. Needs Go 1.26; go.mod pins the libraries.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sr"
)

// event is what this program knows of one. generated_query.avsc, beside assayd's other schemas, has all that one can say.
type event struct {
	EventID     string  `avro:"event_id" json:"event_id"`
	OccurredAt  int64   `avro:"occurred_at" json:"occurred_at"`
	Application string  `avro:"application" json:"application"`
	Question    string  `avro:"question" json:"question"`
	SQL         string  `avro:"sql" json:"sql"`
	Target      *string `avro:"target" json:"target"`
}

const schema = `{"type": "record", "name": "GeneratedQuery", "namespace": "io.assayd", "fields": [
	{"name": "event_id", "type": "string"},
	{"name": "occurred_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
	{"name": "application", "type": "string"},
	{"name": "question", "type": "string"},
	{"name": "sql", "type": "string"},
	{"name": "target", "type": ["null", "string"], "default": null}]}`

// finding is what this program reads of a scored record and of an advisory; the other fields of their schemas are passed over.
type finding struct {
	AdvisoryID  string      `avro:"advisory_id" json:"advisory_id"`
	EventID     *string     `avro:"event_id" json:"event_id"`
	Level       *string     `avro:"level" json:"level"`
	Action      *string     `avro:"action" json:"action"`
	Value       *float64    `avro:"value" json:"value"`
	Confidence  confidence  `avro:"confidence" json:"confidence"`
	Disposition disposition `avro:"disposition" json:"disposition"`
}

type confidence struct {
	Overall *float64 `avro:"overall" json:"overall"`
	Level   *string  `avro:"level" json:"level"`
}

type disposition struct {
	Action *string `avro:"action" json:"action"`
}

func (f *finding) String() string {
	level, action, score := f.Level, f.Action, f.Value
	if f.AdvisoryID == "" {
		level, action, score = f.Confidence.Level, f.Disposition.Action, f.Confidence.Overall
	}
	words := []string{"none", "none", "none", "none"}
	for i, text := range []*string{f.EventID, level, action} {
		if text != nil {
			words[i] = *text
		}
	}
	if score != nil {
		words[3] = fmt.Sprintf("%.2f", *score)
	}
	return strings.Join(words, " ")
}

// registry has schemas by their ids, each asked for once; without an address there is none.
type registry struct {
	url     string
	client  *sr.Client
	schemas map[int]*avro.Schema
}

func newRegistry(url string) (*registry, error) {
	if url == "" {
		return nil, nil
	}
	client, err := sr.NewClient(sr.URLs(url))
	return &registry{url, client, map[int]*avro.Schema{}}, err
}

func (r *registry) failed(err error) error {
	return fmt.Errorf("the schema registry %s: %w; start it, or correct SCHEMA_REGISTRY_URL", r.url, err)
}

func (r *registry) schema(ctx context.Context, id int) (*avro.Schema, error) {
	if known, ok := r.schemas[id]; ok {
		return known, nil
	}
	found, err := r.client.SchemaByID(ctx, id)
	if err != nil {
		return nil, r.failed(err)
	}
	r.schemas[id], err = avro.Parse(found.Schema)
	return r.schemas[id], err
}

// encode is in Confluent's framing: a zero byte, the schema's id (4 bytes, big-endian), the data.
func (r *registry) encode(ctx context.Context, topic string, value any) ([]byte, error) {
	registered, err := r.client.CreateSchema(ctx, topic+"-value", sr.Schema{Schema: schema})
	if err != nil {
		return nil, r.failed(err)
	}
	framed, err := new(sr.ConfluentHeader).AppendEncode(nil, registered.ID, nil)
	if err != nil {
		return nil, err
	}
	return avro.MustParse(schema).AppendEncode(framed, value)
}

func (r *registry) decode(ctx context.Context, data []byte, value any) error {
	id, payload, err := new(sr.ConfluentHeader).DecodeID(data)
	if err != nil {
		return err
	}
	writer, err := r.schema(ctx, id)
	if err != nil {
		return err
	}
	_, err = writer.Decode(payload, value, avro.SkipUnknown())
	return err
}

// check says whether there is such a broker with such a topic: clients wait for either for as long as it takes.
func check(ctx context.Context, client *kgo.Client, broker, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, asked := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
	asked.Topic = &topic
	request.Topics = append(request.Topics, asked)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("no broker answers at %s: %w; start it, or correct KAFKA_BOOTSTRAP", broker, err)
	}
	if answer.Topics[0].ErrorCode == kerr.UnknownTopicOrPartition.Code {
		return fmt.Errorf("%s has no topic %s; create it, or correct its name", broker, topic)
	}
	return kerr.ErrorForCode(answer.Topics[0].ErrorCode)
}

func produce(ctx context.Context, client *kgo.Client, registry *registry, topic string, words []string) error {
	sent := event{rand.Text(), time.Now().UnixMilli(), "example-go", words[0], words[1], nil}
	if len(words) > 2 {
		sent.Target = &words[2]
	}
	data, err := json.Marshal(sent)
	if registry != nil {
		data, err = registry.encode(ctx, topic, sent)
	}
	if err != nil {
		return err
	}
	record := &kgo.Record{Topic: topic, Key: []byte(sent.EventID), Value: data}
	if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
		return err
	}
	fmt.Println(sent.EventID)
	return nil
}

func hasHeader(record *kgo.Record, name, value string) bool {
	for _, header := range record.Headers {
		if header.Key == name && string(header.Value) == value {
			return true
		}
	}
	return false
}

func read(ctx context.Context, client *kgo.Client, registry *registry, wanted string) error {
	name, value, filtered := strings.Cut(wanted, "=")
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		for record := range fetches.RecordsAll() {
			if filtered && !hasHeader(record, name, value) {
				continue
			}
			var found finding
			var err error
			switch {
			case len(record.Value) > 0 && record.Value[0] == '{':
				err = json.Unmarshal(record.Value, &found)
			case len(record.Value) > 0 && record.Value[0] == 0 && registry != nil:
				err = registry.decode(ctx, record.Value, &found)
			default:
				err = errors.New(`neither JSON nor Avro of a registry that SCHEMA_REGISTRY_URL names: set kafka.wire_format = "json" or "confluent"`)
			}
			if err != nil {
				return err
			}
			fmt.Println(&found)
		}
	}
}

func run(ctx context.Context, words []string) error {
	producing := len(words) >= 4 && len(words) <= 5 && words[0] == "produce"
	reading := len(words) >= 2 && len(words) <= 3 && words[0] == "read"
	if !producing && !reading {
		return errors.New("usage: produce TOPIC QUESTION SQL [TARGET] | read TOPIC [HEADER=VALUE]")
	}
	registry, err := newRegistry(os.Getenv("SCHEMA_REGISTRY_URL"))
	if err != nil {
		return err
	}
	broker := os.Getenv("KAFKA_BOOTSTRAP")
	if broker == "" {
		broker = "localhost:9092"
	}
	options := []kgo.Opt{kgo.SeedBrokers(broker)}
	if reading {
		// committed messages alone: assayd publishes in transactions
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumerGroup("example-go-"+words[1]),
			kgo.ConsumeTopics(words[1]), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := check(ctx, client, broker, words[1]); err != nil {
		return err
	}
	if producing {
		return produce(ctx, client, registry, words[1], words[2:])
	}
	return read(ctx, client, registry, strings.Join(words[2:], ""))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.SetFlags(0)
		log.Fatal(err)
	}
}
