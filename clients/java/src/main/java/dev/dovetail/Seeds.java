package dev.dovetail;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** Seeds: every random choice comes from one of these, and all of them from a master. */
public final class Seeds {
    private Seeds() {}

    /**
     * Returns the seed at a path below a master; SPEC.md, Seeds, has the rule.
     *
     * @param master the master seed
     * @param path numbers and texts
     * @return a seed in 0 .. 2^63-1
     */
    public static long derive(long master, Object... path) {
        StringBuilder text = new StringBuilder().append(master);
        for (Object part : path) {
            text.append('/').append(part);
        }
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256")
                    .digest(text.toString().getBytes(StandardCharsets.UTF_8));
            return ByteBuffer.wrap(digest).getLong() >>> 1;
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // every Java has it
        }
    }
}
