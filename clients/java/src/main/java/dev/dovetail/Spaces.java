package dev.dovetail;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** Draws values of spaces, and says which they have. */
public final class Spaces {
    /** Elements of the largest value that is drawn; more do not fit into a message. */
    private static final double LARGEST = 1 << 20;
    /** How much longer than necessary a text or sequence is at most. */
    private static final int SPREAD = 16;
    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz";

    private Spaces() {}

    /**
     * Draws a value of a space.
     *
     * @param space the space
     * @param random where from
     * @return a value, in the form in which it travels
     * @throws DovetailException if the space contains nothing, or its values are too large
     */
    public static Object sample(Space space, RandomGenerator random) {
        if (size(space) > LARGEST) {
            throw new DovetailException("values of over " + (long) LARGEST + " elements cannot be drawn");
        }
        return draw(space, random);
    }

    /** How many elements a value that is drawn has at most; a double, since it may be any number. */
    private static double size(Space space) {
        if (space instanceof Space.Box box) {
            return size(box.shape());
        } else if (space instanceof Space.MultiDiscrete discrete) {
            return discrete.nvec().length;
        } else if (space instanceof Space.MultiBinary binary) {
            return size(binary.shape());
        } else if (space instanceof Space.Text text) {
            return 1 + longest(text.minLength(), text.maxLength());
        } else if (space instanceof Space.Tuple tuple) {
            return 1 + tuple.spaces().stream().mapToDouble(Spaces::size).sum();
        } else if (space instanceof Space.Sequence sequence) {
            return 1 + longest(sequence.minLength(), sequence.maxLength()) * size(sequence.element());
        } else if (space instanceof Space.Dict dict) {
            return 1 + dict.spaces().values().stream().mapToDouble(Spaces::size).sum();
        }
        return 1;
    }

    /** How many elements, or empty rows, an array has; infinitely many if it has too many dimensions. */
    private static double size(long[] shape) {
        return shape.length > 32 ? Double.POSITIVE_INFINITY
                : Arrays.stream(shape).mapToDouble(length -> Math.max(length, 1)).reduce(1, (a, b) -> a * b);
    }

    private static double longest(long least, long most) {
        return (double) least + Math.max(0, Math.min(most - least, SPREAD));
    }

    private static Object draw(Space space, RandomGenerator random) {
        if (space instanceof Space.Discrete discrete) {
            return discrete.start() + random.nextLong(discrete.n());
        } else if (space instanceof Space.Box box) {
            return box(box, random);
        } else if (space instanceof Space.MultiDiscrete discrete) {
            List<Object> values = new ArrayList<>();
            for (long each : discrete.nvec()) {
                values.add(random.nextLong(each));
            }
            return values;
        } else if (space instanceof Space.MultiBinary binary) {
            return nested(binary.shape(), 0, () -> (long) random.nextInt(2));
        } else if (space instanceof Space.Text text) {
            return text(text, random);
        } else if (space instanceof Space.Tuple tuple) {
            return tuple.spaces().stream().map(each -> draw(each, random)).toList();
        } else if (space instanceof Space.Sequence sequence) {
            long length = length(sequence.minLength(), sequence.maxLength(), random);
            return Stream.generate(() -> draw(sequence.element(), random)).limit(length).toList();
        } else if (space instanceof Space.Dict dict) {
            Map<String, Object> values = new LinkedHashMap<>();
            dict.spaces().forEach((key, each) -> values.put(key, draw(each, random)));
            return values;
        }
        throw new DovetailException("this library draws nothing from a " + space.getClass().getSimpleName());
    }

    /**
     * True if a space has a value, in the form in which it travels (SPEC.md, S8.1).
     *
     * @param space the space
     * @param value such as {@link #sample} returns, or as it was received
     * @return whether it is one of the space's
     */
    public static boolean contains(Space space, Object value) {
        return new Membership().contains(space, value);
    }

