// kafkajs and avsc as a client of assayd's topics: a JSON object a line in, one a line out (see ../other_clients.py).
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import avsc from "avsc";
import { decompress } from "fzstd";
import kafkajs from "kafkajs";
import type { IHeaders, KafkaMessage } from "kafkajs";

interface Task {
  do: "write" | "read";
  topic: string;
  framing: "single" | "prefix" | "guid" | "json";
  schema: string;
  events: unknown[];
  count: number;
  writers: string[];
  readers: Record<string, string>;
}

const kafka = new kafkajs.Kafka({ brokers: [process.env.KAFKA_BOOTSTRAP ?? ""], logLevel: kafkajs.logLevel.NOTHING });
const registryUrl = process.env.SCHEMA_REGISTRY_URL ?? "";
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
  compress: () => Promise.reject(new Error("nothing is compressed here")),
  decompress: async (data: Buffer) => Buffer.from(decompress(data)),
});

const parsed = (text: string): avsc.Type => avsc.Type.forSchema(JSON.parse(text) as avsc.Schema);

// CRC-64-AVRO of the canonical form, little-endian, which avsc has no name for.
const table = Array.from({ length: 256 }, (_, byte) => {
  let entry = BigInt(byte);
  for (let bit = 0; bit < 8; bit++) entry = (entry >> 1n) ^ (entry & 1n ? 0xc15d213aa4d7a795n : 0n);
  return entry;
});

function fingerprint(type: avsc.Type): Buffer {
  let crc = 0xc15d213aa4d7a795n;
  for (const byte of Buffer.from(JSON.stringify(type.schema()))) crc = (crc >> 8n) ^ (table[Number((crc ^ BigInt(byte)) & 0xffn)] ?? 0n);
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(crc);
  return bytes;
}

async function ask<Answer>(path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(registryUrl + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "Content-Type": "application/vnd.schemaregistry.v1+json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

async function write(task: Task) {
  let front = Buffer.alloc(0);
  const headers: IHeaders = {};
  const type = task.framing === "json" ? undefined : parsed(task.schema);
  if (type && task.framing === "single") front = Buffer.concat([Buffer.from([0xc3, 1]), fingerprint(type)]);
  else if (type) {
    const registered = await ask<{ id: number; guid: string }>(`/subjects/${task.topic}-value/versions`, { schema: task.schema });
    if (task.framing === "prefix") {
      front = Buffer.alloc(5);
      front.writeUInt32BE(registered.id, 1);
    } else headers.__value_schema_id = Buffer.concat([Buffer.from([1]), Buffer.from(registered.guid.replaceAll("-", ""), "hex")]);
  }
  const values = task.events.map((event) => (type ? Buffer.concat([front, type.toBuffer(event)]) : Buffer.from(JSON.stringify(event))));
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: task.topic, messages: values.map((value) => ({ value, headers })) });
  await producer.disconnect();
  return {};
}

async function messagesOf(topic: string, count: number): Promise<KafkaMessage[]> {
  const consumer = kafka.consumer({ groupId: `matrix-${randomUUID()}` });
  const found: KafkaMessage[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  try {
    await new Promise<void>((resolve, reject) => {
      setTimeout(() => reject(new Error(`${found.length} messages of ${count}`)), 60000).unref();
      consumer.on("consumer.crash", ({ payload }) => reject(payload.error));
      consumer
        .run({
          eachMessage: async ({ message }) => {
            found.push(message);
            if (found.length === count) resolve();
          },
        })
        .catch(reject);
    });
  } finally {
    await consumer.disconnect();
  }
  return found;
}

async function decoder(task: Task, reader: string): Promise<(data: Buffer) => Promise<unknown>> {
  if (task.framing === "json") return async (data) => JSON.parse(data.toString()) as unknown;
  const type = parsed(reader);
  if (task.framing === "single") {
    const writers = task.writers.map(parsed);
    return async (data) => {
      const writer = writers.find((known) => fingerprint(known).equals(data.subarray(2, 10)));
      if (!writer || data.readUInt16BE() !== 0xc301) throw new Error(`no schema for ${data.subarray(0, 10).toString("hex")}`);
      return type.fromBuffer(data.subarray(10), type.createResolver(writer));
    };
  }
  return async (data) => {
    if (data[0] !== 0) throw new Error(`no prefix: ${data.subarray(0, 5).toString("hex")}`);
    const { schema } = await ask<{ schema: string }>(`/schemas/ids/${data.readUInt32BE(1)}`);
    return type.fromBuffer(data.subarray(5), type.createResolver(parsed(schema)));
  };
}

async function read(task: Task) {
  const found = await messagesOf(task.topic, task.count);
  const values: Record<string, unknown> = {};
  for (const [name, reader] of Object.entries(task.readers)) {
    try {
      const decode = await decoder(task, reader);
      values[name] = await Promise.all(found.map(({ value }) => decode(value ?? Buffer.alloc(0))));
    } catch (refusal) {
      values[name] = String(refusal);
    }
  }
  const headers = found.map((message) =>
    Object.fromEntries(Object.entries(message.headers ?? {}).map(([name, value]) => [name, value?.toString()])),
  );
  return { headers, values };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer: unknown;
  try {
    const task = JSON.parse(line) as Task;
    answer = await (task.do === "write" ? write(task) : read(task));
  } catch (failure) {
    answer = { error: String(failure) };
  }
  console.log(JSON.stringify(answer));
}
