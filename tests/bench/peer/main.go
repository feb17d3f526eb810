// The peer that assayd is measured against: what its users would write instead, in Go, in a few days. Reads events in JSON, parses the SQL with PostgreSQL's
// own parser, names its tables, columns and functions, refuses what is no single SELECT, applies a handful of rules, computes the retrieval and advisory
// confidence by assayd's formulas and an overall level, and writes records and advisories in JSON, with the offsets in the same transaction.
//
//	peer BROKERS INPUT SCORED ADVISORIES DEAD_LETTERS
//
// Until a signal ends it. Faster than a first draft: workers on all cores, batches, asynchronous producing, a typed walk of the tree, no reflection but
// that of encoding/json. Simpler than assayd: no catalog, no types, no fingerprints, no metrics; a rebalance aborts and processes again.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	batch         = 64     // records that a worker takes at once
	mostRecords   = 10_000 // in one transaction
	linger        = 100 * time.Millisecond
	lowConfidence = 0.7
	perMinute     = 60 // advisories of one application
)

type topics struct{ scored, advisories, deadLetters string }

// outputs of one event: a record, and an advisory where one is due; or a dead letter.
func outputs(in *kgo.Record, to topics) []*kgo.Record {
	var e event
	if err := json.Unmarshal(in.Value, &e); err != nil || e.EventID == "" {
		why := "no event_id"
		if err != nil {
			why = err.Error()
		}
		return []*kgo.Record{{Topic: to.deadLetters, Key: in.Key, Value: in.Value,
			Headers: []kgo.RecordHeader{{Key: "reason", Value: []byte(why)}}}}
	}
	record := score(&e, in.Value)
	value, err := json.Marshal(record)
	if err != nil {
		log.Fatal(err)
	}
	key := []byte(e.EventID)
	made := []*kgo.Record{{Topic: to.scored, Key: key, Value: value, Headers: []kgo.RecordHeader{{Key: "level", Value: []byte(record.Confidence.Level)}}}}
	if record.Confidence.Overall < lowConfidence && limit.passes(e.Application) {
		value, err = json.Marshal(advisoryFor(&e, record))
		if err != nil {
			log.Fatal(err)
		}
		made = append(made, &kgo.Record{Topic: to.advisories, Key: key, Value: value})
	}
	return made
}

// limiter lets so many advisories of an application pass in a minute.
type limiter struct {
	sync.Mutex
	minute int64
	passed map[string]int
}

var limit limiter

func (l *limiter) passes(application string) bool {
	l.Lock()
	defer l.Unlock()
	if minute := time.Now().Unix() / 60; minute != l.minute {
		l.minute, l.passed = minute, map[string]int{}
	}
	l.passed[application]++
	return l.passed[application] <= perMinute
}

type work struct {
	records []*kgo.Record
	done    *sync.WaitGroup
}

func main() {
	if len(os.Args) != 6 {
		log.Fatal("Usage: peer BROKERS INPUT SCORED ADVISORIES DEAD_LETTERS")
	}
	debug.SetGCPercent(400)
	to := topics{os.Args[3], os.Args[4], os.Args[5]}
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(os.Args[1]),
		kgo.TransactionalID(to.scored),
		kgo.ConsumerGroup(to.scored),
		kgo.ConsumeTopics(os.Args[2]),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(50_000),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	queue := make(chan work, 1024)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for w := range queue {
				for _, in := range w.records {
					for _, out := range outputs(in, to) {
						session.Produce(ctx, out, nil) // End commits only where all were delivered
					}
				}
				w.done.Done()
			}
		}()
	}
	for ctx.Err() == nil {
		if err := transaction(ctx, session, queue); err != nil && !errors.Is(err, context.Canceled) {
			log.Fatal(err)
		}
	}
}

// transaction hands what comes within the linger to the workers and commits what they made of it.
func transaction(ctx context.Context, session *kgo.GroupTransactSession, queue chan<- work) error {
	fetches := session.PollRecords(ctx, mostRecords)
	if err := fetches.Err(); err != nil {
		return err
	}
	if err := session.Begin(); err != nil {
		return err
	}
	var done sync.WaitGroup
	taken := dispatch(fetches, queue, &done)
	until, cancel := context.WithTimeout(ctx, linger)
	for taken < mostRecords && until.Err() == nil {
		done.Wait() // what waits in the client costs no memory of ours
		taken += dispatch(session.PollRecords(until, 2000), queue, &done)
	}
	cancel()
	done.Wait()
	_, err := session.End(ctx, kgo.TryCommit)
	return err
}

func dispatch(fetches kgo.Fetches, queue chan<- work, done *sync.WaitGroup) int {
	taken := 0
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		for records := p.Records; len(records) > 0; {
			n := min(batch, len(records))
			done.Add(1)
			queue <- work{records[:n], done}
			records, taken = records[n:], taken+n
		}
	})
	return taken
}