    /** Draws a length, not much above the least. */
    private static long length(long least, long most, RandomGenerator random) {
        return least + random.nextLong(Math.max(1, Math.min(most - least, SPREAD) + 1));
    }

    private static String text(Space.Text space, RandomGenerator random) {
        String charset = space.charset();
        int[] from = (charset == null || charset.isEmpty() ? LETTERS : charset).codePoints().toArray();
        long most = charset != null && charset.isEmpty() ? 0 : space.maxLength();
        long length = length(space.minLength(), most, random);
        StringBuilder text = new StringBuilder();
        for (long i = 0; i < length; i++) {
            text.appendCodePoint(from[random.nextInt(from.length)]);
        }
        return text.toString();
    }

    /** Makes one element of an array; called in row-major order. */
    private interface Element {
        Object next();
    }

    private static Object nested(long[] shape, int dimension, Element element) {
        if (dimension == shape.length) {
            return element.next();
        }
        List<Object> list = new ArrayList<>();
        for (long i = 0; i < shape[dimension]; i++) {
            list.add(nested(shape, dimension + 1, element));
        }
        return list;
    }

    private static Object box(Space.Box box, RandomGenerator random) {
        Tensor.Type type = Tensor.Type.of(box.dtype());
        if (type == null) {
            throw new DovetailException("a Box of the unknown dtype '" + box.dtype() + "' contains nothing");
        }
        int count = (int) Arrays.stream(box.shape()).reduce(1, (a, b) -> a * b);
        List<Object> low = Membership.bounds(box.low(), box.shape(), count);
        List<Object> high = Membership.bounds(box.high(), box.shape(), count);
        if (low == null || high == null) {
            throw new DovetailException("a Box whose bounds do not fit its shape contains nothing");
        }
        Iterator<Object> least = low.iterator();
        Iterator<Object> most = high.iterator();
        return nested(box.shape(), 0, () -> type.isFloat()
                ? real(((Number) least.next()).doubleValue(), ((Number) most.next()).doubleValue(), random)
                : whole(type, least.next(), most.next(), random));
    }

    private static double real(double low, double high, RandomGenerator random) {
        double from = Math.max(low, Math.min(-1e6, high - 1)); // nothing is drawn between infinite bounds
        double to = Math.min(high, Math.max(1e6, low + 1));
        double share = random.nextDouble();
        // The difference of the two can be infinite.
        return low == high ? low : Math.min(Math.max(from * (1 - share) + to * share, from), to);
    }

    private static Object whole(Tensor.Type type, Object low, Object high, RandomGenerator random) {
        BigInteger first = Membership.least(type).max(rounded(low, RoundingMode.CEILING));
        BigInteger last = Membership.most(type).min(rounded(high, RoundingMode.FLOOR));
        if (last.compareTo(first) < 0) {
            throw new DovetailException("a Box without a number between its bounds contains nothing");
        }
        byte[] bits = new byte[16];
        random.nextBytes(bits);
        BigInteger value = new BigInteger(1, bits).mod(last.subtract(first).add(BigInteger.ONE)).add(first);
        if (type == Tensor.Type.BOOL) {
            return value.signum() != 0;
        }
        return value.bitLength() < 64 ? (Object) value.longValue() : value;
    }

    /** Returns the integer next to a bound; an infinite one is beyond every type. */
    private static BigInteger rounded(Object bound, RoundingMode mode) {
        double number = ((Number) bound).doubleValue();
        if (Double.isNaN(number)) {
            throw new DovetailException("a Box whose bound is not a number contains nothing");
        }
        return Double.isInfinite(number)
                ? BigInteger.valueOf((long) Math.signum(number)).shiftLeft(64)
                : Membership.exact(bound).setScale(0, mode).toBigInteger();
    }

    /** True if a space has a value (SPEC.md, S8.1). */
    private static final class Membership {
        /** The characters of each text space in order; it may stand for each element of a sequence. */
        private final Map<Space.Text, int[]> charsets = new IdentityHashMap<>();

