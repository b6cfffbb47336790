package dev.dovetail;

/** The base of all errors; the message is one line that says what failed, where, and what to do. */
public class DovetailException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * @param message one line for a person
     */
    public DovetailException(String message) {
        super(message);
    }

    /**
     * @param message one line for a person
     * @param cause what brought it about
     */
    public DovetailException(String message, Throwable cause) {
        super(message, cause);
    }
}
