package dev.dovetail;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * An array of numbers of one type and a shape, as it travels: little-endian, the last index moving fastest.
 *
 * <p>Elements are numbered in that order. Code that makes a tensor or hands one out must not change its bytes
 * afterwards.
 */
public final class Tensor {
    /** The types that elements can have. */
    public enum Type {
        /** One byte, 0 or 1. */
        BOOL("bool", 1),
        /** Signed, 8 bits. */
        INT8("int8", 1),
        /** Signed, 16 bits. */
        INT16("int16", 2),
        /** Signed, 32 bits. */
        INT32("int32", 4),
        /** Signed, 64 bits. */
        INT64("int64", 8),
        /** Unsigned, 8 bits. */
        UINT8("uint8", 1),
        /** Unsigned, 16 bits. */
        UINT16("uint16", 2),
        /** Unsigned, 32 bits. */
        UINT32("uint32", 4),
        /** Unsigned, 64 bits. */
        UINT64("uint64", 8),
        /** IEEE 754, 16 bits. */
        FLOAT16("float16", 2),
        /** IEEE 754, 32 bits. */
        FLOAT32("float32", 4),
        /** IEEE 754, 64 bits. */
        FLOAT64("float64", 8);

        private final String dtype;
        private final int bytes;

        Type(String dtype, int bytes) {
            this.dtype = dtype;
            this.bytes = bytes;
        }

        /** {@return its name in the contract} */
        public String dtype() {
            return dtype;
        }

        /** {@return the size of an element} */
        public int bytes() {
            return bytes;
        }

        /** {@return whether its elements are floats} */
        public boolean isFloat() {
            return this == FLOAT16 || this == FLOAT32 || this == FLOAT64;
        }

        /**
         * Finds a type by its name in the contract.
         *
         * @param dtype such as {@code float32}
         * @return the type; null if there is none
         */
        public static Type of(String dtype) {
            for (Type type : values()) {
                if (type.dtype.equals(dtype)) {
                    return type;
                }
            }
            return null;
        }
    }

    private final Type type;
    private final long[] shape;
    private final byte[] data;
    private final ByteBuffer view;

