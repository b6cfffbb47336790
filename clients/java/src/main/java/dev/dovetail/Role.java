package dev.dovetail;

/** What a peer is. */
public enum Role {
    /** Knows the rules of games. */
    ENVIRONMENT,
    /** Plays. */
    AGENT,
    /** Asks for runs. */
    EXPERIMENT,
    /** Only watches. */
    OBSERVER;

    /** {@return the name in the contract} */
    public String text() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
