package dev.dovetail;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoublePredicate;
import java.util.stream.Collectors;

/** Reads a decoded value as a type of the contract. */
@FunctionalInterface
interface Reader<T> {
    /**
     * Returns the value as the type.
     *
     * @throws ProtocolException code {@code invalid}: what the value must be
     */
    T read(Object value);

    Reader<Object> ANY = value -> value;
    Reader<Boolean> BOOLEAN = value -> cast(Boolean.class, value, "a boolean");
    Reader<String> TEXT = value -> cast(String.class, value, "text");
    Reader<byte[]> BINARY = value -> cast(byte[].class, value, "binary");
    Reader<Long> INTEGER = value -> {
        if (value instanceof BigInteger) {
            throw ProtocolException.invalid("must be an integer below 2^63");
        }
        return cast(Long.class, value, "an integer");
    };
    /** An integer that numbers seats, and may index an array. */
    Reader<Integer> INDEX = value -> {
        long number = INTEGER.read(value);
        if (number != (int) number) {
            throw ProtocolException.invalid("must be an integer of 32 bits");
        }
        return (int) number;
    };
    /** An integer of up to 2^64-1: a {@code Long}, or a {@code BigInteger} beyond 2^63-1. */
    Reader<Number> UNSIGNED = value -> value instanceof BigInteger number ? number : INTEGER.read(value);
    Reader<Double> NUMBER = value -> cast(Number.class, value, "a number").doubleValue();
    /** A number or nested arrays of numbers. */
    Reader<Object> BOUND = value -> {
        if (value instanceof Number || value instanceof List<?>) {
            return value;
        }
        throw ProtocolException.invalid("must be a number or nested arrays of numbers");
    };
    Reader<long[]> INTEGERS = value -> {
        List<?> values = array(value);
        long[] found = new long[values.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = INTEGER.read(values.get(i));
        }
        return found;
    };
    Reader<int[]> INDEXES = value -> array(value).stream().mapToInt(INDEX::read).toArray();
    Reader<double[]> NUMBERS = value -> array(value).stream().mapToDouble(NUMBER::read).toArray();
    Reader<double[]> TWO_NUMBERS = value -> {
        double[] numbers = NUMBERS.read(value);
        if (numbers.length != 2) {
            throw ProtocolException.invalid("must be two numbers");
        }
        return numbers;
    };

    static <T> Reader<T> orNil(Reader<T> reader) {
        return value -> value == null ? null : reader.read(value);
    }

    static <T> Reader<List<T>> list(Reader<T> reader) {
        return value -> {
            List<?> values = array(value);
            List<T> found = new ArrayList<>(values.size());
            for (Object each : values) { // a stream would cost more than it reads
                found.add(reader.read(each));
            }
            return Collections.unmodifiableList(found);
        };
    }

    static <T> Reader<Map<String, T>> map(Reader<T> reader) {
        return value -> {
            Map<?, ?> map = cast(Map.class, value, "a map");
            Map<String, T> found = new LinkedHashMap<>();
            map.forEach((key, each) -> found.put((String) key, reader.read(each)));
            return found;
        };
    }

    static <T extends Enum<T> & Encodable> Reader<T> word(Class<T> type) {
        return value -> {
            for (T each : type.getEnumConstants()) {
                if (each.toWire().equals(value)) {
                    return each;
                }
            }
            throw ProtocolException.invalid("must be one of " + Arrays.stream(type.getEnumConstants())
                    .map(each -> (String) each.toWire()).collect(Collectors.joining(", ")));
        };
    }

    static Reader<Object> either(Reader<?> one, Reader<?> other) {
        return value -> {
            try {
                return one.read(value);
            } catch (ProtocolException error) {
                return other.read(value);
            }
        };
    }

    static <T extends Number> Reader<T> atLeast(Reader<T> reader, double least) {
        return bounded(reader, each -> each >= least, "at least", least);
    }

    static <T extends Number> Reader<T> above(Reader<T> reader, double limit) {
        return bounded(reader, each -> each > limit, "above", limit);
    }

    static <T extends Number> Reader<T> atMost(Reader<T> reader, double most) {
        return bounded(reader, each -> each <= most, "at most", most);
    }

    static Reader<long[]> allAtLeast(Reader<long[]> reader, long least) {
        return value -> {
            long[] numbers = reader.read(value);
            if (Arrays.stream(numbers).anyMatch(each -> each < least)) {
                throw ProtocolException.invalid("must hold integers of at least " + least);
            }
            return numbers;
        };
    }

    private static <T extends Number> Reader<T> bounded(
            Reader<T> reader, DoublePredicate fits, String relation, double limit) {
        return value -> {
            T number = reader.read(value);
            if (!fits.test(number.doubleValue())) {
                throw ProtocolException.invalid("must be " + relation + " " + (long) limit);
            }
            return number;
        };
    }

    private static List<?> array(Object value) {
        return cast(List.class, value, "an array");
    }

    private static <T> T cast(Class<T> type, Object value, String wanted) {
        if (type.isInstance(value)) {
            return type.cast(value);
        }
        throw ProtocolException.invalid("must be " + wanted);
    }
}
