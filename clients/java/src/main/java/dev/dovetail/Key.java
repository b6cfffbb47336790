package dev.dovetail;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A program's pair of keys and its broker's public key, as text, for CURVE, ZeroMQ's encryption (docs/keys.md). */
record Key(String own, String secret, String server) {
    private static final Pattern KEY = Pattern.compile("[0-9a-zA-Z.\\-:+=^!/*?&<>()\\[\\]{}@%$#]{40}");
    private static final Pattern LINE =
            Pattern.compile("\\s*(\\w+)\\s*=\\s*(?:\"([^\"]*)\"|'([^']*)')\\s*(?:#.*)?");
    private static final Set<PosixFilePermission> OTHERS = EnumSet.range(
            PosixFilePermission.GROUP_READ, PosixFilePermission.OTHERS_EXECUTE);

    /**
     * Reads a key file; the environment variable DOVETAIL_SERVER_KEY replaces the broker's public key in it.
     *
     * @throws DovetailException if the file cannot be read, others can read it, or a key is missing
     */
    static Key read(String file) {
        String path = file.startsWith("~/") ? System.getProperty("user.home") + file.substring(1) : file;
        Map<String, String> found = new HashMap<>();
        try {
            if (openToOthers(Path.of(path))) {
                throw new DovetailException("other users can read the key " + path + "; run `chmod 600 " + path + "`");
            }
            for (String line : Files.readString(Path.of(path), StandardCharsets.ISO_8859_1).lines().toList()) {
                Matcher parts = LINE.matcher(line);
                if (parts.matches()) {
                    found.put(parts.group(1), parts.group(2) == null ? parts.group(3) : parts.group(2));
                }
            }
        } catch (IOException error) {
            String why = error instanceof NoSuchFileException ? "No such file or directory" : error.getMessage();
            throw new DovetailException("cannot read the key " + path + ": " + why);
        }
        for (String name : new String[] {"public", "secret"}) {
            if (!valid(found.get(name))) {
                throw new DovetailException(path + " has no " + name + " key; make one with `dovetail keys make`");
            }
        }
        String server = Broker.variable("DOVETAIL_SERVER_KEY");
        server = server == null ? found.getOrDefault("server", "") : server;
        if (server.isEmpty()) {
            throw new DovetailException(path
                    + " does not name the broker's public key; add `server = ...` to it, or set DOVETAIL_SERVER_KEY");
        }
        if (!valid(server)) {
            throw new DovetailException("the broker's public key for " + path + ": '" + server
                    + "' is not a key; expected 40 characters such as `dovetail keys make` prints");
        }
        return new Key(found.get("public"), found.get("secret"), server);
    }

    private static boolean openToOthers(Path path) throws IOException {
        PosixFileAttributeView view = Files.getFileAttributeView(path, PosixFileAttributeView.class);
        if (view == null) {
            return false; // not a system whose files have such permissions
        }
        Set<PosixFilePermission> permissions = view.readAttributes().permissions();
        return permissions.stream().anyMatch(OTHERS::contains);
    }

    private static boolean valid(String key) {
        return key != null && KEY.matcher(key).matches();
    }

    @Override
    public String toString() {
        return "Key " + own;
    }
}
