// assayd for a program in TypeScript: sends it an event, and reads what it found.
//
//     npm install && npm run build
//     node build/client.js produce generated-queries QUESTION SQL [TARGET]    prints the event_id
//     node build/client.js read scored-queries    a line each: event_id, level, disposition, score ("none": it has none); until Ctrl-C
//     node build/client.js read confidence-advisories level=VERY_LOW_CONFIDENCE    only those with that header; no other one is decoded
//
// KAFKA_BOOTSTRAP is the broker (localhost:9092). With SCHEMA_REGISTRY_URL events are Avro in Confluent's framing, else JSON; records
// and advisories are read in either, as kafka.wire_format = "confluent" or "json" has them. Needs Node.js 20 or later.
import { randomUUID } from "node:crypto";
import avsc from "avsc";
import { decompress } from "fzstd";
import kafkajs from "kafkajs";
import type { IHeaders } from "kafkajs";

const broker = process.env.KAFKA_BOOTSTRAP ?? "localhost:9092";
const registryUrl = process.env.SCHEMA_REGISTRY_URL;

// kafkajs decompresses gzip alone and assayd compresses by zstd, unless kafka.properties say otherwise ("compression.type = gzip").
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
  compress: () => Promise.reject(new Error("this program sends nothing compressed")),
  decompress: async (data: Buffer) => Buffer.from(decompress(data)),
});

// What this program knows of an event. generated_query.avsc, beside assayd's other schemas, has all that one can say.
const eventSchema: avsc.Schema = {
  type: "record",
  name: "GeneratedQuery",
  namespace: "io.assayd",
  fields: [
    { name: "event_id", type: "string" },
    { name: "occurred_at", type: { type: "long", logicalType: "timestamp-millis" } },
    { name: "application", type: "string" },
    { name: "question", type: "string" },
    { name: "sql", type: "string" },
    { name: "target", type: ["null", "string"], default: null },
  ],
};

// What it reads of a scored record and of an advisory.
interface ScoredQuery {
  event_id: string;
  confidence: { overall: number | null; level: string | null };
  disposition: { action: string };
}
interface Advisory {
  advisory_id: string;
  event_id: string | null;
  level: string | null;
  action: string | null;
  value: number | null;
}

/** Confluent's framing: a zero byte, the schema's id (4 bytes, big-endian), the data. */
class Registry {
  private readonly types = new Map<number, Promise<avsc.Type>>();

  constructor(private readonly url: string) {}

  private async ask(path: string, body?: unknown): Promise<unknown> {
    try {
      const answer = await fetch(this.url + path, {
        method: body === undefined ? "GET" : "POST",
        headers: { "Content-Type": "application/vnd.schemaregistry.v1+json" },
        body: body === undefined ? null : JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`HTTP ${answer.status}, ${await answer.text()}`);
      return await answer.json();
    } catch (failed) {
      const { message, cause } = failed as Error; // fetch itself says no more than that it failed
      const why = cause as NodeJS.ErrnoException | undefined;
      throw new Error(`the schema registry ${this.url}: ${why?.code ?? why?.message ?? message}; start it, or correct SCHEMA_REGISTRY_URL`);
    }
  }

  async encode(topic: string, value: unknown): Promise<Buffer> {
    const registered = (await this.ask(`/subjects/${topic}-value/versions`, { schema: JSON.stringify(eventSchema) })) as { id: number };
    const frame = Buffer.alloc(5);
    frame.writeUInt32BE(registered.id, 1);
    return Buffer.concat([frame, avsc.Type.forSchema(eventSchema).toBuffer(value)]);
  }

  private async fetchType(id: number): Promise<avsc.Type> {
    const { schema } = (await this.ask(`/schemas/ids/${id}`)) as { schema: string };
    return avsc.Type.forSchema(JSON.parse(schema) as avsc.Schema);
  }

  async decode(data: Buffer): Promise<unknown> {
    const id = data.readUInt32BE(1);
    let type = this.types.get(id);
    if (!type) this.types.set(id, (type = this.fetchType(id)));
    return (await type).fromBuffer(data.subarray(5));
  }
}

const registry = registryUrl ? new Registry(registryUrl) : undefined;

async function check(topic: string) {
  const admin = new kafkajs.Kafka({ ...settings, retry: { retries: 1 } }).admin();
  try {
    await admin.connect();
    await admin.fetchTopicMetadata({ topics: [topic] });
  } catch (failed) {
    if (failed instanceof kafkajs.KafkaJSProtocolError && failed.type === "UNKNOWN_TOPIC_OR_PARTITION")
      throw new Error(`${broker} has no topic ${topic}; create it, or correct its name`);
    throw new Error(`no broker answers at ${broker}: ${(failed as Error).message}; start it, or correct KAFKA_BOOTSTRAP`);
  } finally {
    await admin.disconnect();
  }
}

async function produce(topic: string, question: string, sql: string, target?: string) {
  const event = {
    event_id: randomUUID(),
    occurred_at: Date.now(),
    application: "example-typescript",
    question,
    sql,
    target: target ?? null,
  };
  await check(topic);
  const value = registry ? await registry.encode(topic, event) : JSON.stringify(event);
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ key: event.event_id, value }] });
  await producer.disconnect();
  console.log(event.event_id);
}

function line(found: ScoredQuery | Advisory): string {
  const [level, action, score] =
    "advisory_id" in found
      ? [found.level, found.action, found.value]
      : [found.confidence.level, found.disposition.action, found.confidence.overall];
  return [found.event_id ?? "none", level ?? "none", action ?? "none", score?.toFixed(2) ?? "none"].join(" ");
}

async function decode(data: Buffer): Promise<unknown> {
  if (data[0] === 0x7b) return JSON.parse(data.toString());
  if (data[0] === 0 && registry) return registry.decode(data);
  throw new Error('neither JSON nor Avro of a registry that SCHEMA_REGISTRY_URL names: set kafka.wire_format = "json" or "confluent"');
}

function hasHeader(headers: IHeaders | undefined, wanted: string): boolean {
  const [name = "", ...value] = wanted.split("=");
  return headers?.[name]?.toString() === value.join("=");
}

async function read(topic: string, wanted?: string) {
  await check(topic);
  // committed messages alone, which is its default: assayd publishes in transactions
  const consumer = kafka.consumer({ groupId: `example-typescript-${topic}` });
  const failed = new Promise<never>((_, reject) => consumer.on("consumer.crash", ({ payload }) => reject(payload.error)));
  const stopped = new Promise<void>((resolve) => process.once("SIGINT", () => resolve()));
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ message }) => {
      if (!message.value || (wanted && !hasHeader(message.headers, wanted))) return;
      console.log(line((await decode(message.value)) as ScoredQuery | Advisory));
    },
  });
  await Promise.race([failed, stopped]).finally(() => consumer.disconnect());
}

const settings = { brokers: [broker], logLevel: kafkajs.logLevel.NOTHING };
const kafka = new kafkajs.Kafka(settings);
const [command, topic = "", ...words] = process.argv.slice(2);
const [first = "", second = "", target] = words;
try {
  if (command === "produce" && (words.length === 2 || words.length === 3)) await produce(topic, first, second, target);
  else if (command === "read" && topic && words.length < 2) await read(topic, words[0]);
  else throw new Error("usage: produce TOPIC QUESTION SQL [TARGET] | read TOPIC [HEADER=VALUE]");
} catch (failed) {
  console.error((failed as Error).message.replaceAll("\n", " "));
  process.exit(1);
}
