package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.dovetail.Zmtp.MismatchException;
import dev.dovetail.Zmtp.WireException;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The wire without sockets: bytes in any portions, what breaks it, and rubbish. */
class ZmtpTest {
    private static final String READY = "\4\34\5READY\13Socket-Type\0\0\0\6ROUTER";
    private static final String PING = "\4\12\4PING\0\12abc";
    private static final byte[] LARGE = new byte[3_000_000];

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static byte[] packed(byte[]... frames) {
        ByteBuffer out = ByteBuffer.allocate(Zmtp.size(List.of(frames)));
        new Zmtp(null).pack(List.of(frames), out);
        return out.array();
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] each : parts) {
            out.writeBytes(each);
        }
        return out.toByteArray();
    }

    /** Feeds bytes in portions, as a connection does. */
    private static List<byte[]> fed(byte[] stream, int step, List<byte[]> frames) throws WireException {
        Zmtp wire = new Zmtp(null);
        ByteBuffer in = ByteBuffer.allocate(1 << 16);
        List<byte[]> answers = new ArrayList<>();
        for (int at = 0; at < stream.length; ) {
            int some = Math.min(Math.min(step, in.remaining()), stream.length - at);
            in.put(stream, at, some);
            at += some;
            in.flip();
            wire.feed(in, frames, answers);
            in.compact();
        }
        return answers;
    }

    @Test
    void framesAreTheSameHoweverTheBytesArrive() throws WireException {
        byte[] shorter = new byte[70_000];
        for (int step : new int[] {1, 2, 3, 64, 65, 1000, 1 << 16}) {
            byte[] large = step < 64 ? shorter : LARGE;
            byte[] stream = joined(Zmtp.greeting("NULL"), bytes(READY), packed(bytes("one")), bytes(PING),
                    packed(large), packed(bytes(""), bytes("last")));
            List<byte[]> frames = new ArrayList<>();
            List<byte[]> answers = fed(stream, step, frames);
            assertEquals(4, frames.size());
            assertArrayEquals(bytes("one"), frames.get(0));
            assertEquals(large.length, frames.get(1).length);
            assertEquals(0, frames.get(2).length);
            assertArrayEquals(bytes("last"), frames.get(3));
            assertEquals(3, answers.size());
            assertArrayEquals(bytes("\4\51\5READY\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0\0"), answers.get(1));
            assertArrayEquals(bytes("\4\10\4PONGabc"), answers.get(2));
        }
    }

    @Test
    void framesOfOneMessageCarryMoreButForTheLast() {
        byte[] out = packed(bytes("a"), new byte[256], bytes("c"));
        assertArrayEquals(new byte[] {1, 3, 0}, new byte[] {out[0], out[3], out[out.length - 3]});
        assertEquals(3 + 9 + 256 + 3, out.length);
    }

    @Test
    void whatBreaksTheProtocolIsOneKindOfError() {
        byte[] greeting = Zmtp.greeting("NULL");
        byte[] curve = Zmtp.greeting("CURVE");
        byte[] opening = joined(greeting, bytes(READY));
        Object[][] broken = {
            {"not a ZeroMQ socket", bytes("HTTP/1.1 400 Bad Request")},
            {"version 1 of ZMTP", HexFormat.of().parseHex("ff00000000000000017f0100")},
            {"expected NULL", curve},
            {"flags 8", joined(opening, new byte[] {8, 0})},
            {"a command of 65537 bytes", joined(opening, HexFormat.of().parseHex("060000000000010001"))},
            {"flags 5", joined(opening, new byte[] {5, 0})},
            {"a frame of 9223372036854775807 bytes", joined(opening, HexFormat.of().parseHex("027fffffffffffffff"))},
            {"a frame of 18446744073709551615 bytes", joined(opening, HexFormat.of().parseHex("02ffffffffffffffff"))},
            {"before READY", joined(greeting, packed(bytes("x")))},
            {"longer than READY", joined(greeting, bytes("\4\10\5READY\13S"))},
            {"type REP", joined(greeting, bytes("\4\31\5READY\13Socket-Type\0\0\0\3REP"))},
            {"longer than its frame", joined(opening, bytes("\4\2\4P"))},
            {"the broker says: no!", joined(greeting, bytes("\4\12\5ERROR\3no!"))},
        };
        for (Object[] each : broken) {
            WireException error =
                    assertThrows(WireException.class, () -> fed((byte[]) each[1], 1 << 16, new ArrayList<>()));
            assertTrue(error.getMessage().contains((String) each[0]), error.getMessage());
            assertEquals(each[1] == curve, error instanceof MismatchException);
        }
    }

    @Test
    void framesThatComeWithAnErrorAreNotLost() {
        List<byte[]> frames = new ArrayList<>();
        byte[] stream = joined(Zmtp.greeting("NULL"), bytes(READY), packed(bytes("one")),
                bytes("\4\12\5ERROR\3no!"));
        assertThrows(WireException.class, () -> fed(stream, 1 << 16, frames));
        assertEquals(1, frames.size());
    }

    @Test
    void rubbishEndsAConnectionAndNothingElse() {
        byte[] stream = joined(Zmtp.greeting("NULL"), bytes(READY), packed(bytes("one")), bytes(PING),
                packed(new byte[99]));
        Random random = new Random(12345);
        int ended = 0;
        for (int round = 0; round < 2000; round++) {
            byte[] bytes = stream.clone();
            for (int faults = 1 + random.nextInt(4); faults > 0; faults--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                fed(bytes, 1 << 16, new ArrayList<>());
            } catch (WireException error) {
                ended++;
            }
        }
        assertTrue(ended > 500);
    }

    @Test
    void whatWasNotSealedForThisConnectionIsOneKindOfError() throws WireException {
        String key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
        assertEquals("8e0bdd697628b91d8f245587ee95c5b04d48963f79259877b49cd9063aead3b7",
                HexFormat.of().formatHex(Curve.unarmored("JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6")));
        for (String each : new String[] {"\4\11\7WELCOMEx", "\4\6\5READY", "\0\3abc", "\4\12\4PING\0\12abc"}) {
            Zmtp wire = new Zmtp(new Curve(new Key(key, key, key)));
            List<byte[]> answers = new ArrayList<>();
            wire.feed(ByteBuffer.wrap(Zmtp.greeting("CURVE")), new ArrayList<>(), answers);
            assertEquals(2 + 200, answers.get(1).length);
            ByteBuffer rest = ByteBuffer.wrap(bytes(each));
            if (each.contains("PING")) {
                wire.feed(rest, new ArrayList<>(), answers);
                assertArrayEquals(bytes("\4\10\4PONGabc"), answers.get(2));
            } else {
                assertThrows(WireException.class, () -> wire.feed(rest, new ArrayList<>(), answers));
            }
        }
    }
}
