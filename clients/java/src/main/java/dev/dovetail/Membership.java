package dev.dovetail;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** True if a space has a value (SPEC.md, S8.1). */
final class Membership {
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
        } else if (type != Tensor.Type.FLOAT16 || number == 0 || Double.isNaN(number) || Double.isInfinite(number)) {
            return number;
        }
        double unit = Math.scalb(1.0, Math.max(Math.getExponent(number), -14) - 10);
        double rounded = Math.rint(number / unit) * unit;
        return Math.abs(rounded) > 65504 ? Math.copySign(Double.POSITIVE_INFINITY, number) : rounded;
    }
}
