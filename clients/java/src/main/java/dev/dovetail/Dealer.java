package dev.dovetail;

import java.util.List;

/** A program's end of ZeroMQ: a connection to a broker, which need not run yet, made again when it breaks. */
interface Dealer {
    /**
     * Gives up the connection, if there is one, and opens another, on which the program says {@code hello}.
     *
     * @throws DovetailException if the address is not one
     */
    void open();

    /** {@return whether what is sent leaves now, or is kept until it can} */
    boolean ready();

    /**
     * Waits up to some milliseconds for frames, and returns those that came; none if none did.
     *
     * @throws DovetailException if the thread was interrupted, whose flag stays set
     */
    List<byte[]> receive(int millis);

    /** Sends frames as one message. */
    void send(List<byte[]> frames);

    /**
     * Looks at how handshakes ended.
     *
     * @param welcomed whether the broker has ever let this program in
     * @return why the broker will never let it in, as an error says it after the broker's address, or null
     */
    String refusal(boolean welcomed);

    /** Disconnects, once the broker has taken what was sent, or after some milliseconds; no thread is interrupted. */
    void close(int linger);

    /** {@return the error for an address that is not one} */
    static DovetailException misplaced(String address) {
        return new DovetailException(
                "'" + address + "' is not a broker address; expected something like " + Broker.ADDRESS);
    }

    /** {@return the error for a thread that was interrupted} */
    static DovetailException interrupted(Throwable cause) {
        return new DovetailException("interrupted while talking to the broker", cause);
    }
}