        boolean contains(Space space, Object value) {
            if (space instanceof Space.Discrete discrete) {
                return value instanceof Long n
                        && n >= discrete.start()
                        && Long.compareUnsigned(n - discrete.start(), discrete.n()) < 0;
            } else if (space instanceof Space.Box box) {
                return box(box, value);
            } else if (space instanceof Space.MultiDiscrete discrete) {
                return multiDiscrete(discrete.nvec(), value);
            } else if (space instanceof Space.MultiBinary binary) {
                List<Object> all = elements(value, binary.shape());
                return all != null && all.stream().allMatch(each -> isBit(each, value instanceof Tensor));
            } else if (space instanceof Space.Text text) {
                return value instanceof String given && text(text, given);
            } else if (space instanceof Space.Tuple tuple) {
                List<Space> spaces = tuple.spaces();
                if (!(value instanceof List<?> list) || list.size() != spaces.size()) {
                    return false;
                }
                for (int i = 0; i < list.size(); i++) {
                    if (!contains(spaces.get(i), list.get(i))) {
                        return false;
                    }
                }
                return true;
            } else if (space instanceof Space.Sequence sequence) {
                return value instanceof List<?> list
                        && list.size() >= sequence.minLength()
                        && list.size() <= sequence.maxLength()
                        && list.stream().allMatch(each -> contains(sequence.element(), each));
            } else if (space instanceof Space.Dict dict) {
                return value instanceof Map<?, ?> map
                        && map.keySet().equals(dict.spaces().keySet())
                        && dict.spaces().entrySet().stream()
                                .allMatch(each -> contains(each.getValue(), map.get(each.getKey())));
            }
            return false;
        }

        private static boolean multiDiscrete(long[] nvec, Object value) {
            if (value instanceof Tensor tensor && (tensor.type().isFloat() || tensor.type() == Tensor.Type.BOOL)) {
                return false;
            }
            List<Object> all = elements(value, new long[] {nvec.length});
            if (all == null) {
                return false;
            }
            for (int i = 0; i < nvec.length; i++) {
                if (!(all.get(i) instanceof Long n) || n < 0 || n >= nvec[i]) {
                    return false;
                }
            }
            return true;
        }

        private static boolean isBit(Object element, boolean inTensor) {
            if (element instanceof Boolean) {
                return inTensor;
            }
            return element instanceof Number number && (number.doubleValue() == 0 || number.doubleValue() == 1);
        }

        private boolean text(Space.Text space, String text) {
            long length = text.codePointCount(0, text.length());
            if (length < space.minLength() || length > space.maxLength()) {
                return false;
            }
            if (space.charset() == null) {
                return true;
            }
            int[] charset = charsets.computeIfAbsent(space, each -> each.charset().codePoints().sorted().toArray());
            return text.codePoints().allMatch(each -> Arrays.binarySearch(charset, each) >= 0);
        }

        /** Returns the elements of a tensor or of nested lists; null if they do not have the shape. */
        private static List<Object> elements(Object value, long[] shape) {
            List<Object> all = new ArrayList<>();
            if (value instanceof Tensor tensor) {
                if (!Arrays.equals(tensor.shape(), shape)) {
                    return null;
                }
                for (int i = 0; i < tensor.size(); i++) {
                    all.add(tensor.get(i));
                }
                return all;
            }
            return flatten(value, shape, 0, all) ? all : null;
        }

        private static boolean flatten(Object value, long[] shape, int dimension, List<Object> into) {
            if (dimension == shape.length) {
                into.add(value);
                return true;
            }
            return value instanceof List<?> list
                    && list.size() == shape[dimension]
                    && list.stream().allMatch(each -> flatten(each, shape, dimension + 1, into));
        }

