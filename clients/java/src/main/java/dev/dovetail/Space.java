package dev.dovetail;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * What values an observation or action can have. {@link #contains} never throws: a value of any type is simply in
 * the space or not.
 */
public sealed interface Space {
    /**
     * Says whether a value is in the space.
     *
     * @param value as it is decoded: Long, Double, String, List, Map, Tensor …
     * @return whether it is
     */
    boolean contains(Object value);

    /**
     * Draws a value of the space.
     *
     * @param random where from
     * @return a value, in the form in which it travels
     */
    Object sample(RandomGenerator random);

    /** {@return the form in which the space travels} */
    Map<String, Object> toMap();

    /**
     * The integers {@code start} .. {@code start + n - 1}.
     *
     * @param n how many
     * @param start the lowest one
     */
    record Discrete(long n, long start) implements Space {
        /**
         * The integers 0 .. {@code n - 1}.
         *
         * @param n how many
         */
        public Discrete(long n) {
            this(n, 0);
        }

        @Override
        public boolean contains(Object value) {
            BigInteger number = integer(value);
            return number != null
                    && number.compareTo(BigInteger.valueOf(start)) >= 0
                    && number.subtract(BigInteger.valueOf(start)).compareTo(BigInteger.valueOf(n)) < 0;
        }

        @Override
        public Object sample(RandomGenerator random) {
            return start + random.nextLong(n);
        }

        @Override
        public Map<String, Object> toMap() {
            return Fields.pairs("space", "Discrete", "n", n, "start", start);
        }
    }

    /**
     * Arrays of a shape and dtype, with bounds for all elements or one each.
     *
     * @param shape the length of each dimension; empty for one number
     * @param low the least value of every element: a Number, or nested Lists with one of each
     * @param high the greatest value, likewise
     * @param dtype a dtype of the contract
     */
    record Box(List<Long> shape, Object low, Object high, String dtype) implements Space {
        @Override
        public boolean contains(Object value) {
            Tensor.Type type = Tensor.Type.of(dtype);
            List<Object> elements = type == null ? null : elements(value, shape, type);
            if (elements == null) {
                return false;
            }
            List<Object> least = bound(low);
            List<Object> most = bound(high);
            if (least == null || most == null) {
                return false;
            }
            return IntStream.range(0, elements.size())
                    .allMatch(i -> inOrder(least.get(i), elements.get(i)) && inOrder(elements.get(i), most.get(i)));
        }

        /** The bound of each element; null if they do not fit the shape. */
        private List<Object> bound(Object bound) {
            if (bound instanceof Number) {
                return Collections.nCopies((int) size(shape), bound);
            }
            List<Object> found = new ArrayList<>();
            return flatten(bound, shape, 0, found) ? found : null;
        }

        @Override
        public Object sample(RandomGenerator random) {
            Tensor.Type type = Tensor.Type.of(dtype);
            List<Object> least = bound(low);
            List<Object> most = bound(high);
            if (type == null || least == null || most == null) {
                throw new DovetailException("a Box whose dtype or bounds make no sense contains nothing");
            }
            int size = (int) size(shape);
            double[] values = new double[size];
            for (int i = 0; i < size; i++) {
                double bottom = plain(least.get(i));
                double top = plain(most.get(i));
                double from = Math.max(bottom, Math.min(-1e6, top - 1)); // nothing is drawn between infinite bounds
                double to = Math.min(top, Math.max(1e6, bottom + 1));
                if (type.isFloat()) {
                    values[i] = from + (to - from) * random.nextDouble();
                } else {
                    double lowest = Math.ceil(Math.max(from, least(type)));
                    double highest = Math.floor(Math.min(to, most(type)));
                    if (highest < lowest) {
                        throw new DovetailException("a Box with no number between its bounds contains nothing");
                    }
                    values[i] = lowest + random.nextLong((long) (highest - lowest) + 1);
                }
            }
            return nest(values, shape, 0, new int[1], type);
        }

        /** The bounds of integers of a type. */
        private static double least(Tensor.Type type) {
            boolean signed = type.dtype().startsWith("i");
            return signed ? -Math.scalb(1.0, 8 * type.bytes() - 1) : 0;
        }

        private static double most(Tensor.Type type) {
            boolean signed = type.dtype().startsWith("i");
            return type == Tensor.Type.BOOL ? 1 : Math.scalb(1.0, 8 * type.bytes() - (signed ? 1 : 0)) - 1;
        }

        private static Object nest(double[] values, List<Long> shape, int dimension, int[] next, Tensor.Type type) {
            if (dimension == shape.size()) {
                double value = values[next[0]++];
                if (type.isFloat()) {
                    return value;
                }
                return type == Tensor.Type.BOOL ? (Object) (value != 0) : (Object) (long) value;
            }
            List<Object> list = new ArrayList<>();
            for (long i = 0; i < shape.get(dimension); i++) {
                list.add(nest(values, shape, dimension + 1, next, type));
            }
            return list;
        }

        @Override
        public Map<String, Object> toMap() {
            return Fields.pairs("space", "Box", "shape", shape, "low", low, "high", high, "dtype", dtype);
        }
    }

    /**
     * Vectors of integers, element i in 0 .. {@code nvec[i] - 1}.
     *
     * @param nvec for each element, how many values it has
     */
    record MultiDiscrete(List<Long> nvec) implements Space {
        @Override
        public boolean contains(Object value) {
            List<Object> elements = elements(value, List.of((long) nvec.size()), null);
            return elements != null
                    && IntStream.range(0, nvec.size())
                            .allMatch(i -> new Discrete(nvec.get(i)).contains(elements.get(i)));
        }

        @Override
        public Object sample(RandomGenerator random) {
            List<Object> list = new ArrayList<>();
            nvec.forEach(n -> list.add(random.nextLong(n)));
            return list;
        }

        @Override
        public Map<String, Object> toMap() {
            return Fields.pairs("space", "MultiDiscrete", "nvec", nvec);
        }
    }

    /**
     * Arrays of zeros and ones.
     *
     * @param shape the length of each dimension
     */
    record MultiBinary(List<Long> shape) implements Space {
        @Override
        public boolean contains(Object value) {
            List<Object> elements = elements(value, shape, null);
            return elements != null && elements.stream().allMatch(each -> plain(each) == 0 || plain(each) == 1);
        }

        @Override
        public Object sample(RandomGenerator random) {
            double[] values = new double[(int) size(shape)];
            for (int i = 0; i < values.length; i++) {
                values[i] = random.nextInt(2);
            }
            return Box.nest(values, shape, 0, new int[1], Tensor.Type.INT8);
        }

        @Override
        public Map<String, Object> toMap() {
            return Fields.pairs("space", "MultiBinary", "shape", shape);
        }
    }

    /**
     * Strings by length in characters (Unicode code points).
     *
     * @param maxLength the most characters
     * @param minLength the fewest
     * @param charset the characters that may occur; null: any
     */
    record Text(long maxLength, long minLength, String charset) implements Space {
        @Override
        public boolean contains(Object value) {
            if (!(value instanceof String text)) {
                return false;
            }
            int length = text.codePointCount(0, text.length());
            return length >= minLength
                    && length <= maxLength
                    && (charset == null || text.codePoints().allMatch(each -> charset.indexOf(each) >= 0));
        }

        @Override
        public Object sample(RandomGenerator random) {
            int[] from = (charset == null || charset.isEmpty() ? "abcdefghijklmnopqrstuvwxyz" : charset)
                    .codePoints()
                    .toArray();
            long most = charset != null && charset.isEmpty() ? 0 : Math.min(maxLength, minLength + 16);
            long length = minLength + random.nextLong(Math.max(1, most - minLength + 1));
            StringBuilder text = new StringBuilder();
            for (long i = 0; i < length; i++) {
                text.appendCodePoint(from[random.nextInt(from.length)]);
            }
            return text.toString();
        }

        @Override
        public Map<String, Object> toMap() {
            return Fields.pairs("space", "Text", "max_length", maxLength, "min_length", minLength, "charset", charset);
        }
    }

    /**
     * Sequences with one value of each space.
     *
     * @param spaces one per element, in order
     */
    record Tuple(List<Space> spaces) implements Space {
        @Override
        public boolean contains(Object value) {
            return value instanceof List<?> list
                    && list.size() == spaces.size()
                    && IntStream.range(0, list.size()).allMatch(i -> spaces.get(i).contains(list.get(i)));
        }

        @Override
        public Object sample(RandomGenerator random) {
            List<Object> list = new ArrayList<>();
            spaces.forEach(each -> list.add(each.sample(random)));
            return list;
        }

        @Override
        public Map<String, Object> toMap() {
            return Fields.pairs("space", "Tuple", "spaces", spaces);
        }
    }

    /**
     * Maps with one value of each space by its key.
     *
     * @param spaces the space of each key
     */
    record Dict(Map<String, Space> spaces) implements Space {
        @Override
        public boolean contains(Object value) {
            return value instanceof Map<?, ?> map
                    && map.keySet().equals(spaces.keySet())
                    && spaces.entrySet().stream().allMatch(each -> each.getValue().contains(map.get(each.getKey())));
        }

        @Override
        public Object sample(RandomGenerator random) {
            Map<String, Object> map = new LinkedHashMap<>();
            spaces.forEach((key, space) -> map.put(key, space.sample(random)));
            return map;
        }

        @Override
        public Map<String, Object> toMap() {
            return Fields.pairs("space", "Dict", "spaces", spaces);
        }
    }

    /**
     * Reads a space from the form in which it travels.
     *
     * @param value a map with the key {@code space}
     * @return the space
     * @throws ProtocolException code {@code invalid}
     */
    static Space of(Object value) {
        Fields fields = Fields.of(value, "space");
        String kind = fields.text("space");
        return switch (kind) {
            case "Discrete" -> new Discrete(
                    fields.integer("n", fields.integer("n"), 1), fields.integer("start", 0));
            case "Box" -> new Box(
                    lengths(fields, "shape", 0),
                    bound(fields, "low", Double.NEGATIVE_INFINITY),
                    bound(fields, "high", Double.POSITIVE_INFINITY),
                    fields.text("dtype", "float32"));
            case "MultiDiscrete" -> new MultiDiscrete(lengths(fields, "nvec", 1));
            case "MultiBinary" -> new MultiBinary(lengths(fields, "shape", 0));
            case "Text" -> new Text(
                    fields.integer("max_length", fields.integer("max_length"), 0),
                    fields.integer("min_length", 0, 0),
                    fields.textOrNil("charset"));
            case "Tuple" -> {
                fields.required("spaces");
                yield new Tuple(fields.list("spaces", Space::of));
            }
            case "Dict" -> {
                Map<String, Space> spaces = new LinkedHashMap<>();
                fields.inner("spaces").map().forEach((key, each) -> spaces.put(key, of(each)));
                yield new Dict(spaces);
            }
            default -> throw new ProtocolException("invalid", "there is no space " + kind);
        };
    }

    private static List<Long> lengths(Fields fields, String name, long least) {
        fields.required(name);
        List<Long> lengths = fields.integers(name);
        if (lengths.stream().anyMatch(each -> each < least)) {
            throw fields.invalid(name, "an array of integers of at least " + least);
        }
        return lengths;
    }

    private static Object bound(Fields fields, String name, double otherwise) {
        Object value = fields.map().getOrDefault(name, otherwise);
        if (value instanceof Number || value instanceof List<?>) {
            return value;
        }
        throw fields.invalid(name, "a number or nested arrays of numbers");
    }

    private static long size(List<Long> shape) {
        return shape.stream().reduce(1L, (one, other) -> one * other);
    }

    private static BigInteger integer(Object value) {
        if (value instanceof BigInteger number) {
            return number;
        }
        boolean whole = value instanceof Long
                || value instanceof Integer
                || value instanceof Short
                || value instanceof Byte;
        return whole ? BigInteger.valueOf(((Number) value).longValue()) : null;
    }

    /** The elements of a tensor or of nested lists, if they have the shape and, if one is asked for, the type. */
    private static List<Object> elements(Object value, List<Long> shape, Tensor.Type type) {
        List<Object> found = new ArrayList<>();
        if (value instanceof Tensor tensor) {
            if (type != null && tensor.type() != type || tensor.dimensions() != shape.size()) {
                return null;
            }
            for (int i = 0; i < shape.size(); i++) {
                if (tensor.length(i) != shape.get(i)) {
                    return null;
                }
            }
            for (int i = 0; i < tensor.size(); i++) {
                found.add(tensor.get(i));
            }
            return found;
        }
        if (!flatten(value, shape, 0, found)) {
            return null;
        }
        for (Object each : found) {
            if (type != null && !holds(type, each)) {
                return null;
            }
        }
        return found;
    }

    private static boolean flatten(Object value, List<Long> shape, int dimension, List<Object> into) {
        if (dimension == shape.size()) {
            into.add(value);
            return value instanceof Number || value instanceof Boolean;
        }
        if (!(value instanceof List<?> list) || list.size() != shape.get(dimension)) {
            return false;
        }
        for (Object each : list) {
            if (!flatten(each, shape, dimension + 1, into)) {
                return false;
            }
        }
        return true;
    }

    private static boolean holds(Tensor.Type type, Object value) {
        if (type.isFloat()) {
            return true;
        }
        if (type == Tensor.Type.BOOL) {
            return value instanceof Boolean;
        }
        BigInteger number = integer(value);
        if (number == null) {
            return false;
        }
        int bits = 8 * type.bytes();
        return type.dtype().startsWith("u")
                ? number.signum() >= 0 && number.bitLength() <= bits
                : number.bitLength() < bits;
    }

    /** Whether one number is at most another, exactly; NaN is in no order. */
    private static boolean inOrder(Object one, Object other) {
        if (one instanceof Double || other instanceof Double) {
            double first = plain(one);
            double second = plain(other);
            if (Double.isNaN(first) || Double.isNaN(second)) {
                return false;
            }
            if (Double.isInfinite(first) || Double.isInfinite(second)) {
                return first <= second;
            }
        }
        return decimal(one).compareTo(decimal(other)) <= 0;
    }

    private static double plain(Object value) {
        return value instanceof Boolean truth ? (truth ? 1 : 0) : ((Number) value).doubleValue();
    }

    private static BigDecimal decimal(Object value) {
        BigInteger whole = integer(value);
        return whole != null ? new BigDecimal(whole) : new BigDecimal(plain(value));
    }
}
