package dev.dovetail;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** The fields of a decoded map, and the other way round. */
final class Fields {
    private final Map<?, ?> map;

    private Fields(Map<?, ?> map) {
        this.map = map;
    }

    static Fields of(Object value) {
        if (value instanceof Map<?, ?> map) {
            return new Fields(map);
        }
        throw ProtocolException.invalid("must be a map");
    }

    /** The type of a message. */
    static String type(Map<String, Object> message) {
        if (message.get("type") instanceof String type) {
            return type;
        }
        throw new ProtocolException(Message.Code.UNKNOWN_TYPE, "a message must have a type, which is text");
    }

    <T> T required(String name, Reader<T> reader) {
        if (!map.containsKey(name)) {
            throw ProtocolException.invalid("lacks the field " + name);
        }
        return read(name, reader);
    }

    <T> T optional(String name, Reader<T> reader, T otherwise) {
        return map.containsKey(name) ? read(name, reader) : otherwise;
    }

    private <T> T read(String name, Reader<T> reader) {
        try {
            return reader.read(map.get(name));
        } catch (ProtocolException error) {
            throw error.in(name);
        }
    }

    static Writer writer() {
        return new Writer();
    }

    /** Collects the fields of a map; what has its default is left out. */
    static final class Writer {
        private final Map<String, Object> map = new LinkedHashMap<>();

        Writer put(String name, Object value) {
            map.put(name, value);
            return this;
        }

        Writer put(String name, Object value, Object otherwise) {
            return Objects.deepEquals(value, otherwise) ? this : put(name, value);
        }

        Map<String, Object> map() {
            return map;
        }
    }
}