    /**
     * @param type of the elements
     * @param shape the length of each dimension; empty for a single number
     * @param data the elements
     * @throws IllegalArgumentException if they do not fit one another
     */
    public Tensor(Type type, long[] shape, byte[] data) {
        if (shape.length > 32) {
            throw new IllegalArgumentException("tensor of more than 32 dimensions");
        }
        if (Arrays.stream(shape).anyMatch(length -> length < 0)) {
            throw new IllegalArgumentException("tensor with a negative length");
        }
        if (product(shape, data.length) * type.bytes != data.length) {
            throw new IllegalArgumentException("tensor " + type.dtype + Arrays.toString(shape) + " with "
                    + data.length + " bytes of data");
        }
        if (type == Type.BOOL) {
            for (byte each : data) {
                if ((each & ~1) != 0) {
                    throw new IllegalArgumentException("tensor bool with a byte other than 0 and 1");
                }
            }
        }
        this.type = type;
        this.shape = shape;
        this.data = data;
        this.view = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The number of elements, or something above {@code most} if there are more than that. */
    private static long product(long[] shape, long most) {
        for (long length : shape) {
            if (length == 0) {
                return 0;
            }
        }
        long product = 1;
        for (long length : shape) {
            if (length > most || product * length > most) {
                return most + 1; // before it overflows: neither factor is above 2^31
            }
            product *= length;
        }
        return product;
    }

    /**
     * Makes a {@code uint8} tensor.
     *
     * @param data the elements
     * @param shape the length of each dimension
     * @return the tensor
     */
    public static Tensor ofBytes(byte[] data, long... shape) {
        return new Tensor(Type.UINT8, shape, data);
    }

    /**
     * Makes an {@code int32} tensor.
     *
     * @param data the elements
     * @param shape the length of each dimension
     * @return the tensor
     */
    public static Tensor ofInts(int[] data, long... shape) {
        ByteBuffer out = ByteBuffer.allocate(4 * data.length).order(ByteOrder.LITTLE_ENDIAN);
        out.asIntBuffer().put(data);
        return new Tensor(Type.INT32, shape, out.array());
    }

    /**
     * Makes an {@code int64} tensor.
     *
     * @param data the elements
     * @param shape the length of each dimension
     * @return the tensor
     */
    public static Tensor ofLongs(long[] data, long... shape) {
        ByteBuffer out = ByteBuffer.allocate(8 * data.length).order(ByteOrder.LITTLE_ENDIAN);
        out.asLongBuffer().put(data);
        return new Tensor(Type.INT64, shape, out.array());
    }

    /**
     * Makes a {@code float32} tensor.
     *
     * @param data the elements
     * @param shape the length of each dimension
     * @return the tensor
     */
    public static Tensor ofFloats(float[] data, long... shape) {
        ByteBuffer out = ByteBuffer.allocate(4 * data.length).order(ByteOrder.LITTLE_ENDIAN);
        out.asFloatBuffer().put(data);
        return new Tensor(Type.FLOAT32, shape, out.array());
    }

    /**
     * Makes a {@code float64} tensor.
     *
     * @param data the elements
     * @param shape the length of each dimension
     * @return the tensor
     */
    public static Tensor ofDoubles(double[] data, long... shape) {
        ByteBuffer out = ByteBuffer.allocate(8 * data.length).order(ByteOrder.LITTLE_ENDIAN);
        out.asDoubleBuffer().put(data);
        return new Tensor(Type.FLOAT64, shape, out.array());
    }

    /** {@return the type of its elements} */
    public Type type() {
        return type;
    }

    /** {@return the length of each dimension} */
    public long[] shape() {
        return shape.clone();
    }

    /** {@return how many dimensions it has} */
    public int dimensions() {
        return shape.length;
    }

    /**
     * Returns the length of one dimension.
     *
     * @param dimension its number
     * @return the length
     */
    public long length(int dimension) {
        return shape[dimension];
    }

    /** {@return the number of elements} */
    public int size() {
        return data.length / type.bytes;
    }

    /** {@return its bytes, which must not be changed} */
    public byte[] data() {
        return data;
    }

    /**
     * Returns an element as an integer: of {@code uint64} its 64 bits, of floats without the fraction.
     *
     * @param index its number in row-major order
     * @return the element
     */
    public long getLong(int index) {
        return switch (type) {
            case BOOL, UINT8 -> data[index] & 0xff;
            case INT8 -> data[index];
            case INT16 -> view.getShort(2 * index);
            case UINT16 -> view.getShort(2 * index) & 0xffff;
            case INT32 -> view.getInt(4 * index);
            case UINT32 -> view.getInt(4 * index) & 0xffffffffL;
            case INT64, UINT64 -> view.getLong(8 * index);
            default -> (long) getDouble(index);
        };
    }

    /**
     * Returns an element as a float.
     *
     * @param index its number in row-major order
     * @return the element
     */
    public double getDouble(int index) {
        return switch (type) {
            case FLOAT16 -> fromHalf(view.getShort(2 * index));
            case FLOAT32 -> view.getFloat(4 * index);
            case FLOAT64 -> view.getDouble(8 * index);
            case UINT64 -> unsigned(view.getLong(8 * index)).doubleValue();
            default -> getLong(index);
        };
    }

    /**
     * Returns an element as it is: {@code Boolean}, {@code Long}, {@code BigInteger} (beyond 2^63-1) or
     * {@code Double}.
     *
     * @param index its number in row-major order
     * @return the element
     */
    public Object get(int index) {
        if (type == Type.BOOL) {
            return data[index] != 0;
        }
        if (type.isFloat()) {
            return getDouble(index);
        }
        long value = getLong(index);
        if (type == Type.UINT64 && value < 0) {
            return unsigned(value);
        }
        return value;
    }

    private static BigInteger unsigned(long bits) {
        return new BigInteger(Long.toUnsignedString(bits));
    }

    private static double fromHalf(short bits) {
        int exponent = bits >> 10 & 0x1f;
        int fraction = bits & 0x3ff;
        double value;
        if (exponent == 0) {
            value = fraction * 0x1p-24;
        } else if (exponent == 31) {
            value = fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
        } else {
            value = Math.scalb(1 + fraction * 0x1p-10, exponent - 15);
        }
        return bits < 0 ? -value : value;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Tensor that
                && type == that.type
                && Arrays.equals(shape, that.shape)
                && Arrays.equals(data, that.data);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(data) + 31 * Arrays.hashCode(shape) + type.ordinal();
    }

    @Override
    public String toString() {
        return "Tensor[" + type.dtype + Arrays.toString(shape) + "]";
    }
}
