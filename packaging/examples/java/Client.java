import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * assayd for a program in Java: sends it an event, and reads what it found.
 *
 * <pre>
 * mvn -q compile dependency:copy-dependencies -DoutputDirectory=target/jars
 * alias client="java -cp 'target/classes:target/jars/*' Client"
 * client produce generated-queries 'QUESTION' 'SQL'    prints the event_id; the target may follow
 * client read scored-queries                           a line each: event_id, level, disposition, score ("none": it has none); until Ctrl-C
 * client read confidence-advisories level=VERY_LOW_CONFIDENCE    only those with that header; no other one is decoded
 * </pre>
 *
 * KAFKA_BOOTSTRAP is the broker (localhost:9092). With SCHEMA_REGISTRY_URL events are Avro in Confluent's framing, else JSON; records
 * and advisories are read in either, as kafka.wire_format = "confluent" or "json" has them. Confluent's own serializers, for
 * those who have them, do the same as the class Registry.
 */
public final class Client {
    private static final String BROKER = System.getenv().getOrDefault("KAFKA_BOOTSTRAP", "localhost:9092");
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What this program knows of an event. generated_query.avsc, beside assayd's other schemas, has all that one can say. */
    private static final Schema EVENT = new Schema.Parser().parse("""
            {"type": "record", "name": "GeneratedQuery", "namespace": "io.assayd", "fields": [
                {"name": "event_id", "type": "string"},
                {"name": "occurred_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
                {"name": "application", "type": "string"},
                {"name": "question", "type": "string"},
                {"name": "sql", "type": "string"},
                {"name": "target", "type": ["null", "string"], "default": null}]}""");

    /** Confluent's framing: a zero byte, the schema's id (4 bytes, big-endian), the data. */
    private static final class Registry {
        private final HttpClient http = HttpClient.newHttpClient();
        private final Map<Integer, Schema> schemas = new HashMap<>();
        private final String url;

        Registry(String url) {
            this.url = url;
        }

        private JsonNode ask(HttpRequest.Builder request) throws IOException, InterruptedException {
            try {
                HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() != 200)
                    throw new IOException("HTTP " + answer.statusCode() + ", " + answer.body());
                return JSON.readTree(answer.body());
            } catch (IOException failed) {
                String why = failed.getMessage() == null ? "no connection" : failed.getMessage();
                throw new IOException("the schema registry " + url + ": " + why + "; start it, or correct SCHEMA_REGISTRY_URL");
            }
        }

        byte[] encode(String topic, GenericRecord value) throws IOException, InterruptedException {
            ObjectNode body = JSON.createObjectNode().put("schema", value.getSchema().toString());
            JsonNode registered = ask(HttpRequest.newBuilder(URI.create(url + "/subjects/" + topic + "-value/versions"))
                    .header("Content-Type", "application/vnd.schemaregistry.v1+json")
                    .POST(HttpRequest.BodyPublishers.ofString(body.toString())));
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            out.write(ByteBuffer.allocate(5).put((byte) 0).putInt(registered.get("id").asInt()).array());
            BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
            new GenericDatumWriter<GenericRecord>(value.getSchema()).write(value, encoder);
            encoder.flush();
            return out.toByteArray();
        }