        private static boolean box(Space.Box box, Object value) {
            Tensor.Type type = Tensor.Type.of(box.dtype());
            if (type == null || value instanceof Tensor tensor && tensor.type() != type) {
                return false;
            }
            List<Object> all = elements(value, box.shape());
            if (all == null) {
                return false;
            }
            List<Object> low = bounds(box.low(), box.shape(), all.size());
            List<Object> high = bounds(box.high(), box.shape(), all.size());
            if (low == null || high == null) {
                return false;
            }
            for (int i = 0; i < all.size(); i++) {
                Object element = all.get(i);
                if (!holds(type, element)
                        || !ordered(type, low.get(i), element)
                        || !ordered(type, element, high.get(i))) {
                    return false;
                }
            }
            return true;
        }

        /** Returns the bound of each of {@code count} elements; null if it fits no array of the shape. */
        static List<Object> bounds(Object bound, long[] shape, int count) {
            if (bound instanceof Number) {
                return java.util.Collections.nCopies(count, bound);
            }
            List<Object> all = bound instanceof List<?> ? elements(bound, shape) : null;
            return all != null && all.stream().allMatch(Number.class::isInstance) ? all : null;
        }

        private static boolean holds(Tensor.Type type, Object element) {
            if (element instanceof Boolean) {
                return type == Tensor.Type.BOOL;
            }
            if (type == Tensor.Type.BOOL || !(element instanceof Number)) {
                return false;
            }
            if (type.isFloat()) {
                return true;
            }
            if (element instanceof Double || element instanceof Float) {
                return false;
            }
            BigInteger number = exact(element).toBigInteger();
            return number.compareTo(least(type)) >= 0 && number.compareTo(most(type)) <= 0;
        }

        /** Returns the least integer of a type. */
        static BigInteger least(Tensor.Type type) {
            return type.dtype().startsWith("i") ? most(type).not() : BigInteger.ZERO;
        }

        /** Returns the greatest integer of a type. */
        static BigInteger most(Tensor.Type type) {
            int bits = type == Tensor.Type.BOOL ? 1 : 8 * type.bytes() - (type.dtype().startsWith("i") ? 1 : 0);
            return BigInteger.ONE.shiftLeft(bits).subtract(BigInteger.ONE);
        }

        /** True if a <= b: of floats rounded to the type, of integers exactly. */
        private static boolean ordered(Tensor.Type type, Object a, Object b) {
            if (type.isFloat()) {
                return nearest(type, ((Number) a).doubleValue()) <= nearest(type, ((Number) b).doubleValue());
            }
            double left = approximate(a);
            double right = approximate(b);
            if (Double.isNaN(left) || Double.isNaN(right)) {
                return false;
            }
            if (Double.isInfinite(left) || Double.isInfinite(right)) {
                return left <= right;
            }
            return exact(a).compareTo(exact(b)) <= 0;
        }

        private static double approximate(Object value) {
            return value instanceof Boolean truth ? (truth ? 1 : 0) : ((Number) value).doubleValue();
        }

        static BigDecimal exact(Object value) {
            if (value instanceof Boolean truth) {
                return truth ? BigDecimal.ONE : BigDecimal.ZERO;
            } else if (value instanceof BigInteger large) {
                return new BigDecimal(large);
            } else if (value instanceof Double || value instanceof Float) {
                return new BigDecimal(((Number) value).doubleValue());
            }
            return BigDecimal.valueOf(((Number) value).longValue());
        }

        /** Rounds to a type of floats: ties to even, infinite beyond the largest. */
        private static double nearest(Tensor.Type type, double number) {
            if (type == Tensor.Type.FLOAT32) {
                return (float) number;
            } else if (type != Tensor.Type.FLOAT16
                    || number == 0
                    || Double.isNaN(number)
                    || Double.isInfinite(number)) {
                return number;
            }
            double unit = Math.scalb(1.0, Math.max(Math.getExponent(number), -14) - 10);
            double rounded = Math.rint(number / unit) * unit;
            return Math.abs(rounded) > 65504 ? Math.copySign(Double.POSITIVE_INFINITY, number) : rounded;
        }
    }
}
