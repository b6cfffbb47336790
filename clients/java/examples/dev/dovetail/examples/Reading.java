package dev.dovetail.examples;

import dev.dovetail.Extension;
import dev.dovetail.Tensor;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON, and the JSON reading of SPEC.md: values that JSON lacks are maps with one key, such as
 * {@code {"$bytes": "hex"}}.
 */
public final class Reading {
    private final String text;
    private int at;

    private Reading(String text) {
        this.text = text;
    }

    // -- from JSON ------------------------------------------------------------------------------------

    /** Returns what a JSON text says: integers are Long or BigInteger, other numbers Double. */
    public static Object json(String text) {
        Reading reader = new Reading(text);
        Object value = reader.value();
        reader.space();
        if (reader.at != text.length()) {
            throw reader.wrong("has more after its end");
        }
        return value;
    }

    /** Returns what the JSON reading of a value stands for. */
    public static Object unread(Object value) {
        if (value instanceof List<?> list) {
            List<Object> found = new ArrayList<>();
            list.forEach(each -> found.add(unread(each)));
            return found;
        }
        if (!(value instanceof Map<?, ?> map)) {
            return value;
        }
        if (map.size() == 1) {
            Object inner = map.values().iterator().next();
            switch ((String) map.keySet().iterator().next()) {
                case "$bytes":
                    return HexFormat.of().parseHex((String) inner);
                case "$float":
                    return switch ((String) inner) {
                        case "inf" -> Double.POSITIVE_INFINITY;
                        case "-inf" -> Double.NEGATIVE_INFINITY;
                        default -> Double.NaN;
                    };
                case "$tensor":
                    return tensor((Map<?, ?>) inner);
                case "$extension":
                    Map<?, ?> parts = (Map<?, ?>) inner;
                    return new Extension(
                            ((Long) parts.get("code")).byteValue(),
                            HexFormat.of().parseHex((String) parts.get("data")));
                default:
            }
        }
        Map<String, Object> found = new LinkedHashMap<>();
        map.forEach((key, each) -> found.put((String) key, unread(each)));
        return found;
    }

    private static Tensor tensor(Map<?, ?> parts) {
        Tensor.Type type = Tensor.Type.of((String) parts.get("dtype"));
        long[] shape = ((List<?>) parts.get("shape")).stream().mapToLong(each -> (Long) each).toArray();
        List<?> elements = (List<?>) parts.get("data");
        ByteBuffer data = ByteBuffer.allocate(type.bytes() * elements.size()).order(ByteOrder.LITTLE_ENDIAN);
        for (Object each : elements) {
            Object element = unread(each);
            switch (type) {
                case BOOL -> data.put((byte) ((Boolean) element ? 1 : 0));
                case FLOAT16 -> data.putShort(half(((Number) element).doubleValue()));
                case FLOAT32 -> data.putFloat(((Number) element).floatValue());
                case FLOAT64 -> data.putDouble(((Number) element).doubleValue());
                default -> {
                    long bits = ((Number) element).longValue();
                    for (int i = 0; i < type.bytes(); i++) {
                        data.put((byte) (bits >> 8 * i));
                    }
                }
            }
        }
        return new Tensor(type, shape, data.array());
    }

    /** The half nearest to a number that is one, which is all that a reading has. */
    private static short half(double value) {
        int sign = Double.doubleToRawLongBits(value) < 0 ? 0x8000 : 0;
        double size = Math.abs(value);
        if (Double.isNaN(value)) {
            return 0x7e00;
        }
        if (Double.isInfinite(value)) {
            return (short) (sign | 0x7c00);
        }
        int exponent = Math.max(Math.getExponent(size), -14);
        long fraction = (long) Math.rint(Math.scalb(size, 10 - exponent)); // the leading one included
        return (short) (sign | (size < 0x1p-14 ? fraction : (long) (exponent + 14 << 10) + fraction));
    }

