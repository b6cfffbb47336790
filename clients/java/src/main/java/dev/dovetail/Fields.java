package dev.dovetail;

import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** Typed reading of a decoded map. What is missing or of the wrong type is {@code invalid}. */
final class Fields {
    private final Map<String, Object> map;
    private final String where;

    Fields(Map<String, Object> map, String where) {
        this.map = map;
        this.where = where;
    }

    /** The map of some keys and values, in turns; {@code Map.of} takes no null. */
    static Map<String, Object> pairs(Object... keysAndValues) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            map.put((String) keysAndValues[i], keysAndValues[i + 1]);
        }
        return map;
    }

    Map<String, Object> map() {
        return map;
    }

    ProtocolException invalid(String name, String wanted) {
        return new ProtocolException("invalid", where + "." + name + " must be " + wanted);
    }

    /** What must be there, whatever it is. */
    Object required(String name) {
        if (absent(name)) {
            throw new ProtocolException("invalid", where + " lacks the field " + name);
        }
        return map.get(name);
    }

    private boolean absent(String name) {
        return !map.containsKey(name);
    }

    Object any(String name) {
        return map.get(name);
    }

    long integer(String name) {
        return asInteger(name, required(name));
    }

    long integer(String name, long otherwise) {
        return absent(name) ? otherwise : asInteger(name, map.get(name));
    }

    long integer(String name, long otherwise, long least) {
        long value = integer(name, otherwise);
        if (value < least) {
            throw invalid(name, "an integer of at least " + least);
        }
        return value;
    }

    /** A place in a list: a seat or turn. */
    int small(String name) {
        return toInt(name, integer(name));
    }

    int small(String name, long otherwise, long least) {
        return toInt(name, integer(name, otherwise, least));
    }

    private int toInt(String name, long value) {
        if (value != (int) value) {
            throw invalid(name, "an integer of 32 bits");
        }
        return (int) value;
    }

    Long integerOrNil(String name) {
        Object value = map.get(name);
        return value == null ? null : (Long) asInteger(name, value);
    }

    Integer smallOrNil(String name) {
        Object value = map.get(name);
        return value == null ? null : (Integer) toInt(name, asInteger(name, value));
    }

    private long asInteger(String name, Object value) {
        if (value instanceof Long number) {
            return number;
        }
        throw invalid(name, value instanceof BigInteger ? "an integer below 2^63" : "an integer");
    }

    double number(String name, double otherwise) {
        return absent(name) ? otherwise : asNumber(name, map.get(name));
    }

    double number(String name, double otherwise, double least) {
        double value = number(name, otherwise);
        if (!(value >= least)) {
            throw invalid(name, "a number of at least " + least);
        }
        return value;
    }

    Double numberOrNil(String name) {
        Object value = map.get(name);
        return value == null ? null : (Double) asNumber(name, value);
    }

    private double asNumber(String name, Object value) {
        if (value instanceof Number number) {
            return number.doubleValue();
        }
        throw invalid(name, "a number");
    }

    boolean bool(String name, boolean otherwise) {
        if (absent(name)) {
            return otherwise;
        }
        if (map.get(name) instanceof Boolean value) {
            return value;
        }
        throw invalid(name, "a boolean");
    }

    String text(String name) {
        if (required(name) instanceof String value) {
            return value;
        }
        throw invalid(name, "text");
    }

    String text(String name, String otherwise) {
        return absent(name) ? otherwise : text(name);
    }

    String textOrNil(String name) {
        return map.get(name) == null ? null : text(name);
    }

    String oneOf(String name, String otherwise, Set<String> allowed) {
        String value = otherwise == null ? text(name) : text(name, otherwise);
        if (!allowed.contains(value)) {
            throw invalid(name, "one of " + String.join(", ", allowed));
        }
        return value;
    }

    byte[] binary(String name) {
        if (required(name) instanceof byte[] value) {
            return value;
        }
        throw invalid(name, "binary");
    }

    byte[] binary(String name, byte[] otherwise) {
        return absent(name) ? otherwise : binary(name);
    }

    byte[] binaryOrNil(String name) {
        return map.get(name) == null ? null : binary(name);
    }

    @SuppressWarnings("unchecked")
    Map<String, Object> mapping(String name) {
        if (absent(name)) {
            return Map.of();
        }
        if (map.get(name) instanceof Map<?, ?> value) {
            return (Map<String, Object>) value;
        }
        throw invalid(name, "a map");
    }

    /** A map that must be there. */
    Fields inner(String name) {
        if (required(name) instanceof Map<?, ?>) {
            return new Fields(mapping(name), where + "." + name);
        }
        throw invalid(name, "a map");
    }

    Fields innerOrNil(String name) {
        return map.get(name) == null ? null : inner(name);
    }

    List<?> list(String name) {
        if (absent(name)) {
            return List.of();
        }
        if (map.get(name) instanceof List<?> value) {
            return value;
        }
        throw invalid(name, "an array");
    }

    /** The entries of an array, each read by a function. */
    <T> List<T> list(String name, Function<Object, T> read) {
        return list(name).stream().map(read).toList();
    }

    /** An array of maps, each read by a function. */
    <T> List<T> inners(String name, Function<Fields, T> read) {
        return list(name, each -> read.apply(of(each, where + "." + name)));
    }

    List<Long> integers(String name) {
        return list(name, each -> asInteger(name, each));
    }

    List<Integer> smalls(String name) {
        return list(name, each -> toInt(name, asInteger(name, each)));
    }

    long[] longs(String name) {
        return list(name).stream().mapToLong(each -> asInteger(name, each)).toArray();
    }

    double[] numbers(String name) {
        return list(name).stream().mapToDouble(each -> asNumber(name, each)).toArray();
    }

    double[] numbersOrNil(String name) {
        return map.get(name) == null ? null : numbers(name);
    }

    List<String> texts(String name) {
        return list(name, each -> {
            if (each instanceof String text) {
                return text;
            }
            throw invalid(name, "an array of text");
        });
    }

    @SuppressWarnings("unchecked")
    static Fields of(Object value, String where) {
        if (value instanceof Map<?, ?> map) {
            return new Fields((Map<String, Object>) map, where);
        }
        throw new ProtocolException("invalid", where + " must be a map");
    }
}
