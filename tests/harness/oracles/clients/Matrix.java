import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Apache's own Kafka and Avro as a client of assayd's topics: a JSON object a line in, one a line out (see ../other_clients.py). */
public final class Matrix {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final String BROKER = System.getenv("KAFKA_BOOTSTRAP");
    private static final String REGISTRY = System.getenv("SCHEMA_REGISTRY_URL");

    private interface Decoder {
        JsonNode decode(byte[] data) throws Exception;
    }

    private static JsonNode ask(String path, JsonNode body) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(REGISTRY + path)).header("Content-Type", "application/vnd.schemaregistry.v1+json");
        if (body != null)
            request.POST(HttpRequest.BodyPublishers.ofString(body.toString()));
        HttpResponse<String> answer = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200)
            throw new IOException("HTTP " + answer.statusCode() + ": " + answer.body());
        return JSON.readTree(answer.body());
    }

    /** A plain JSON value as Avro has it; what is left out is at its default. */
    private static Object datum(Schema schema, JsonNode value) {
        switch (schema.getType()) {
        case RECORD:
            GenericRecord record = new GenericData.Record(schema);
            for (Schema.Field field : schema.getFields())
                record.put(field.pos(), value.has(field.name()) ? datum(field.schema(), value.get(field.name())) : GenericData.get().getDefaultValue(field));
            return record;
        case ARRAY:
            List<Object> items = new ArrayList<>();
            value.forEach(item -> items.add(datum(schema.getElementType(), item)));
            return items;
        case MAP:
            Map<String, Object> members = new HashMap<>();
            value.properties().forEach(member -> members.put(member.getKey(), datum(schema.getValueType(), member.getValue())));
            return members;
        case UNION:
            return value.isNull() ? null : datum(schema.getTypes().stream().filter(branch -> branch.getType() != Schema.Type.NULL).findFirst().orElseThrow(), value);
        case ENUM:
            return new GenericData.EnumSymbol(schema, value.asText());
        case LONG:
            return value.asLong();
        case FLOAT:
            return (float) value.asDouble();
        case DOUBLE:
            return value.asDouble();
        case BOOLEAN:
            return value.asBoolean();
        case STRING:
            return value.asText();
        default:
            throw new IllegalArgumentException("events have no " + schema);
        }
    }

    private static JsonNode plain(Object value) {
        if (value instanceof GenericRecord record) {
            ObjectNode object = JSON.createObjectNode();
            record.getSchema().getFields().forEach(field -> object.set(field.name(), plain(record.get(field.pos()))));
            return object;
        }
        if (value instanceof Map<?, ?> map) {
            ObjectNode object = JSON.createObjectNode();
            map.forEach((name, member) -> object.set(name.toString(), plain(member)));
            return object;
        }
        if (value instanceof Collection<?> items) {
            ArrayNode array = JSON.createArrayNode();
            items.forEach(item -> array.add(plain(item)));
            return array;
        }
        if (value == null || value instanceof Number || value instanceof Boolean)
            return JSON.valueToTree(value);
        return JSON.getNodeFactory().textNode(value.toString());
    }

    private static byte[] encode(byte[] front, Schema schema, GenericRecord value) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(front);
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
        new GenericDatumWriter<GenericRecord>(schema).write(value, encoder);
        encoder.flush();
        return out.toByteArray();
    }

    private static ObjectNode write(JsonNode task) throws Exception {
        String topic = task.get("topic").asText(), framing = task.get("framing").asText();
        Schema schema = framing.equals("json") ? null : new Schema.Parser().parse(task.get("schema").asText());
        byte[] front = {}, header = null;
        if (framing.equals("prefix") || framing.equals("guid")) {
            JsonNode registered = ask("/subjects/" + topic + "-value/versions", JSON.createObjectNode().put("schema", task.get("schema").asText()));
            if (framing.equals("prefix")) {
                front = ByteBuffer.allocate(5).put((byte) 0).putInt(registered.get("id").asInt()).array();
            } else {
                UUID guid = UUID.fromString(registered.get("guid").asText());
                header = ByteBuffer.allocate(17).put((byte) 1).putLong(guid.getMostSignificantBits()).putLong(guid.getLeastSignificantBits()).array();
            }
        }
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(Map.of("bootstrap.servers", BROKER), new ByteArraySerializer(), new ByteArraySerializer())) {
            for (JsonNode event : task.get("events")) {
                byte[] value = event.toString().getBytes(StandardCharsets.UTF_8);
                if (framing.equals("single")) {
                    ByteBuffer encoded = new BinaryMessageEncoder<GenericRecord>(GenericData.get(), schema).encode((GenericRecord) datum(schema, event));
                    value = new byte[encoded.remaining()];
                    encoded.get(value);
                } else if (schema != null) {
                    value = encode(front, schema, (GenericRecord) datum(schema, event));
                }
                ProducerRecord<byte[], byte[]> message = new ProducerRecord<>(topic, value);
                if (header != null)
                    message.headers().add("__value_schema_id", header);
                producer.send(message).get();
            }
        }
        return JSON.createObjectNode();
    }

    private static List<ConsumerRecord<byte[], byte[]>> messagesOf(String topic, int count) throws IOException {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", BROKER, "isolation.level", "read_committed"),
                new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream().map(info -> new TopicPartition(topic, info.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            for (long deadline = System.nanoTime() + 60_000_000_000L; found.size() < count;) {
                consumer.poll(Duration.ofMillis(500)).forEach(found::add);
                if (System.nanoTime() > deadline)
                    throw new IOException(found.size() + " messages of " + count);
            }
        }
        return found;
    }

    private static Decoder decoder(JsonNode task, String readerText) {
        String framing = task.get("framing").asText();
        if (framing.equals("json"))
            return JSON::readTree;
        Schema reader = new Schema.Parser().parse(readerText);
        if (framing.equals("single")) {
            BinaryMessageDecoder<GenericRecord> decoder = new BinaryMessageDecoder<>(GenericData.get(), reader);
            task.get("writers").forEach(text -> decoder.addSchema(new Schema.Parser().parse(text.asText())));
            return data -> plain(decoder.decode(data));
        }
        return data -> {
            if (data[0] != 0)
                throw new IOException("no prefix");
            Schema writer = new Schema.Parser().parse(ask("/schemas/ids/" + ByteBuffer.wrap(data).getInt(1), null).get("schema").asText());
            return plain(new GenericDatumReader<GenericRecord>(writer, reader).read(null, DecoderFactory.get().binaryDecoder(data, 5, data.length - 5, null)));
        };
    }

    private static ObjectNode read(JsonNode task) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> found = messagesOf(task.get("topic").asText(), task.get("count").asInt());
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode headers = answer.putArray("headers");
        for (ConsumerRecord<byte[], byte[]> message : found) {
            ObjectNode object = headers.addObject();
            for (Header header : message.headers())
                object.put(header.key(), new String(header.value(), StandardCharsets.UTF_8));
        }
        ObjectNode values = answer.putObject("values");
        for (Map.Entry<String, JsonNode> reader : task.get("readers").properties()) {
            ArrayNode list = JSON.createArrayNode();
            try {
                Decoder decoder = decoder(task, reader.getValue().asText());
                for (ConsumerRecord<byte[], byte[]> message : found)
                    list.add(decoder.decode(message.value()));
                values.set(reader.getKey(), list);
            } catch (Exception refusal) {
                values.put(reader.getKey(), refusal.toString());
            }
        }
        return answer;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer;
            try {
                JsonNode task = JSON.readTree(line);
                answer = task.get("do").asText().equals("write") ? write(task) : read(task);
            } catch (Exception failure) {
                answer = JSON.createObjectNode().put("error", failure.toString());
            }
            System.out.write((answer + "\n").getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private Matrix() {
    }
}
