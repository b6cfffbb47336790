package dev.dovetail;

import com.neilalexander.jnacl.crypto.curve25519xsalsa20poly1305;
import dev.dovetail.Zmtp.WireException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Arrays;

/**
 * The encryption of one connection to a broker with keys: the client's side of CurveZMQ
 * (<a href="https://rfc.zeromq.org/spec/26/">RFC 26</a>) over jnacl's boxes.
 */
final class Curve {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String Z85 =
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    private static final int KEY = 32;
    /** Zeros before what a box is made of, and before a box: NaCl's convention. */
    private static final int BARE = 32;
    private static final int BOXED = 16;
    /** Bytes of a broker's cookie, which the client returns unread. */
    private static final int COOKIE = 96;

    private final byte[] own;
    private final byte[] secret;
    private final byte[] server;
    private final byte[] shortOwn = new byte[KEY];
    private final byte[] shortSecret = new byte[KEY];
    /** The secret shared by both short-term keys; null until the broker has sent its own. */
    private byte[] shared;
    private long nonce;
    /** The highest number that the broker has used; a lower one is a message played again. */
    private long heard = -1;

    Curve(Key key) {
        own = unarmored(key.own());
        secret = unarmored(key.secret());
        server = unarmored(key.server());
        curve25519xsalsa20poly1305.crypto_box_keypair(shortOwn, shortSecret);
    }

    /** Reads a key of 40 characters (<a href="https://rfc.zeromq.org/spec/32/">RFC 32</a>) as its 32 bytes. */
    static byte[] unarmored(String key) {
        ByteBuffer out = ByteBuffer.allocate(KEY);
        for (int group = 0; group < 40; group += 5) {
            long value = 0;
            for (char each : key.substring(group, group + 5).toCharArray()) {
                value = 85 * value + Z85.indexOf(each);
            }
            out.putInt((int) value); // modulo 2^32, should the characters say more
        }
        return out.array();
    }

    /** {@return the body of the command that opens a connection} */
    byte[] hello() {
        byte[] number = next();
        byte[] box = sealed(new byte[64], joined(bytes("CurveZMQHELLO---"), number), agreed(server, shortSecret));
        // Version 1.0, and so many zeros that the answer is not longer than the question.
        return joined(bytes("\5HELLO"), new byte[] {1, 0}, new byte[72], shortOwn, number, box);
    }

    /**
     * Takes the data of the broker's WELCOME.
     *
     * @return the body of the INITIATE that shows who this program is
     * @throws WireException if it was not made for this connection by the broker of this key
     */
    byte[] initiate(byte[] welcome, byte[] metadata) throws WireException {
        byte[] opened = welcome.length < 16 ? null : opened(Arrays.copyOfRange(welcome, 16, welcome.length),
                joined(bytes("WELCOME-"), Arrays.copyOf(welcome, 16)), agreed(server, shortSecret));
        if (opened == null || opened.length != KEY + COOKIE) {
            throw new WireException("the broker's WELCOME cannot be opened");
        }
        byte[] theirs = Arrays.copyOf(opened, KEY);
        shared = agreed(theirs, shortSecret);
        byte[] random = new byte[16];
        RANDOM.nextBytes(random);
        byte[] vouch = sealed(joined(shortOwn, server), joined(bytes("VOUCH---"), random), agreed(theirs, secret));
        byte[] number = next();
        byte[] box = sealed(joined(own, random, vouch, metadata), joined(bytes("CurveZMQINITIATE"), number), shared);
        return joined(bytes("\10INITIATE"), Arrays.copyOfRange(opened, KEY, opened.length), number, box);
    }

    /**
     * Returns the broker's metadata.
     *
     * @throws WireException if the broker of this connection did not send it
     */
    byte[] ready(byte[] data) throws WireException {
        return opened("CurveZMQREADY---", data, 0);
    }

    /**
     * Returns a frame that goes out, encrypted.
     *
     * @param flags 1 for more to come, 2 for a command
     */
    byte[] seal(int flags, byte[] frame) {
        byte[] number = next();
        byte[] box = sealed(joined(new byte[] {(byte) flags}, frame),
                joined(bytes("CurveZMQMESSAGEC"), number), shared);
        return joined(bytes("\7MESSAGE"), number, box);
    }

    /**
     * Returns a frame that came in, its flags before it: 2 for a command.
     *
     * @throws WireException if the broker of this connection did not send it
     */
    byte[] open(byte[] body) throws WireException {
        byte[] opened = Arrays.equals(Arrays.copyOf(body, 8), bytes("\7MESSAGE"))
                ? opened("CurveZMQMESSAGES", body, 8) : new byte[0];
        if (opened.length == 0) {
            throw new WireException("a message that is not encrypted");
        }
        return opened;
    }

    /** Opens a box whose number stands before it. */
    private byte[] opened(String prefix, byte[] data, int from) throws WireException {
        byte[] found = null;
        if (shared != null && data.length >= from + 8) {
            byte[] number = Arrays.copyOfRange(data, from, from + 8);
            found = opened(Arrays.copyOfRange(data, from + 8, data.length), joined(bytes(prefix), number), shared);
            long count = ByteBuffer.wrap(number).getLong();
            if (Long.compareUnsigned(count, heard + 1) < 0) {
                found = null;
            }
            heard = count;
        }
        if (found == null) {
            throw new WireException("an encrypted frame cannot be opened");
        }
        return found;
    }

    /** {@return the number of the next box of ours} */
    private byte[] next() {
        return ByteBuffer.allocate(8).putLong(++nonce).array();
    }

    // -- NaCl ------------------------------------------------------------------------------------

    private static byte[] agreed(byte[] theirs, byte[] secret) {
        byte[] key = new byte[KEY];
        curve25519xsalsa20poly1305.crypto_box_beforenm(key, theirs, secret);
        return key;
    }

    private static byte[] sealed(byte[] message, byte[] nonce, byte[] key) {
        byte[] bare = joined(new byte[BARE], message);
        byte[] box = new byte[bare.length];
        curve25519xsalsa20poly1305.crypto_box_afternm(box, bare, bare.length, nonce, key);
        return Arrays.copyOfRange(box, BOXED, box.length);
    }

    /** {@return what a box holds; null if it was not sealed with this key} */
    private static byte[] opened(byte[] sealed, byte[] nonce, byte[] key) {
        if (sealed.length < BARE - BOXED) {
            return null;
        }
        byte[] box = joined(new byte[BOXED], sealed);
        byte[] bare = new byte[box.length];
        boolean ours = curve25519xsalsa20poly1305.crypto_box_open_afternm(bare, box, box.length, nonce, key) == 0;
        return ours ? Arrays.copyOfRange(bare, BARE, bare.length) : null;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static byte[] joined(byte[]... parts) {
        int size = 0;
        for (byte[] each : parts) {
            size += each.length;
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (byte[] each : parts) {
            out.put(each);
        }
        return out.array();
    }
}
