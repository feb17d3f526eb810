// franz-go and twmb/avro as a client of assayd's topics: a JSON object a line in, one a line out (see ../other_clients.py).
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

type task struct {
	Do      string            `json:"do"`
	Topic   string            `json:"topic"`
	Framing string            `json:"framing"`
	Schema  string            `json:"schema"`
	Events  []json.RawMessage `json:"events"`
	Count   int               `json:"count"`
	Writers []string          `json:"writers"`
	Readers map[string]string `json:"readers"`
}

type answer struct {
	Error   string              `json:"error,omitempty"`
	Headers []map[string]string `json:"headers,omitempty"`
	Values  map[string]any      `json:"values,omitempty"`
}

var (
	broker   = os.Getenv("KAFKA_BOOTSTRAP")
	url      = os.Getenv("SCHEMA_REGISTRY_URL")
	registry *sr.Client
	// times stay the numbers that they are
	plainTimes = avro.CustomType{LogicalType: "timestamp-millis", AvroType: "long"}
)

func parse(text string) (*avro.Schema, error) {
	return avro.Parse(text, plainTimes)
}

// guidOf registers a schema and returns its GUID, which franz-go does not know of.
func guidOf(subject, schema string) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"schema": schema})
	if err != nil {
		return nil, err
	}
	reply, err := http.Post(url+"/subjects/"+subject+"/versions", "application/vnd.schemaregistry.v1+json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, err
	}
	var registered struct {
		GUID string `json:"guid"`
	}
	if err := json.Unmarshal(text, &registered); err != nil || registered.GUID == "" {
		return nil, fmt.Errorf("no GUID in %s", text)
	}
	return hex.DecodeString(strings.ReplaceAll(registered.GUID, "-", ""))
}

func write(ctx context.Context, asked *task) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return err
	}
	defer client.Close()
	var schema *avro.Schema
	var front []byte
	var headers []kgo.RecordHeader
	if asked.Framing != "json" {
		if schema, err = parse(asked.Schema); err != nil {
			return err
		}
	}
	switch asked.Framing {
	case "prefix":
		registered, err := registry.CreateSchema(ctx, asked.Topic+"-value", sr.Schema{Schema: asked.Schema})
		if err != nil {
			return err
		}
		if front, err = new(sr.ConfluentHeader).AppendEncode(nil, registered.ID, nil); err != nil {
			return err
		}
	case "guid":
		guid, err := guidOf(asked.Topic+"-value", asked.Schema)
		if err != nil {
			return err
		}
		headers = []kgo.RecordHeader{{Key: "__value_schema_id", Value: append([]byte{1}, guid...)}}
	}
	for _, text := range asked.Events {
		value := []byte(text)
		if schema != nil {
			var event any
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.UseNumber()
			if err := decoder.Decode(&event); err != nil {
				return err
			}
			if asked.Framing == "single" {
				value, err = schema.AppendSingleObject(nil, event)
			} else {
				value, err = schema.AppendEncode(bytes.Clone(front), event)
			}
			if err != nil {
				return err
			}
		}
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: asked.Topic, Value: value, Headers: headers}).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

func messagesOf(ctx context.Context, topic string, count int) ([]*kgo.Record, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var found []*kgo.Record
	for len(found) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		found = append(found, fetches.Records()...)
	}
	return found, nil
}

// writerOf finds the schema that a message was written by, and its data.
func writerOf(ctx context.Context, asked *task, data []byte) (*avro.Schema, []byte, error) {
	if asked.Framing == "prefix" {
		id, payload, err := new(sr.ConfluentHeader).DecodeID(data)
		if err != nil {
			return nil, nil, err
		}
		found, err := registry.SchemaByID(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		schema, err := parse(found.Schema)
		return schema, payload, err
	}
	fingerprint, payload, err := avro.SingleObjectFingerprint(data)
	if err != nil {
		return nil, nil, err
	}
	for _, text := range asked.Writers {
		schema, err := parse(text)
		if err != nil {
			return nil, nil, err
		}
		if [8]byte(binary.LittleEndian.AppendUint64(nil, binary.BigEndian.Uint64(schema.Fingerprint(avro.NewRabin())))) == fingerprint {
			return schema, payload, nil
		}
	}
	return nil, nil, fmt.Errorf("no schema has the fingerprint %x", fingerprint)
}

func decode(ctx context.Context, asked *task, reader string, data []byte) (any, error) {
	var value any
	if asked.Framing == "json" {
		return value, json.Unmarshal(data, &value)
	}
	writer, payload, err := writerOf(ctx, asked, data)
	if err != nil {
		return nil, err
	}
	schema, err := parse(reader)
	if err != nil {
		return nil, err
	}
	resolved, err := avro.Resolve(writer, schema)
	if err != nil {
		return nil, err
	}
	_, err = resolved.Decode(payload, &value)
	return value, err
}

func read(ctx context.Context, asked *task, ret *answer) error {
	found, err := messagesOf(ctx, asked.Topic, asked.Count)
	if err != nil {
		return err
	}
	for _, record := range found {
		headers := map[string]string{}
		for _, header := range record.Headers {
			headers[header.Key] = string(header.Value)
		}
		ret.Headers = append(ret.Headers, headers)
	}
	ret.Values = map[string]any{}
	for name, reader := range asked.Readers {
		values := []any{}
		for _, record := range found {
			value, err := decode(ctx, asked, reader, record.Value)
			if err != nil {
				ret.Values[name] = err.Error()
				break
			}
			values = append(values, value)
		}
		if ret.Values[name] == nil {
			ret.Values[name] = values
		}
	}
	return nil
}

func main() {
	ctx := context.Background()
	var err error
	if registry, err = sr.NewClient(sr.URLs(url)); err != nil {
		log.Fatal(err)
	}
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked task
		var said answer
		if err = json.Unmarshal(line, &asked); err == nil {
			if asked.Do == "write" {
				err = write(ctx, &asked)
			} else {
				err = read(ctx, &asked, &said)
			}
		}
		if err != nil {
			said = answer{Error: err.Error()}
		}
		if err := out.Encode(said); err != nil {
			log.Fatal(err)
		}
	}
}
