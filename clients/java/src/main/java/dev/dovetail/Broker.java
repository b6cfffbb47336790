package dev.dovetail;

/**
 * The address of a broker, and this peer's name and credentials.
 *
 * @param address a ZeroMQ endpoint
 * @param token the broker's access token; null if it has none
 * @param name unique among connected peers; empty lets the broker choose
 * @param key the file with this program's key, for a broker that requires keys; null for none
 */
public record Broker(String address, String token, String name, String key) {
    /** The default address of a broker. */
    public static final String ADDRESS = "tcp://127.0.0.1:5757";

    /**
     * A broker that admits programs without a key.
     *
     * @param address a ZeroMQ endpoint
     * @param token the broker's access token; null if it has none
     * @param name unique among connected peers; empty lets the broker choose
     */
    public Broker(String address, String token, String name) {
        this(address, token, name, null);
    }

    /**
     * Returns the broker that the environment variables DOVETAIL_BROKER, DOVETAIL_TOKEN and DOVETAIL_KEY name, or the
     * one of this machine.
     *
     * @return the broker
     */
    public static Broker usual() {
        String address = variable("DOVETAIL_BROKER");
        return new Broker(address == null ? ADDRESS : address, variable("DOVETAIL_TOKEN"), "",
                variable("DOVETAIL_KEY"));
    }

    static String variable(String name) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? null : value;
    }

    /**
     * Returns a broker at an address, without a token or a key.
     *
     * @param address a ZeroMQ endpoint
     * @return the broker
     */
    public static Broker at(String address) {
        return new Broker(address, null, "");
    }
}
