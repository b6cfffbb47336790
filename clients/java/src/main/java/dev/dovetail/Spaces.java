package dev.dovetail;

import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Arrays;
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
}
