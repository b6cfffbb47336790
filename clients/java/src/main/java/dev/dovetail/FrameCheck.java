package dev.dovetail;

import dev.dovetail.Message.Code;
import dev.dovetail.Message.Limits;

/** Checks frames on their bytes, before anything is decoded, so that a hostile one costs no more than its size. */
final class FrameCheck {
    /** Levels of nesting that are read at the most, whatever the limits: each takes some of the stack. */
    private static final int DEEPEST = 500;

    private FrameCheck() {}

    /**
     * Accepts a frame if it is one MessagePack value within limits.
     *
     * @throws ProtocolException code {@code limit} or {@code malformed}
     */
    static void check(byte[] frame, Limits limits) {
        int size = frame.length;
        if (size > limits.frame()) {
            throw new ProtocolException(
                    Code.LIMIT, "frame of " + size + " bytes; at most " + limits.frame() + " are read");
        }
        int depth = (int) Math.min(limits.depth(), DEEPEST);
        // Values still to come in each open container; the outermost is the frame itself. No container
        // can be open without a byte of its own, so the stack needs no more than the frame has bytes.
        long[] left = new long[Math.min(depth, size) + 2];
        left[0] = 1;
        int open = 0;
        long position = 0;
        long elements = 0;
        while (true) {
            if (left[open] == 0) {
                if (--open < 0) {
                    break;
                }
                continue;
            }
            if (position >= size) {
                throw cut(size);
            }
            left[open]--;
            if (++elements > limits.elements()) {
                throw new ProtocolException(Code.LIMIT, "more than " + limits.elements() + " values in a frame");
            }
            int head = frame[(int) position++] & 0xff;
            long count;
            if (head <= 0x7f || head >= 0xe0) {
                continue;
            } else if (head <= 0x8f) {
                count = 2L * (head & 0x0f);
            } else if (head <= 0x9f) {
                count = head & 0x0f;
            } else if (head <= 0xbf) {
                position += head & 0x1f;
                continue;
            } else {
                switch (head) {
                    case 0xc0, 0xc2, 0xc3 -> {}
                    case 0xcc, 0xd0 -> position += 1;
                    case 0xcd, 0xd1, 0xd4 -> position += 2;
                    case 0xd5 -> position += 3;
                    case 0xca, 0xce, 0xd2 -> position += 4;
                    case 0xd6 -> position += 5;
                    case 0xcb, 0xcf, 0xd3 -> position += 8;
                    case 0xd7 -> position += 9;
                    case 0xd8 -> position += 17;
                    case 0xc4, 0xd9 -> position += 1 + number(frame, position, 1);
                    case 0xc5, 0xda -> position += 2 + number(frame, position, 2);
                    case 0xc6, 0xdb -> position += 4 + number(frame, position, 4);
                    case 0xc7 -> position += 2 + number(frame, position, 1);
                    case 0xc8 -> position += 3 + number(frame, position, 2);
                    case 0xc9 -> position += 5 + number(frame, position, 4);
                    case 0xdc, 0xdd, 0xde, 0xdf -> {}
                    default -> throw new ProtocolException(
                            Code.MALFORMED, "byte 0xc1 at " + (position - 1) + " is not MessagePack");
                }
                if (head < 0xdc) {
                    continue;
                }
                int width = (head & 1) == 0 ? 2 : 4;
                count = number(frame, position, width) * (head >= 0xde ? 2 : 1);
                position += width;
            }
            if (count > size - position) {
                throw new ProtocolException(
                        Code.MALFORMED, count + " values announced with " + (size - position) + " bytes to come");
            }
            if (open + 1 > depth) {
                throw new ProtocolException(Code.LIMIT, "nested deeper than " + depth);
            }
            left[++open] = count;
        }
        if (position > size) {
            throw cut(size);
        }
        if (position < size) {
            throw new ProtocolException(Code.MALFORMED, "frame of " + size + " bytes does not end at byte " + position);
        }
    }

    private static long number(byte[] frame, long position, int width) {
        if (position + width > frame.length) {
            throw cut(frame.length);
        }
        long value = 0;
        for (int i = 0; i < width; i++) {
            value = value << 8 | frame[(int) position + i] & 0xff;
        }
        return value;
    }

    private static ProtocolException cut(int size) {
        return new ProtocolException(Code.MALFORMED, "frame of " + size + " bytes ends inside a value");
    }
}
