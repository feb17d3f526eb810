import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/**
 * What Apache's own resolution makes of data: reads lines READER, WRITER (schemas) and DATA (hexadecimal), separated
 * by tabs, and answers each with a line: "ok " and the value as JSON, or "refused " and why.
 */
public final class Resolve {
    private static void quote(CharSequence text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\')
                out.append('\\').append(c);
            else if (c < 0x20 || c > 0x7e)
                out.append(String.format("\\u%04x", (int) c));
            else
                out.append(c);
        }
        out.append('"');
    }

    private static void write(Object value, StringBuilder out) {
        String before = "";
        if (value instanceof GenericRecord) {
            GenericRecord record = (GenericRecord) value;
            out.append('{');
            for (Schema.Field field : record.getSchema().getFields()) {
                out.append(before);
                quote(field.name(), out);
                out.append(':');
                write(record.get(field.pos()), out);
                before = ",";
            }
            out.append('}');
        } else if (value instanceof Map) {
            out.append('{');
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(before);
                quote(entry.getKey().toString(), out);
                out.append(':');
                write(entry.getValue(), out);
                before = ",";
            }
            out.append('}');
        } else if (value instanceof Collection) {
            out.append('[');
            for (Object item : (Collection<?>) value) {
                out.append(before);
                write(item, out);
                before = ",";
            }
            out.append(']');
        } else if (value instanceof Double) {
            double number = (Double) value;
            out.append(Double.isFinite(number) ? Double.toString(number) : "null");
        } else if (value == null || value instanceof Boolean || value instanceof Long) {
            out.append(value);
        } else if (value instanceof ByteBuffer || value instanceof Number) {
            throw new IllegalStateException("readers have no " + value.getClass());
        } else {
            quote(value.toString(), out);
        }
    }

    private static String resolve(String[] parts) {
        try {
            Schema reader = new Schema.Parser().parse(parts[0]);
            Schema writer = new Schema.Parser().parse(parts[1]);
            byte[] data = HexFormat.of().parseHex(parts.length > 2 ? parts[2] : "");
            BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(data, null);
            Object value = new GenericDatumReader<>(writer, reader).read(null, decoder);
            if (!decoder.isEnd())
                return "refused bytes follow the value";
            StringBuilder out = new StringBuilder("ok ");
            write(value, out);
            return out.toString();
        } catch (Exception | StackOverflowError refusal) {
            return "refused " + refusal.toString().replace('\n', ' ');
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine())
            out.println(resolve(line.split("\t")));
        out.flush();
    }
}
