package dev.dovetail;

/**
 * Where a broker is, and how this peer shows itself there.
 *
 * @param address a ZeroMQ endpoint
 * @param token what the broker was started with as its access token; null if it has none
 * @param name unique among the peers present; empty lets the broker choose
 */
public record Broker(String address, String token, String name) {
    /** Where a broker is by default. */
    public static final String ADDRESS = "tcp://127.0.0.1:5757";

    /**
     * Returns the broker that the environment variables DOVETAIL_BROKER and DOVETAIL_TOKEN name, or the one of this
     * machine.
     *
     * @return the broker
     */
    public static Broker usual() {
        String address = variable("DOVETAIL_BROKER");
        return new Broker(address == null ? ADDRESS : address, variable("DOVETAIL_TOKEN"), "");
    }

    private static String variable(String name) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? null : value;
    }

    /**
     * Returns a broker at an address, without a token.
     *
     * @param address a ZeroMQ endpoint
     * @return the broker
     */
    public static Broker at(String address) {
        return new Broker(address, null, "");
    }
}
