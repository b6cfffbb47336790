package dev.dovetail;

/** A frame or message that the contract refuses. */
public class ProtocolException extends DovetailException {
    private static final long serialVersionUID = 1L;

    /** One of the error codes. */
    private final String code;

    /**
     * @param code one of SPEC.md's error codes
     * @param message one line for a person
     */
    public ProtocolException(String code, String message) {
        super(message);
        this.code = code;
    }

    /** {@return the error code, such as {@code malformed}} */
    public String code() {
        return code;
    }
}