        GenericRecord decode(byte[] data) throws IOException, InterruptedException {
            int id = ByteBuffer.wrap(data).getInt(1);
            if (!schemas.containsKey(id))
                schemas.put(id, new Schema.Parser().parse(ask(HttpRequest.newBuilder(URI.create(url + "/schemas/ids/" + id))).get("schema").asText()));
            return new GenericDatumReader<GenericRecord>(schemas.get(id)).read(null, DecoderFactory.get().binaryDecoder(data, 5, data.length - 5, null));
        }
    }

    private static Registry registry() {
        String url = System.getenv("SCHEMA_REGISTRY_URL");
        return url == null || url.isEmpty() ? null : new Registry(url);
    }

    private static void check(String topic) throws IOException, InterruptedException {
        Map<String, Object> settings = Map.of("bootstrap.servers", BROKER, "request.timeout.ms", 5000, "default.api.timeout.ms", 5000);
        try (Admin admin = Admin.create(settings)) {
            admin.describeTopics(List.of(topic)).allTopicNames().get();
        } catch (ExecutionException failed) {
            throw new IOException(failed.getCause() instanceof UnknownTopicOrPartitionException
                    ? BROKER + " has no topic " + topic + "; create it, or correct its name"
                    : "no broker answers at " + BROKER + ": " + failed.getCause().getMessage() + "; start it, or correct KAFKA_BOOTSTRAP");
        }
    }

    private static void produce(String topic, String question, String sql, String target) throws Exception {
        check(topic);
        GenericRecord event = new GenericData.Record(EVENT);
        event.put("event_id", UUID.randomUUID().toString());
        event.put("occurred_at", System.currentTimeMillis());
        event.put("application", "example-java");
        event.put("question", question);
        event.put("sql", sql);
        event.put("target", target);
        Registry registry = registry();
        byte[] value = registry == null ? event.toString().getBytes(StandardCharsets.UTF_8) : registry.encode(topic, event);
        Map<String, Object> settings = Map.of("bootstrap.servers", BROKER);
        try (KafkaProducer<String, byte[]> producer = new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>(topic, event.get("event_id").toString(), value)).get();
        }
        System.out.println(event.get("event_id"));
    }

    private static String line(Object id, Object level, Object action, Object score) {
        Object shown = score instanceof Double number ? String.format(Locale.ROOT, "%.2f", number) : score;
        return String.join(" ", Arrays.asList(id, level, action, shown).stream().map(fact -> fact == null ? "none" : fact.toString()).toList());
    }

    private static String line(GenericRecord value) {
        if (value.getSchema().getName().equals("Advisory"))
            return line(value.get("event_id"), value.get("level"), value.get("action"), value.get("value"));
        GenericRecord confidence = (GenericRecord) value.get("confidence");
        GenericRecord disposition = (GenericRecord) value.get("disposition");
        return line(value.get("event_id"), confidence.get("level"), disposition.get("action"), confidence.get("overall"));
    }

    private static String line(JsonNode value) {
        if (value.has("advisory_id"))
            return line(plain(value.get("event_id")), plain(value.get("level")), plain(value.get("action")), plain(value.get("value")));
        JsonNode confidence = value.get("confidence");
        return line(plain(value.get("event_id")), plain(confidence.get("level")), plain(value.get("disposition").get("action")),
                plain(confidence.get("overall")));
    }

    private static Object plain(JsonNode value) {
        return value.isNull() ? null : value.isNumber() ? (Object) value.asDouble() : value.asText();
    }

    private static boolean hasHeader(ConsumerRecord<String, byte[]> message, String wanted) {
        String[] parts = wanted.split("=", 2);
        for (Header header : message.headers().headers(parts[0]))
            if (parts.length == 2 && Arrays.equals(header.value(), parts[1].getBytes(StandardCharsets.UTF_8)))
                return true;
        return false;
    }

    private static void read(String topic, String wanted) throws Exception {
        check(topic);
        Registry registry = registry();
        // committed messages alone, which is not its default: assayd publishes in transactions
        Map<String, Object> settings = Map.of("bootstrap.servers", BROKER, "group.id", "example-java-" + topic, "auto.offset.reset", "earliest",
                "isolation.level", "read_committed");
        try (KafkaConsumer<String, byte[]> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            // who leaves the group without a word is waited for when the next one comes
            Thread reader = Thread.currentThread();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                consumer.wakeup();
                try {
                    reader.join();
                } catch (InterruptedException ended) {
                    reader.interrupt();
                }
            }));
            while (true) {
                for (ConsumerRecord<String, byte[]> message : consumer.poll(Duration.ofSeconds(1))) {
                    if (wanted != null && !hasHeader(message, wanted))
                        continue;
                    byte[] data = message.value();
                    if (data.length > 0 && data[0] == '{')
                        System.out.println(line(JSON.readTree(data)));
                    else if (data.length > 5 && data[0] == 0 && registry != null)
                        System.out.println(line(registry.decode(data)));
                    else
                        throw new IOException("neither JSON nor Avro of a registry that SCHEMA_REGISTRY_URL names: set kafka.wire_format = \"json\" or \"confluent\"");
                }
            }
        } catch (WakeupException ended) {
            // Ctrl-C
        }
    }

    private static void run(String[] words) throws Exception {
        if (words.length >= 4 && words.length <= 5 && words[0].equals("produce"))
            produce(words[1], words[2], words[3], words.length > 4 ? words[4] : null);
        else if (words.length >= 2 && words.length <= 3 && words[0].equals("read"))
            read(words[1], words.length > 2 ? words[2] : null);
        else
            throw new IOException("usage: produce TOPIC QUESTION SQL [TARGET] | read TOPIC [HEADER=VALUE]");
    }

    public static void main(String[] words) {
        try {
            run(words);
        } catch (Exception failed) {
            System.err.println(String.valueOf(failed.getMessage()).replace('\n', ' '));
            System.exit(1);
        }
    }

    private Client() {
    }
}