    private Object value() {
        space();
        if (at >= text.length()) {
            throw wrong("ends early");
        }
        char first = text.charAt(at);
        switch (first) {
            case '{':
                at++;
                Map<String, Object> map = new LinkedHashMap<>();
                while (!closed('}', map.isEmpty())) {
                    space();
                    String key = string();
                    expect(':');
                    map.put(key, value());
                }
                return map;
            case '[':
                at++;
                List<Object> list = new ArrayList<>();
                while (!closed(']', list.isEmpty())) {
                    list.add(value());
                }
                return list;
            case '"':
                return string();
            case 't':
                return word("true", true);
            case 'f':
                return word("false", false);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    /** True if an array or object ends here; else a comma has been read, if one must be. */
    private boolean closed(char end, boolean empty) {
        space();
        if (at < text.length() && text.charAt(at) == end) {
            at++;
            return true;
        }
        if (!empty) {
            expect(',');
        }
        return false;
    }

    private void expect(char wanted) {
        space();
        if (at >= text.length() || text.charAt(at) != wanted) {
            throw wrong("lacks " + wanted);
        }
        at++;
    }

    private Object word(String word, Object meaning) {
        if (!text.startsWith(word, at)) {
            throw wrong("has no word that is known");
        }
        at += word.length();
        return meaning;
    }

    private Object number() {
        int from = at;
        boolean whole = true;
        while (at < text.length() && "+-0123456789.eE".indexOf(text.charAt(at)) >= 0) {
            whole &= ".eE".indexOf(text.charAt(at)) < 0;
            at++;
        }
        String digits = text.substring(from, at);
        try {
            if (!whole) {
                return Double.valueOf(digits);
            }
            BigInteger number = new BigInteger(digits);
            return number.bitLength() < 64 ? (Object) number.longValue() : number;
        } catch (NumberFormatException error) {
            throw wrong("has no value");
        }
    }

    private String string() {
        if (at >= text.length() || text.charAt(at) != '"') {
            throw wrong("lacks a text");
        }
        StringBuilder found = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char each = text.charAt(at);
            if (each == '"') {
                at++;
                return found.toString();
            }
            if (each != '\\') {
                found.append(each);
                continue;
            }
            each = text.charAt(++at);
            switch (each) {
                case 'b' -> found.append('\b');
                case 'f' -> found.append('\f');
                case 'n' -> found.append('\n');
                case 'r' -> found.append('\r');
                case 't' -> found.append('\t');
                case 'u' -> {
                    found.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                }
                default -> found.append(each);
            }
        }
        throw wrong("ends inside a text");
    }

    private void space() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("JSON " + what + " at " + at);
    }

    // -- to JSON --------------------------------------------------------------------------------------

    /** Writes the JSON reading of a value. */
    public static String of(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof String string) {
            quote(string, out);
        } else if (value instanceof Double number) {
            if (Double.isFinite(number)) {
                out.append((double) number);
            } else {
                String name = number.isNaN() ? "nan" : number > 0 ? "inf" : "-inf";
                out.append("{\"$float\": \"").append(name).append("\"}");
            }
        } else if (value instanceof byte[] bytes) {
            out.append("{\"$bytes\": \"").append(HexFormat.of().formatHex(bytes)).append("\"}");
        } else if (value instanceof Tensor tensor) {
            out.append("{\"$tensor\": {\"dtype\": \"").append(tensor.type().dtype()).append("\", \"shape\": [");
            for (int i = 0; i < tensor.dimensions(); i++) {
                out.append(i > 0 ? ", " : "").append(tensor.length(i));
            }
            out.append("], \"data\": [");
            for (int i = 0; i < tensor.size(); i++) {
                out.append(i > 0 ? ", " : "");
                write(tensor.get(i), out);
            }
            out.append("]}}");
        } else if (value instanceof Extension extension) {
            out.append("{\"$extension\": {\"code\": ").append(extension.code()).append(", \"data\": \"")
                    .append(HexFormat.of().formatHex(extension.data())).append("\"}}");
        } else if (value instanceof List<?> list) {
            String between = "";
            out.append('[');
            for (Object each : list) {
                out.append(between);
                write(each, out);
                between = ", ";
            }
            out.append(']');
        } else if (value instanceof Map<?, ?> map) {
            String between = "";
            out.append('{');
            for (Map.Entry<?, ?> each : map.entrySet()) {
                out.append(between);
                quote((String) each.getKey(), out);
                out.append(": ");
                write(each.getValue(), out);
                between = ", ";
            }
            out.append('}');
        } else {
            out.append(value); // null, a boolean or an integer
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ' || each > '~') {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        out.append('"');
    }
}
